//! Messages that a breakpoint writes instead of stopping.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::expression::{Expression, SyntaxError};
use super::position::Position;
use super::printer::Printer;
use super::scene::Scene;

/// A message with values: text in which `{EXPRESSION}` is replaced by its value.
#[derive(Clone, Debug)]
pub struct LogMessage {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Value(Expression),
}

/// A message that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Packet and number of instructions that ran for it.
    #[serde(flatten)]
    pub position: Position,
    /// Number of the breakpoint.
    pub number: u32,
    /// The message with the values.
    pub text: String,
}

impl LogMessage {
    /// The message at a position. A value that does not exist there is replaced by the reason.
    pub(super) fn at(&self, scene: &Scene<'_>) -> String {
        let mut printer = Printer::new(scene);
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(expression) => match expression.evaluate(scene) {
                Ok(value) => printer.text(scene, &value),
                Err(why) => format!("<{why}>"),
            },
        });
        parts.collect()
    }
}

impl FromStr for LogMessage {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((expression, after)) = after.split_once('}') else {
                let cause = "`{` has no `}`".to_owned();
                return Err(SyntaxError { text: text.to_owned(), cause });
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Value(expression.parse()?));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { text: text.to_owned(), parts })
    }
}

impl fmt::Display for LogMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
