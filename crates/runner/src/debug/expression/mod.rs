//! Expressions over the state of a run: registers, packet, maps, variables.
//!
//! ```text
//! r3 == 2                 packet[14:4] == 10.0.0.1      eth.src == 02:00:00:00:00:01
//! map flows[10.0.0.1]     counters.packets > 3          ((struct ethhdr *)r7)->h_proto
//! ```
//!
//! Rule: evaluation only reads, and what is not there is an error, never a default.

mod evaluate;
mod node;
mod parse;
mod token;

use std::fmt;
use std::str::FromStr;

use super::scene::{Object, Scene};
use super::value::Value;
use crate::error::Unavailable;
use node::Node;

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    node: Node,
}

/// Why an expression cannot be parsed.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("invalid expression `{text}`: {cause}")]
pub struct SyntaxError {
    /// The expression.
    pub text: String,
    /// What is wrong with it, and where.
    pub cause: String,
}

impl Expression {
    /// The expression as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value at a position.
    pub(super) fn evaluate(&self, scene: &Scene<'_>) -> Result<Value, Unavailable> {
        evaluate::evaluate(&self.node, scene)
    }

    /// Whether the value depends on the function that runs.
    pub(super) fn is_of_frame(&self, object: &Object) -> bool {
        self.node.is_of_frame(&|name| object.is_local(name))
    }
}

impl FromStr for Expression {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let text = text.trim();
        match parse::parse(text) {
            Ok(node) => Ok(Self { text: text.to_owned(), node }),
            Err(cause) => Err(SyntaxError { text: text.to_owned(), cause }),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
