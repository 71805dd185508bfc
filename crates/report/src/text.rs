//! External text, made safe for a terminal: names from objects, fields of a foreign file, bytes of
//! packets.
//!
//! Rule: every text that this program did not write itself passes through [`line`] where it is put
//! into a sentence or a table, and every output through [`lines`] or [`json`] where it is written,
//! so that a forgotten [`line`] shows an escape instead of obeying it. What is escaped: control
//! characters (C0, DEL, C1), characters that change the direction of text, and characters that
//! cannot be seen. Not here: HTML, SVG and Markdown, which the crate escapes where it writes them.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` on one line: a line break or tab is escaped as well.
///
/// ```
/// assert_eq!(report::text::line("eth0\x1b[2J\n"), "eth0\\x1b[2J\\n");
/// ```
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// `text` of any number of lines: line breaks and tabs are kept.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_hidden(c) && !is_layout(c))
}

/// Escapes output that contains its own colors: [`COLOURS`] are kept.
pub fn coloured(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return lines(text);
    }
    let mut safe = String::with_capacity(text.len());
    for (number, part) in text.split(ESCAPE).enumerate() {
        let colour = COLOURS.iter().find(|colour| part.starts_with(&colour[1..]));
        if number > 0 {
            safe.push_str(if colour.is_some() { "\x1b" } else { "\\x1b" });
        }
        safe.push_str(&lines(part));
    }
    Cow::Owned(safe)
}

/// `json` with every such character as `\uXXXX`, which reads as the same value. `json` must be a
/// valid document, where such characters occur in strings only.
pub fn json(json: &str) -> Cow<'_, str> {
    let is_unsafe = |c| is_hidden(c) && !is_layout(c) && c != '\r';
    if !json.chars().any(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_unsafe(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    Cow::Owned(safe)
}

/// Whether a character does something other than being seen.
pub fn is_hidden(c: char) -> bool {
    let is_format = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || is_format
}

/// Escape sequences that the output of the program may contain: reset, bold, dim, red, green.
pub const COLOURS: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"];
const ESCAPE: char = '\x1b';

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            c if !is_unsafe(c) => write!(safe, "{c}"),
            '\n' => write!(safe, "\\n"),
            '\r' => write!(safe, "\\r"),
            '\t' => write!(safe, "\\t"),
            c if (c as u32) < 0x100 => write!(safe, "\\x{:02x}", c as u32),
            c => write!(safe, "\\u{{{:x}}}", c as u32),
        };
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_only_what_can_be_seen() {
        let table = [
            ("eth0", "eth0"),
            ("\x1b[31mred\n", "\\x1b[31mred\\n"),
            ("a\rb\tc\0", "a\\rb\\tc\\x00"),
            ("\x7f\u{9b}2J", "\\x7f\\x9b2J"),
            ("\u{202e}gpj.exe\u{2066}", "\\u{202e}gpj.exe\\u{2066}"),
            ("\u{200b}\u{feff}\u{e0041}", "\\u{200b}\\u{feff}\\u{e0041}"),
            ("µs · 12 % → 東京", "µs · 12 % → 東京"),
        ];
        for (text, want) in table {
            assert_eq!(line(text), want);
        }
        assert_eq!(lines("a\n\tb\x1b"), "a\n\tb\\x1b");
    }

    #[test]
    fn only_the_programs_own_colours_are_kept() {
        let table = [
            ("\x1b[1mbold\x1b[0m\n", "\x1b[1mbold\x1b[0m\n"),
            ("\x1b[2J\x1b[31mx\x1b", "\\x1b[2J\x1b[31mx\\x1b"),
            ("\x1b]0;title\x07\x1b[8m", "\\x1b]0;title\\x07\\x1b[8m"),
            ("\u{9b}31m", "\\x9b31m"),
        ];
        for (text, want) in table {
            assert_eq!(coloured(text), want);
        }
    }

    #[test]
    fn json_reads_as_the_same_value() {
        let texts: String =
            (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c)).collect();
        let document = serde_json::to_string_pretty(&[&texts, "\n"]).unwrap();
        let safe = json(&document);
        assert!(safe.chars().all(|c| !is_hidden(c) || c == '\n'), "{safe}");
        assert_eq!(serde_json::from_str::<[String; 2]>(&safe).unwrap(), [texts, "\n".into()]);
    }
}
