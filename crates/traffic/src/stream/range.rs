//! `Numbers`: the values of a field that varies, as numbers.

use super::error::ValueError;
use super::number::Kind;
use super::value::{Atom, Pool};
use crate::limits::LIST;

/// At least one number; each fits the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// `first + step * k` for k from 0 to `last`.
    Range { first: u128, step: u64, last: u128 },
    /// In the order of the description.
    List(Vec<u128>),
}

impl Numbers {
    /// The numbers of a pool, for a field of this kind and width.
    pub fn new(pool: &Pool, step: u64, kind: Kind, bits: u32) -> Result<Self, ValueError> {
        match pool {
            Pool::Range(text) => range(text, step, kind, bits),
            Pool::List(list) => {
                if !(1..=LIST).contains(&list.len()) {
                    return Err(ValueError::ListLength { count: list.len() });
                }
                let one = |atom: &Atom| fit(kind.parse(atom)?, &atom.to_string(), bits);
                Ok(Self::List(list.iter().map(one).collect::<Result<_, _>>()?))
            }
        }
    }

    /// Index of the last number.
    pub fn last(&self) -> u128 {
        match self {
            Self::Range { last, .. } => *last,
            Self::List(list) => list.len() as u128 - 1,
        }
    }

    /// The number with this index.
    pub fn value(&self, number: u128) -> u128 {
        match self {
            Self::Range { first, step, .. } => first + u128::from(*step) * number,
            Self::List(list) => list[number as usize],
        }
    }
}

/// The number, if it has no more bits than its field.
pub(super) fn fit(number: u128, text: &str, bits: u32) -> Result<u128, ValueError> {
    match number.checked_shr(bits).unwrap_or(0) {
        0 => Ok(number),
        _ => Err(ValueError::TooWide { text: text.to_owned(), bits }),
    }
}

fn range(text: &str, step: u64, kind: Kind, bits: u32) -> Result<Numbers, ValueError> {
    if let Some((address, length)) = text.split_once('/').filter(|_| kind.has_prefixes()) {
        return prefix(kind.parse_text(address)?, length, text, step, bits);
    }
    let one = |part: &str| fit(kind.parse_text(part.trim())?, part.trim(), bits);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (one(first)?, one(last)?),
        None => (one(text)?, one(text)?),
    };
    match last.checked_sub(first) {
        Some(width) => Ok(Numbers::Range { first, step, last: width / u128::from(step.max(1)) }),
        None => Err(ValueError::Descending { text: text.to_owned() }),
    }
}

fn prefix(
    first: u128,
    length: &str,
    text: &str,
    step: u64,
    bits: u32,
) -> Result<Numbers, ValueError> {
    let wrong = || ValueError::PrefixLength { text: text.to_owned(), bits };
    let length: u32 = length.trim().parse().map_err(|_| wrong())?;
    let host = bits.checked_sub(length).ok_or_else(wrong)?;
    let width = u128::MAX.checked_shr(128 - host).unwrap_or(0);
    if first & width != 0 {
        return Err(ValueError::HostBits { text: text.to_owned() });
    }
    Ok(Numbers::Range { first, step, last: width / u128::from(step.max(1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, step: u64, kind: Kind, bits: u32) -> Result<(u128, u128), ValueError> {
        let numbers = Numbers::new(&Pool::Range(text.into()), step, kind, bits)?;
        Ok((numbers.value(0), numbers.value(numbers.last())))
    }

    #[test]
    fn ranges_have_both_ends() {
        let (v4, v6) = (Kind::V4, Kind::V6);
        let cases = [
            (of("1..9", 1, Kind::Number, 16), (1, 9)),
            (of("1..9", 3, Kind::Number, 16), (1, 7)),
            (of("7", 1, Kind::Number, 16), (7, 7)),
            (of("10.0.0.1..10.0.1.0", 1, v4, 32), (0x0a00_0001, 0x0a00_0100)),
            (of("10.0.0.0/8", 1, v4, 32), (0x0a00_0000, 0x0aff_ffff)),
            (of("10.0.0.0/8", 256, v4, 32), (0x0a00_0000, 0x0aff_ff00)),
            (of("0.0.0.0/0", 1, v4, 32), (0, 0xffff_ffff)),
            (of("10.0.0.1/32", 1, v4, 32), (0x0a00_0001, 0x0a00_0001)),
            (of("fd00::/64", 1, v6, 128), (0xfd << 120, 0xfd << 120 | u128::from(u64::MAX))),
            (of("::/0", 1, v6, 128), (0, u128::MAX)),
            (of("02:00:00:00:00:00/40", 1, Kind::Mac, 48), (2 << 40, 2 << 40 | 0xff)),
        ];
        for (index, (range, expected)) in cases.into_iter().enumerate() {
            assert_eq!(range, Ok(expected), "case {index}");
        }
    }

    #[test]
    fn invalid_ranges_are_rejected_with_the_reason() {
        let text = |text: &str| text.to_owned();
        let not_a_number =
            |text: &str| ValueError::Kind { text: text.to_owned(), expected: "a number".into() };
        let cases = [
            ("9..1", Kind::Number, 16, ValueError::Descending { text: text("9..1") }),
            ("1..65536", Kind::Number, 16, ValueError::TooWide { text: text("65536"), bits: 16 }),
            ("1..x", Kind::Number, 16, not_a_number("x")),
            ("1/8", Kind::Number, 16, not_a_number("1/8")),
            ("10.0.0.1/8", Kind::V4, 32, ValueError::HostBits { text: text("10.0.0.1/8") }),
        ];
        for (range, kind, bits, why) in cases {
            assert_eq!(of(range, 1, kind, bits), Err(why), "{range}");
        }
        for range in ["10.0.0.0/33", "10.0.0.0/x"] {
            let why = ValueError::PrefixLength { text: text(range), bits: 32 };
            assert_eq!(of(range, 1, Kind::V4, 32), Err(why));
        }
        let list = |list: Vec<Atom>| Numbers::new(&Pool::List(list), 1, Kind::Number, 8);
        assert_eq!(list(vec![]), Err(ValueError::ListLength { count: 0 }));
        let wide = ValueError::TooWide { text: text("256"), bits: 8 };
        assert_eq!(list(vec![Atom::Number(256)]), Err(wide));
    }
}
