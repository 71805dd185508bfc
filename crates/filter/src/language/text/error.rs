//! `Error`: a word that is not valid in its place in a rule.

use std::fmt;

use super::word::Word;

/// A mistake in the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The word as it is written; `None` if the rule ends too early.
    pub word: Option<String>,
    /// Offset of the word in the text, in bytes.
    pub at: usize,
    /// What is wrong with the word, or what was expected instead.
    pub reason: String,
    /// The word that was probably meant.
    pub hint: Option<String>,
}

impl Error {
    /// An error about a word.
    pub(super) fn at(word: &Word<'_>, reason: impl Into<String>) -> Self {
        let text = word.text.clone().into_owned();
        Self { word: Some(text), at: word.at, reason: reason.into(), hint: None }
    }

    /// The rule ends where `expected` was expected.
    pub(super) fn end(text: &str, expected: &str) -> Self {
        let reason = format!("the rule ends where {expected} was expected");
        Self { word: None, at: text.len(), reason, hint: None }
    }

    /// The error with a suggestion.
    #[must_use]
    pub(super) fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(word) = &self.word {
            write!(f, "`{word}`: ")?;
        }
        f.write_str(&self.reason)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; did you mean `{hint}`?"))
    }
}

impl std::error::Error for Error {}
