//! `Key`: the name of an object in a ruleset.

use std::fmt;

use serde_json::Value;

/// The full name of a chain or set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub family: String,
    pub table: String,
    pub name: String,
}

impl Key {
    /// The name of an object, of which `name` is the member with the last part.
    pub fn of(body: &Value, name: &str) -> Self {
        Self { family: text(body, "family"), table: text(body, "table"), name: text(body, name) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.family, self.table, self.name)
    }
}

/// A member of an object that is a string; empty if there is none.
pub(super) fn text(body: &Value, key: &str) -> String {
    body[key].as_str().unwrap_or_default().to_owned()
}
