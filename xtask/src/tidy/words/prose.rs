//! The parts of a file that people read: comments, messages, documents.
//!
//! Rule: a word keeps the position that it has in its file. Marks of comments and line ends count
//! as white space, so that a phrase is found across lines; all else that is not prose separates.

use super::Word;
use crate::tidy::Source;
use crate::tidy::text::{Kind, Text, kinds};

/// The text of one file with all that is not prose replaced by separators.
pub struct Prose<'a> {
    source: &'a str,
    /// One for each byte of the source.
    bytes: Vec<Byte>,
}

/// How one byte of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// Part of a word, if it is a letter.
    Prose,
    /// White space between words of one phrase.
    Space,
    /// An end of all phrases.
    Separator,
    /// White space after which a doc comment begins.
    DocStart,
}

impl<'a> Prose<'a> {
    /// The prose of a file; none for kinds of files that hold none.
    pub fn of(source: &'a Source) -> Option<Self> {
        let text = source.text.as_str();
        let mut bytes = match source.ending() {
            "md" => text.bytes().map(|_| Byte::Prose).collect(),
            "rs" => of_code(source, &kinds(text, true)),
            "c" | "h" => of_code(source, &kinds(text, false)),
            _ => return None,
        };
        hide_names(text.as_bytes(), &mut bytes);
        Some(Self { source: text, bytes })
    }

    /// The line of a position, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.source.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// All words in order.
    pub fn words(&self) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        let (mut is_joined, mut begins_doc) = (false, false);
        let mut at = 0;
        while at < self.bytes.len() {
            let length = self.word_at(at);
            if length > 0 {
                let text = &self.source[at..at + length];
                words.push(Word { text, at, is_joined, begins_doc });
                (is_joined, begins_doc) = (true, false);
                at += length;
                continue;
            }
            match self.bytes[at] {
                Byte::DocStart => begins_doc = true,
                Byte::Space => (),
                Byte::Prose if self.source.as_bytes()[at].is_ascii_whitespace() => (),
                _ => (is_joined, begins_doc) = (false, false),
            }
            at += 1;
        }
        words
    }

    /// The length of the word that begins at a position; 0 if none does.
    fn word_at(&self, at: usize) -> usize {
        let bytes = self.source.as_bytes()[at..].iter().zip(&self.bytes[at..]);
        bytes.take_while(|(byte, read)| **read == Byte::Prose && is_letter(**byte)).count()
    }
}

/// Comments, and strings outside of tests.
fn of_code(source: &Source, kinds: &[Kind]) -> Vec<Byte> {
    let text = source.text.as_bytes();
    let tests = (source.ending() == "rs").then(|| Text::rust(&source.text));
    let is_test = |at| source.is_test || tests.as_ref().is_some_and(|text: &Text| text.is_test(at));
    let mut bytes: Vec<Byte> = text.iter().map(|byte| space_or_separator(*byte)).collect();
    let mut at = 0;
    let mut doc_column = None;
    while at < text.len() {
        let end = at + kinds[at..].iter().take_while(|kind| **kind == kinds[at]).count();
        match kinds[at] {
            Kind::Code => {
                // Doc comments on consecutive lines are one: only white space is between them.
                if !text[at..end].iter().all(u8::is_ascii_whitespace) {
                    doc_column = None;
                }
            }
            Kind::Comment => {
                comment(&text[at..end], &mut bytes[at..end], &mut doc_column);
            }
            Kind::String if is_test(at) => (),
            Kind::String => string(&text[at..end], &mut bytes[at..end]),
        }
        at = end;
    }
    bytes
}

fn space_or_separator(byte: u8) -> Byte {
    if byte.is_ascii_whitespace() { Byte::Space } else { Byte::Separator }
}

/// A comment: its mark is white space, and where a doc comment begins.
fn comment(text: &[u8], bytes: &mut [Byte], doc: &mut Option<&'static str>) {
    let mark =
        ["///", "//!", "//", "/*"].into_iter().find(|mark| text.starts_with(mark.as_bytes()));
    let is_doc = matches!(mark, Some("///" | "//!"));
    let begins = is_doc && *doc != mark;
    *doc = mark.filter(|_| is_doc);
    let length = mark.map_or(0, str::len);
    bytes[..length].fill(if begins { Byte::DocStart } else { Byte::Space });
    let mut line_start = false;
    for at in length..text.len() {
        // The stars at the margin of a block comment.
        let is_margin = line_start && text[at] == b'*';
        line_start = text[at] == b'\n' || line_start && text[at].is_ascii_whitespace();
        bytes[at] = if is_margin { Byte::Space } else { Byte::Prose };
    }
}

/// A string, escapes of which separate nothing. One without white space is an identifier.
fn string(text: &[u8], bytes: &mut [Byte]) {
    if !text.contains(&b' ') {
        return;
    }
    let mut is_escaped = false;
    for (byte, read) in text.iter().zip(bytes) {
        let is_escape = !is_escaped && *byte == b'\\';
        *read = if is_escape || is_escaped { Byte::Space } else { Byte::Prose };
        is_escaped = is_escape;
    }
}

/// Names between backticks on one line are no prose, and separate.
fn hide_names(text: &[u8], bytes: &mut [Byte]) {
    let mut open = None;
    for at in 0..text.len() {
        match (text[at], open) {
            (b'\n', _) => open = None,
            (b'`', _) if bytes[at] != Byte::Prose => (),
            (b'`', None) => open = Some(at),
            (b'`', Some(from)) => {
                bytes[from..=at].fill(Byte::Separator);
                open = None;
            }
            _ => (),
        }
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\'' || !byte.is_ascii()
}
