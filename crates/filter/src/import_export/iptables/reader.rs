//! `Reader`: the words of a rule that are still to be read, and the statements so far.

use serde_json::{Value, json};

use super::Family;
use super::values::{self, invalid};
use crate::import_export::error::iptables::ImportError;
use crate::import_export::nft::import::Statement;

/// A rule that is being read.
pub(super) struct Reader {
    words: std::vec::IntoIter<String>,
    pub family: Family,
    /// The protocol of `-p`, if it is not negated.
    pub protocol: Option<u8>,
    pub statements: Vec<Statement>,
}

impl Reader {
    pub fn new(words: Vec<String>, family: Family) -> Self {
        Self { words: words.into_iter(), family, protocol: None, statements: Vec::new() }
    }

    /// The next word, an option or `!`.
    pub fn word(&mut self) -> Option<String> {
        self.words.next()
    }

    /// The next word, as the value of an option.
    pub fn value(&mut self, option: &str) -> Result<String, ImportError> {
        self.words.next().ok_or_else(|| ImportError::NoValue(option.to_owned()))
    }

    /// The next word, parsed.
    pub fn parsed(
        &mut self,
        option: &str,
        expected: &'static str,
        parse: values::Parse,
    ) -> Result<Value, ImportError> {
        let value = self.value(option)?;
        let family = self.family;
        parse(&value, family).ok_or_else(|| invalid(option, value, expected))
    }

    pub fn push(&mut self, statement: Value) {
        self.statements.push(Statement::Nft(statement));
    }

    /// Adds a match.
    pub fn matches(&mut self, left: Value, op: &str, right: Value) {
        self.push(matched(left, op, right));
    }

    /// Adds matches of which one must hold.
    pub fn any_of(&mut self, matches: Vec<Value>) {
        self.statements.push(Statement::AnyOf(matches));
    }
}

/// A match of nft.
pub(super) fn matched(left: Value, op: &str, right: Value) -> Value {
    json!({"match": {"left": left, "op": op, "right": right}})
}
