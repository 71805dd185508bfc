//! A position in the tokens of a line: peeking, consuming, and reporting what was expected.

use super::Error;
use super::token::{Kind, Token};

pub(in crate::asm) type Result<T> = std::result::Result<T, Error>;

/// Reads one line from left to right.
#[derive(Clone, Debug)]
pub(in crate::asm) struct Cursor<'a> {
    /// Counted from 1.
    pub line: usize,
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first token of a line.
    pub fn new(line: usize, text: &'a str) -> Self {
        Self { line, text, tokens: super::token::tokens(text), next: 0 }
    }

    /// The whole line, without the spaces around it.
    pub fn text(&self) -> &'a str {
        self.text.trim()
    }

    /// The next token.
    pub fn peek(&self) -> Option<Token<'a>> {
        self.ahead(0)
    }

    /// The token at this distance after the next one.
    pub fn ahead(&self, distance: usize) -> Option<Token<'a>> {
        self.tokens.get(self.next + distance).copied()
    }

    /// Whether all tokens were consumed.
    pub fn is_at_end(&self) -> bool {
        self.peek().is_none()
    }

    /// Consumes tokens without checking them.
    pub fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// The next token's text, empty at the end.
    pub fn word(&self) -> &'a str {
        self.peek().map_or("", |token| token.text)
    }

    /// Consumes the next token if it has this text and is not a name.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && token.kind != Kind::Name);
        self.next += usize::from(found);
        found
    }

    /// Consumes a token that must be this one.
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

    /// Fails if tokens are left.
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

    /// The position of a token, for an error.
    pub fn spot(&self, token: Token<'a>) -> Spot<'a> {
        let column = self.text[..token.at].chars().count() + 1;
        Spot { line: self.line, column, token: token.text }
    }
}

/// A position, for a mistake that is detected later.
#[derive(Clone, Copy, Debug)]
pub(in crate::asm) struct Spot<'a> {
    line: usize,
    column: usize,
    /// The token; empty at the end of the line.
    pub token: &'a str,
}

impl Spot<'_> {
    /// Creates an error that states what was expected.
    pub fn error(self, expected: impl Into<String>) -> Error {
        let Self { line, column, token } = self;
        Error { line, column, token: token.to_owned(), expected: expected.into() }
    }
}
