//! Results as text and as live pictures. JSON is the serialization of the result itself.
//!
//! Rule: nothing here reads the system; the same value always draws the same text. Results belong
//! to the libraries; the types that serialize here are compositions of single commands.

pub mod apply;
mod asm;
pub mod attach;
pub mod backend;
mod balance;
pub mod bench;
pub mod browser;
pub mod capture;
pub mod chain;
pub mod check;
pub mod confirm;
pub mod debug;
pub mod debugger;
pub mod demo;
pub mod doctor;
pub mod extcap;
pub mod filter;
pub mod generate;
pub mod graph;
pub mod lab;
pub mod latency;
pub mod live;
pub mod map;
pub mod ndr;
pub mod output;
#[cfg(test)]
mod panic_tests;
pub mod prog;
pub mod replay;
pub mod route;
pub mod run;
mod scan;
pub mod sink;
pub mod state;
pub mod status;
pub mod tcp;
pub mod terminal;
pub mod top;
pub mod why_drop;
pub mod xsk;

use std::borrow::Cow;
use std::io::{self, Write};

use report::text;
use serde::Serialize;

/// A result of a command: JSON by its fields, text for people.
pub trait View: Serialize {
    fn text(&self, style: Paint) -> String;
}

/// Whether output has colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    pub colour: bool,
}

impl Paint {
    /// Several lines that are safe for a terminal: without control sequences except the colors of
    /// this program.
    pub fn safe(self, text: &str) -> Cow<'_, str> {
        if self.colour { text::coloured(text) } else { text::lines(text) }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Paints one line; line breaks at its end are kept.
    fn paint(self, code: &str, text: &str) -> String {
        let inner = text.trim_end_matches('\n');
        let safe = text::line(inner) + &text[inner.len()..];
        if self.colour { format!("\x1b[{code}m{safe}\x1b[0m") } else { safe.into_owned() }
    }
}

/// A result as it is written: JSON, on one line or several, or text. Characters of external names
/// and messages that control a terminal are escaped.
pub fn rendered(answer: &impl View, form: Form, style: Paint) -> serde_json::Result<String> {
    Ok(match form {
        Form::Json => text::json(&serde_json::to_string_pretty(answer)?).into_owned(),
        Form::JsonLine => text::json(&serde_json::to_string(answer)?).into_owned(),
        Form::Text => output::encoded(&style.safe(&answer.text(style))).into_owned(),
    })
}

/// The form in which a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    JsonLine,
    Text,
}

/// Writes a result, or text of this program, to standard output. `false` if the reader closed the
/// pipe, which is not an error. External text must come through [`rendered`].
pub fn print(text: &str) -> io::Result<bool> {
    let mut out = output::results();
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// Writes a message to standard error, without control characters, unless the user asked for quiet.
/// A closed pipe is ignored.
pub fn say(text: &str) {
    if !output::is_quiet() {
        fail(text);
    }
}

/// Writes an error, as [`say`] writes messages, but always.
pub fn fail(text: &str) {
    let mut err = io::stderr().lock();
    let _gone = writeln!(err, "{}", output::encoded(&text::lines(text)));
}

/// Breaks a paragraph at spaces into lines of at most `width` characters; a longer word has a
/// line of its own.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > width {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += size;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn paragraphs_break_between_words() {
        assert_eq!(wrapped("a service under  a flood", 10), "a service\nunder a\nflood");
        assert_eq!(wrapped("unbreakable word", 4), "unbreakable\nword");
        assert_eq!(wrapped("", 4), "");
    }
}
