//! Errors of environments: invalid text, or inconsistent parts.

/// An error in an environment, for the author of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Invalid TOML, an unknown key, or a value of the wrong type; holds the parser's message with
    /// the line.
    #[error("{}", .0.to_string().trim())]
    Syntax(Box<toml::de::Error>),
    /// A number that TOML cannot represent.
    #[error("{0}")]
    Number(toml::ser::Error),
    /// A value that contradicts the rest. The key has the form `routes[2].dev`, counted from 0. The
    /// line is known for environments that were read from text.
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
