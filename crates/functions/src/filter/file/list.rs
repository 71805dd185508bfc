//! Lists of addresses: one address, prefix or range a line; what follows `#` or `;` is a comment.

use std::path::Path;

use super::Error;
use crate::filter::Addresses;
use crate::filter::text::Span;

/// Reads the file of a set.
pub(super) fn read(path: &Path) -> Result<Addresses, Error> {
    let name = path.display().to_string();
    let text = std::fs::read(path)
        .map_err(|error| Error::new(&name, None, format!("cannot be read: {error}")))?;
    parse_list(&name, &String::from_utf8_lossy(&text))
}

/// Reads a list; `name` stands in errors.
///
/// # Errors
/// The first line that holds none, and how many more there are.
pub fn parse_list(name: &str, text: &str) -> Result<Addresses, Error> {
    // Whoever reads a million lines has room for a million addresses.
    let mut spans = Vec::with_capacity(text.len() / 16);
    let mut wrong: Option<Error> = None;
    let mut more = 0;
    for (number, line) in text.lines().enumerate() {
        let item = line.split(['#', ';']).next().unwrap_or("").trim();
        if item.is_empty() {
            continue;
        }
        match item.parse::<Span>() {
            Ok(span) => spans.push(span),
            Err(_) if wrong.is_some() => more += 1,
            Err(reason) => {
                wrong = Some(Error::new(name, Some(number + 1), format!("`{item}`: {reason}")));
            }
        }
    }
    match wrong {
        None => Ok(Addresses::of(spans)),
        Some(mut error) => {
            if more > 0 {
                error.reason.push_str(&format!(" (and {more} more lines are wrong)"));
            }
            Err(error)
        }
    }
}
