//! `Error`: a word of a rule that does not belong where it stands.

use std::fmt;

use super::word::Word;

/// The author of the rule must act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// As it was written; `None` when the rule ends too early.
    pub word: Option<String>,
    /// Bytes of the text in front of it.
    pub at: usize,
    /// What is wrong with it, or was expected in its place.
    pub reason: String,
    /// What was perhaps meant.
    pub hint: Option<String>,
}

impl Error {
    pub(super) fn at(word: &Word<'_>, reason: impl Into<String>) -> Self {
        let text = word.text.clone().into_owned();
        Self { word: Some(text), at: word.at, reason: reason.into(), hint: None }
    }

    /// The rule ends where there should be more.
    pub(super) fn end(text: &str, expected: &str) -> Self {
        let reason = format!("the rule ends where {expected} was expected");
        Self { word: None, at: text.len(), reason, hint: None }
    }

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
