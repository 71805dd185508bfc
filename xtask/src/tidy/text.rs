//! Rust and C source as tidy sees it: comments and the insides of strings blanked, line for line,
//! so that what is left is code.
//!
//! Rule: a blanked text has the bytes' positions and lines of the original. It is not a parser: it
//! relies on rustfmt for shape, and on the compiler for sense.

use std::ops::Range;

/// One source file.
pub struct Text {
    /// Code alone; comments and string contents are spaces.
    pub code: String,
    /// Byte ranges of items under `#[cfg(test)]`.
    tests: Vec<Range<usize>>,
}

/// A function with its body.
pub struct Function<'a> {
    pub name: &'a str,
    /// First line, from 1.
    pub line: usize,
    pub lines: usize,
}

impl Text {
    pub fn rust(source: &str) -> Self {
        let code = blank(source, true);
        let tests = test_items(&code);
        Self { code, tests }
    }

    pub fn c(source: &str) -> Self {
        Self { code: blank(source, false), tests: Vec::new() }
    }

    /// Lines that hold code.
    pub fn code_lines(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// The line of a byte position, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.code[..at].bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// Positions of `word` where it stands alone, not as part of a longer name.
    pub fn words(&self, word: &str) -> Vec<usize> {
        let inside = |byte: Option<&u8>| byte.is_some_and(|byte| is_name(*byte));
        let bytes = self.code.as_bytes();
        let alone = |at: &usize| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            !inside(before) && !inside(bytes.get(at + word.len()))
        };
        self.code.match_indices(word).map(|(at, _)| at).filter(alone).collect()
    }

    /// The name that follows a keyword at `at`.
    pub fn name_after(&self, at: usize, keyword: &str) -> &str {
        let rest = self.code[at + keyword.len()..].trim_start();
        let end = rest.bytes().position(|byte| !is_name(byte)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Rust functions that have a body, inner ones included.
    pub fn functions(&self) -> Vec<Function<'_>> {
        let mut functions = Vec::new();
        for at in self.words("fn") {
            let name = self.name_after(at, "fn");
            let Some(body) = body(&self.code, at).filter(|_| !name.is_empty()) else { continue };
            let line = self.line(at);
            functions.push(Function { name, line, lines: self.line(body.end - 1) - line + 1 });
        }
        functions
    }

    /// C functions in the kernel's style: braces of the body in the first column.
    pub fn c_functions(&self) -> Vec<Function<'_>> {
        let lines: Vec<&str> = self.code.lines().collect();
        let mut functions = Vec::new();
        for open in (1..lines.len()).filter(|line| lines[*line].trim_end() == "{") {
            let is_head = |line: &usize| lines[*line].starts_with(|c: char| c.is_alphabetic());
            let Some(head) = (0..open).rev().find(is_head) else { continue };
            let Some(close) = (open..lines.len()).find(|line| lines[*line].starts_with('}')) else {
                continue;
            };
            let before = lines[head].split('(').next().unwrap_or_default();
            let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
            let name = name.unwrap_or_default();
            functions.push(Function { name, line: head + 1, lines: close - head + 1 });
        }
        functions
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The braces after `at`, unless a `;` ends the item before; brackets of arguments are skipped.
fn body(code: &str, at: usize) -> Option<Range<usize>> {
    let mut depth = 0i32;
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b';' if depth == 0 => return None,
            b'{' if depth == 0 => return braces(code, at + offset),
            _ => (),
        }
    }
    None
}

/// From an opening brace to the end of the one that closes it.
fn braces(code: &str, open: usize) -> Option<Range<usize>> {
    let mut depth = 0;
    for (offset, byte) in code[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(open..open + offset + 1);
        }
    }
    None
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    let marks = TESTS.iter().flat_map(|mark| code.match_indices(mark));
    let item = |(at, mark): (usize, &str)| {
        let from = at + mark.len();
        let body = body(code, from);
        let end =
            body.map_or_else(|| code[from..].find(';').map(|end| from + end), |b| Some(b.end));
        Some(at..end?)
    };
    marks.filter_map(item).collect()
}

/// Attributes of items that are compiled for tests alone.
const TESTS: &[&str] = &["#[cfg(test)]", "#[cfg(any(test, fuzzing))]", "#[cfg(all(test, loom))]"];

/// What the scanner is inside of.
enum Inside {
    Code,
    LineComment,
    /// With how many are open: Rust's nest.
    BlockComment(usize),
    String,
    /// Ends at a quote with this many `#`.
    RawString(usize),
}

/// What one byte of a source is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Code, with the quote that opens a string.
    Code,
    /// A comment, with its mark but without the end of its line.
    Comment,
    /// The inside of a string, with the quote that closes it.
    String,
}

