//! The error of every parser of text in this crate.

/// Text that its place does not allow. Display prints the text and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParseError {
    /// The text as it was given.
    pub text: String,
    /// Why it is invalid, with the expected form.
    pub reason: String,
}

impl ParseError {
    /// Creates an error about a text.
    pub fn new(text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { text: text.into(), reason: reason.into() }
    }
}
