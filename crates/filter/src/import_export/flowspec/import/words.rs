//! Text as words with their lines.

use crate::import_export::Error;
use crate::import_export::error::flowspec::ImportError;

/// The words of a text. `{`, `}`, `[`, `]` and `;` are words of their own, `#` begins a comment.
pub(super) struct Words<'a> {
    words: Vec<(usize, &'a str)>,
    at: usize,
}

impl<'a> Words<'a> {
    /// Splits a text into words.
    pub fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            for word in line.split_whitespace() {
                let signs = |letter: char| "{}[];".contains(letter);
                let parts = word.split_inclusive(signs).flat_map(|part| {
                    let (body, sign) = part.split_at(part.trim_end_matches(signs).len());
                    [body, sign]
                });
                words.extend(parts.filter(|part| !part.is_empty()).map(|part| (number + 1, part)));
            }
        }
        Self { words, at: 0 }
    }

    /// The next word, which is not taken.
    pub fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|(_, word)| *word)
    }

    /// Takes the next word.
    pub fn next(&mut self) -> Option<&'a str> {
        let word = self.peek();
        self.at += 1;
        word
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the next word, which must be this one.
    pub fn expect(&mut self, word: &'static str) -> Result<(), Error> {
        match self.next() {
            Some(next) if next == word => Ok(()),
            Some(next) => Err(self.wrong(next, ImportError::Expected(word))),
            None => Err(Error::new("", ImportError::End(word))),
        }
    }

    /// The words up to `;`, without the brackets of a list.
    pub fn statement(&mut self) -> Result<Vec<&'a str>, Error> {
        let mut words = Vec::new();
        loop {
            match self.next() {
                Some(";") => return Ok(words),
                Some("[" | "]") => {}
                Some(word @ ("{" | "}")) => {
                    return Err(self.wrong(word, ImportError::Unterminated));
                }
                Some(word) => words.push(word),
                None => return Err(Error::new("", ImportError::EndOfStatement)),
            }
        }
    }

    /// An error in the line of the word that was taken last.
    pub fn wrong(&self, statement: &str, cause: ImportError) -> Error {
        Error::new(format!("line {}", self.line()), cause).about(statement)
    }

    /// The line of the word that was taken last, from 1.
    pub fn line(&self) -> usize {
        let last = self.words.get(self.at.saturating_sub(1)).or_else(|| self.words.last());
        last.map_or(1, |(line, _)| *line)
    }
}
