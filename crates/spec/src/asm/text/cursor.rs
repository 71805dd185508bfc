//! A place in a line's tokens: looking, taking, and saying what was expected instead.

use super::Error;
use super::token::{Kind, Token};

pub(super) type Result<T> = std::result::Result<T, Error>;

/// Reads one line from left to right.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    /// Counted from 1.
    pub line: usize,
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(line: usize, text: &'a str) -> Self {
        Self { line, text, tokens: super::token::tokens(text), next: 0 }
    }

    pub fn peek(&self) -> Option<Token<'a>> {
        self.ahead(0)
    }

    /// The token `distance` behind the next one.
    pub fn ahead(&self, distance: usize) -> Option<Token<'a>> {
        self.tokens.get(self.next + distance).copied()
    }

    pub fn is_at_end(&self) -> bool {
        self.peek().is_none()
    }

    pub fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// The next token's text, empty at the end.
    pub fn word(&self) -> &'a str {
        self.peek().map_or("", |token| token.text)
    }

    /// Takes the next token if it reads so and is no name.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && token.kind != Kind::Name);
        self.next += usize::from(found);
        found
    }

    pub fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { Err(self.wrong(format!("`{text}`"))) }
    }

    /// Takes the next token if it is of this kind.
    pub fn take(&mut self, kind: Kind, expected: &str) -> Result<Token<'a>> {
        let found = self.peek().filter(|token| token.kind == kind);
        let token = found.ok_or_else(|| self.wrong(expected))?;
        self.next += 1;
        Ok(token)
    }

    pub fn expect_end(&self) -> Result<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.wrong("the end of the line")) }
    }

    /// Drops what is left: an annotation.
    pub fn finish(&mut self) {
        self.next = self.tokens.len();
    }

    /// An error at the next token.
    pub fn wrong(&self, expected: impl Into<String>) -> Error {
        let end = Token { kind: Kind::Symbol, text: "", at: self.text.trim_end().len() };
        self.wrong_at(self.peek().unwrap_or(end), expected)
    }

    /// An error at a token that was taken already.
    pub fn wrong_at(&self, token: Token<'a>, expected: impl Into<String>) -> Error {
        self.spot(token).error(expected)
    }

    pub fn spot(&self, token: Token<'a>) -> Spot<'a> {
        let column = self.text[..token.at].chars().count() + 1;
        Spot { line: self.line, column, token: token.text }
    }
}

/// Where something stands, for a mistake that shows only later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    line: usize,
    column: usize,
    pub token: &'a str,
}

impl Spot<'_> {
    pub fn error(self, expected: impl Into<String>) -> Error {
        let Self { line, column, token } = self;
        Error { line, column, token: token.to_owned(), expected: expected.into() }
    }
}
