//! Files of addresses: one address, prefix or range per line; `#` and `;` begin a comment.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::Error;
use crate::Addresses;
use crate::language::bounds::TEXT;
use crate::language::text::Span;

/// Why a file cannot be read; the message continues a sentence that names the file.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is a folder: name a file in it")]
    Folder,
    #[error("is not a regular file: write its output to one")]
    NotRegular,
    #[error("has more than {} MiB", TEXT >> 20)]
    TooLong,
    #[error("is UTF-16: save it as UTF-8")]
    Utf16,
}

/// Reads the file of a set.
pub(super) fn read(path: &Path) -> Result<Addresses, Error> {
    let name = path.display().to_string();
    let bytes = contents(path).map_err(|reason| Error::new(&name, None, reason.to_string()))?;
    parse_list(&name, &String::from_utf8_lossy(&bytes))
}

/// Reads a whole file. It must be a regular file: a pipe may never end, and reading it would seem
/// to hang.
fn contents(path: &Path) -> Result<Vec<u8>, ReadError> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(ReadError::Folder);
    }
    if !found.is_file() {
        return Err(ReadError::NotRegular);
    }
    if found.len() > TEXT {
        return Err(ReadError::TooLong);
    }
    let bytes = fs::read(path)?;
    match bytes[..] {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(ReadError::Utf16),
        _ => Ok(bytes),
    }
}

/// Reads a rule file, which may be a pipe.
pub(super) fn text(path: &Path) -> Result<String, ReadError> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT { Err(ReadError::TooLong) } else { Ok(text) }
}

/// Reads a list of addresses; `name` is used in errors.
///
/// # Errors
/// The first line that is not an address, with the number of further ones.
pub fn parse_list(name: &str, text: &str) -> Result<Addresses, Error> {
    // A text of a million lines needs more memory than a million addresses.
    let mut spans = Vec::with_capacity(text.len() / 16);
    let mut wrong: Option<Error> = None;
    let mut more = 0;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    for (number, line) in text.lines().enumerate() {
        let item = line.split(['#', ';']).next().unwrap_or("").trim();
        if item.is_empty() {
            continue;
        }
        match item.parse::<Span>() {
            Ok(span) => spans.push(span),
            Err(_) if wrong.is_some() => more += 1,
            Err(reason) => {
                let reason = format!("`{}`: {reason}", shown(item));
                wrong = Some(Error::new(name, Some(number + 1), reason));
            }
        }
    }
    match wrong {
        None => Ok(Addresses::of(spans)),
        Some(mut error) => {
            if more > 0 {
                error.reason.push_str(&format!(" (and {more} more invalid lines)"));
            }
            Err(error)
        }
    }
}

/// The beginning of a line: in a file that is not text, a line may have any length.
fn shown(item: &str) -> String {
    let begin: String = item.chars().take(MOST_SHOWN).collect();
    let more = if begin.len() < item.len() { "…" } else { "" };
    format!("{}{more}", begin.escape_debug())
}

/// Mark that some editors write at the beginning of UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Characters of an invalid line that are shown.
const MOST_SHOWN: usize = 60;
