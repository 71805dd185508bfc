//! What the user and the locale permit in output: colors, messages, characters.
//!
//! Rule: set once, before the first output.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Paint;
use crate::args::{Cli, ColorArg};

/// Whether standard output is used for a file.
static IS_STDOUT_TAKEN: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    is_quiet: bool,
    is_ascii: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Takes over the global options. Returns the colors of standard output.
pub fn configure(cli: &Cli) -> Paint {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| env::var(name).unwrap_or_default());
    let is_ascii = locale.iter().find(|value| !value.is_empty()).is_some_and(|it| !is_utf8(it));
    // A second call would be of a test in the same process.
    let _first = SETTINGS.set(Settings { is_quiet: cli.quiet, is_ascii });
    let permits = || {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none() && !is_dumb
    };
    let colour = match cli.color {
        ColorArg::Auto => permits(),
        ColorArg::Always => true,
        ColorArg::Never => false,
    };
    Paint { colour }
}

/// Standard output is used for a file, so results go to standard error from now on.
pub fn take_stdout() {
    IS_STDOUT_TAKEN.store(true, Ordering::Relaxed);
}

/// Where results go.
pub fn results() -> Box<dyn Write> {
    match IS_STDOUT_TAKEN.load(Ordering::Relaxed) {
        true => Box::new(io::stderr().lock()),
        false => Box::new(io::stdout().lock()),
    }
}

/// Whether messages are suppressed.
pub fn is_quiet() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.is_quiet)
}

/// Whether output must be ASCII. Without a locale, UTF-8 is assumed, as systemd does.
pub fn is_ascii() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.is_ascii)
}

/// The text in the encoding of the locale: itself, or with an ASCII character for each other one,
/// so that tables keep their columns.
pub fn encoded(text: &str) -> Cow<'_, str> {
    if is_ascii() { ascii(text) } else { Cow::Borrowed(text) }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.chars().map(similar).collect::<String>().into()
}

/// The most similar character of ASCII.
pub fn similar(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '─' | '━' | '–' | '—' | '−' | '╌' | '┄' => '-',
        '│' | '┃' | '╎' | '┆' => '|',
        '┌'..='╋' | '╭'..='╰' => '+',
        '═' => '=',
        '●' => 'o',
        '█'..='▉' | '▓' | '■' => '#',
        '▀'..='▇' | '▊'..='▏' | '░' | '▒' | '·' | '•' => '.',
        '→' | '▶' | '›' => '>',
        '←' | '◀' | '‹' => '<',
        '↑' | '▲' => '^',
        '↓' | '▼' => 'v',
        '×' => 'x',
        'µ' | 'μ' => 'u',
        '…' => '~',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '\u{a0}' => ' ',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_keeps_columns() {
        let text = "│ 3.1 µs │ █▌… → é";
        assert_eq!(ascii(text), "| 3.1 us | #.~ > ?");
        assert_eq!(ascii(text).chars().count(), text.chars().count());
    }

    #[test]
    fn locales_with_utf8() {
        assert!(is_utf8("en_US.UTF-8") && is_utf8("C.utf8"));
        assert!(!is_utf8("C") && !is_utf8("de_DE.ISO-8859-1"));
    }
}
