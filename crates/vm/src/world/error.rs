//! What can be wrong with a world: text that is none, or parts that contradict each other.

/// Errors of worlds; the author of the scenario must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not TOML, an unknown key, a value that is none for its key. Holds the line.
    #[error("{0}")]
    Text(String),
    /// A value that does not go with the rest. The key is written like `routes[2].dev`, counted
    /// from 0; the line is known for worlds that were text.
    #[error("{}`{key}`: {why}", at(*.line))]
    Value { line: Option<usize>, key: String, why: String },
}

impl Error {
    pub(super) fn value(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Value { line: None, key: key.into(), why: why.into() }
    }
}

fn at(number: Option<usize>) -> String {
    number.map_or_else(String::new, |number| format!("line {number}: "))
}