/// What each byte of a source is part of.
pub fn kinds(source: &str, rust: bool) -> Vec<Kind> {
    let bytes = source.as_bytes();
    let mut kinds = Vec::with_capacity(bytes.len());
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < bytes.len() {
        let before = at.checked_sub(1).filter(|at| kinds[*at] == Kind::Code).map(|at| bytes[at]);
        let (next, length) = step(&bytes[at..], &inside, rust, before);
        let kind = match (&inside, &next) {
            (Inside::Code, Inside::LineComment | Inside::BlockComment(_)) => Kind::Comment,
            (Inside::Code, _) => Kind::Code,
            (Inside::LineComment, _) if bytes[at] == b'\n' => Kind::Code,
            (Inside::LineComment | Inside::BlockComment(_), _) => Kind::Comment,
            (Inside::String | Inside::RawString(_), _) => Kind::String,
        };
        kinds.resize((at + length).min(bytes.len()), kind);
        at += length;
        inside = next;
    }
    kinds
}

fn blank(source: &str, rust: bool) -> String {
    let kinds = kinds(source, rust);
    let shown = source.bytes().zip(kinds).map(|(byte, kind)| match kind {
        Kind::Comment | Kind::String if byte != b'\n' => b' ',
        _ => byte,
    });
    // Only whole characters inside comments and strings were replaced.
    String::from_utf8_lossy(&shown.collect::<Vec<u8>>()).into_owned()
}

/// What the scanner is inside of after the next few bytes, and how many those are.
fn step(rest: &[u8], inside: &Inside, rust: bool, before: Option<u8>) -> (Inside, usize) {
    match inside {
        Inside::Code => code_step(rest, rust, before),
        Inside::LineComment if rest[0] == b'\n' => (Inside::Code, 1),
        Inside::LineComment => (Inside::LineComment, 1),
        Inside::BlockComment(depth) => match rest {
            [b'*', b'/', ..] if *depth == 1 => (Inside::Code, 2),
            [b'*', b'/', ..] => (Inside::BlockComment(depth - 1), 2),
            [b'/', b'*', ..] if rust => (Inside::BlockComment(depth + 1), 2),
            _ => (Inside::BlockComment(*depth), 1),
        },
        Inside::String => match rest {
            [b'\\', _, ..] => (Inside::String, 2),
            [b'"', ..] => (Inside::Code, 1),
            _ => (Inside::String, 1),
        },
        Inside::RawString(marks) => {
            let closes = rest[0] == b'"' && marks_at(&rest[1..]) >= *marks;
            if closes { (Inside::Code, 1 + marks) } else { (Inside::RawString(*marks), 1) }
        }
    }
}

fn code_step(rest: &[u8], rust: bool, before: Option<u8>) -> (Inside, usize) {
    let starts_word = !before.is_some_and(is_name);
    match rest {
        [b'/', b'/', ..] => (Inside::LineComment, 2),
        [b'/', b'*', ..] => (Inside::BlockComment(1), 2),
        [b'"', ..] => (Inside::String, 1),
        [b'r', b'"' | b'#', ..] if rust && starts_word => {
            let marks = marks_at(&rest[1..]);
            match rest.get(1 + marks) {
                Some(b'"') => (Inside::RawString(marks), 2 + marks),
                _ => (Inside::Code, 1),
            }
        }
        [b'\'', b'\\', _, ..] => {
            let close = rest.iter().skip(3).position(|byte| *byte == b'\'');
            (Inside::Code, close.map_or(1, |close| close + 4))
        }
        [b'\'', _, b'\'', ..] => (Inside::Code, 3),
        _ => (Inside::Code, 1),
    }
}

fn marks_at(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'#').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        for (source, code) in [
            ("a // b", "a     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x{\\\"y\")", "f(\"     \")"),
            ("r#\"a\"b\"# c", "r#\"      c"),
            ("'{' '\\'' 'a", "'{' '\\'' 'a"),
            ("bar\"x\"", "bar\" \""),
        ] {
            let blanked = blank(source, true);
            assert_eq!(blanked.len(), source.len(), "{source}");
            assert_eq!(blanked.replace('"', " "), code.replace('"', " "), "{source}");
        }
    }

    #[test]
    fn functions_and_their_lengths() {
        let source = "fn a() {
  x
}
trait T {
 fn no_body();
 fn b(x: [u8; 2]) where X: {
 }
}
let f: fn(u8);";
        let text = Text::rust(source);
        let found: Vec<_> = text.functions().iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("a", 1, 3), ("b", 6, 2)]);
    }

    #[test]
    fn c_functions_start_at_their_head() {
        let source =
            "static int a(int b,\n\t     int c)\n{\n\treturn b;\n}\nstruct s {\n\tint x;\n};\n";
        let text = Text::c(source);
        let found: Vec<_> = text.c_functions().iter().map(|f| (f.name, f.line, f.lines)).collect();
        assert_eq!(found, [("a", 1, 5)]);
    }

    #[test]
    fn test_items_are_distinguished() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}";
        let text = Text::rust(source);
        let marks: Vec<bool> = text.words("fn").into_iter().map(|at| text.is_test(at)).collect();
        assert_eq!(marks, [false, true, false]);
    }
}
