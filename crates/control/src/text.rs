//! Text that a user gives: from a file, a pipe or standard input.
//!
//! Rule: no more than [`LIMIT`] bytes are read, so that an input without end, such as a device,
//! is an error and does not exhaust memory.

use std::io::Read;
use std::path::Path;

use sys::stdio::open_input;

use crate::error::{Context as _, Error, Result};

/// Bytes of one text input.
pub const LIMIT: u64 = filter::language::bounds::TEXT;

/// Reads the text of a file or pipe; `-` is standard input.
pub fn read(path: &Path) -> Result<String> {
    let shown = || format!("cannot read {}", path.display());
    bounded(open_input(path).with_context(shown)?, LIMIT).with_context(shown)
}

/// Reads a text to its end.
///
/// # Errors
/// It has more than `limit` bytes, or is not UTF-8.
pub fn bounded(input: impl Read, limit: u64) -> Result<String> {
    let mut text = String::new();
    let mut input = input.take(limit);
    input.read_to_string(&mut text)?;
    let mut input = input.into_inner();
    if input.read(&mut [0])? > 0 {
        return Err(Error::LongText { limit });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_over_the_limit_is_refused() {
        assert_eq!(bounded(&b"four"[..], 4).unwrap(), "four");
        let error = bounded(&b"fives"[..], 4).unwrap_err().to_string();
        assert!(error.contains("more than 4 bytes") && error.contains("split it"), "{error}");
        assert!(read(Path::new("/dev/full/none")).is_err());
    }
}
