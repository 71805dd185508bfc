//! Numbers and ranges of values, as they are written.

use super::Error;
use super::word::Word;
use crate::language::bounds::step;

/// Reads a decimal number, or a hexadecimal one after `0x`; `_` may separate digits.
pub(super) fn digits(text: &str) -> Option<u128> {
    let plain = text.replace('_', "");
    match plain.strip_prefix("0x") {
        _ if plain.contains(['+', '-']) => None,
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok(),
    }
}

/// Checks that a range is in ascending order.
///
/// # Errors
/// The first value is greater than the last.
pub(super) fn upwards<T: PartialOrd>(word: &Word<'_>, first: T, last: T) -> Result<(), Error> {
    if first <= last {
        Ok(())
    } else {
        Err(Error::at(word, "the first value of the range is greater than the last"))
    }
}

/// Reads `value` or `first-last`, where names may contain dashes.
pub(super) fn between<T: Copy>(text: &str, one: impl Fn(&str) -> Option<T>) -> Option<(T, T)> {
    step(text.len());
    if let Some(value) = one(text) {
        return Some((value, value));
    }
    let mut dashes = text.match_indices('-').take(DASHES);
    dashes.find_map(|(at, _)| {
        step(text.len());
        Some((one(&text[..at])?, one(&text[at + 1..])?))
    })
}

/// The most dashes of a range: those of two names and the one between them.
const DASHES: usize = 8;
