//! Numbers and ranges of values, as they are written.

use super::Error;
use super::word::Word;
use crate::language::bounds::step;

/// Decimal, or hexadecimal behind `0x`; `_` may stand between digits.
pub(super) fn digits(text: &str) -> Option<u128> {
    let plain = text.replace('_', "");
    match plain.strip_prefix("0x") {
        _ if plain.contains(['+', '-']) => None,
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok(),
    }
}

/// # Errors
/// The range's ends are the wrong way round.
pub(super) fn upwards<T: PartialOrd>(word: &Word<'_>, first: T, last: T) -> Result<(), Error> {
    if first <= last { Ok(()) } else { Err(Error::at(word, "the range goes down")) }
}

/// `one` or `first-last`; names may have dashes in them.
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

/// Dashes of two names with one between them.
const DASHES: usize = 8;
