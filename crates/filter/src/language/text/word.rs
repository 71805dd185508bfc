//! `Word`: one word of a rule, as it is read and as it is written.

use std::borrow::Cow;

/// One word and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: Cow<'a, str>,
    /// Offset in the rule, in bytes.
    pub at: usize,
    pub quoted: bool,
}

impl Word<'_> {
    /// Whether it is this keyword; a word in quotes never is.
    pub fn is(&self, text: &str) -> bool {
        !self.quoted && self.text == text
    }
}

/// A word as it is written in a rule: in quotes if it could be read as something else.
pub(super) fn quoted(word: &str, always: bool) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-@:".contains(letter);
    if !always && !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped = word.chars().flat_map(|letter| {
        let escape = matches!(letter, '"' | '\\').then_some('\\');
        escape.into_iter().chain([letter])
    });
    format!("\"{}\"", escaped.collect::<String>())
}
