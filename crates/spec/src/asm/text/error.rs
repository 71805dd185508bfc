//! What is wrong with a text, and where.

use thiserror::Error;

/// The first mistake in a text. It is the writer's to mend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {}, expected {expected}", found(.token))]
pub struct Error {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The text at that position; empty at the end of a line.
    pub token: String,
    /// What could have stood there.
    pub expected: String,
}

fn found(token: &str) -> String {
    if token.is_empty() { "end of line".to_owned() } else { format!("`{token}`") }
}
