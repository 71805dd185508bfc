//! `Numbers`: the values that a field takes turns with, as numbers.

use super::number::Kind;
use super::value::{Atom, Pool};
use crate::limits::LIST;

/// At least one; each fits the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// `first + step * k` for k from 0 to `last`.
    Range {
        first: u128,
        step: u64,
        last: u128,
    },
    List(Vec<u128>),
}

impl Numbers {
    pub fn new(pool: &Pool, step: u64, kind: Kind, bits: u32) -> Result<Self, String> {
        match pool {
            Pool::Range(text) => range(text, step, kind, bits),
            Pool::List(list) => {
                if !(1..=LIST).contains(&list.len()) {
                    return Err(format!("a list has 1 to {LIST} values, not {}", list.len()));
                }
                let one = |atom: &Atom| fit(kind.parse(atom)?, &atom.to_string(), bits);
                Ok(Self::List(list.iter().map(one).collect::<Result<_, _>>()?))
            }
        }
    }

    /// How many, less one.
    pub fn last(&self) -> u128 {
        match self {
            Self::Range { last, .. } => *last,
            Self::List(list) => list.len() as u128 - 1,
        }
    }

    /// The value with this number.
    pub fn value(&self, number: u128) -> u128 {
        match self {
            Self::Range { first, step, .. } => first + u128::from(*step) * number,
            Self::List(list) => list[number as usize],
        }
    }
}

/// The number, if it has no more bits than its field.
pub(super) fn fit(number: u128, text: &str, bits: u32) -> Result<u128, String> {
    match number.checked_shr(bits).unwrap_or(0) {
        0 => Ok(number),
        _ => Err(format!("{text} does not fit {bits} bits")),
    }
}

fn range(text: &str, step: u64, kind: Kind, bits: u32) -> Result<Numbers, String> {
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
        None => Err(format!("\"{text}\" ends below its first value")),
    }
}

fn prefix(first: u128, length: &str, text: &str, step: u64, bits: u32) -> Result<Numbers, String> {
    let wrong = || format!("\"{text}\" has no prefix length from 0 to {bits}");
    let length: u32 = length.trim().parse().map_err(|_| wrong())?;
    let host = bits.checked_sub(length).ok_or_else(wrong)?;
    let width = u128::MAX.checked_shr(128 - host).unwrap_or(0);
    if first & width != 0 {
        return Err(format!("\"{text}\" has bits set behind its prefix"));
    }
    Ok(Numbers::Range { first, step, last: width / u128::from(step.max(1)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, step: u64, kind: Kind, bits: u32) -> Result<(u128, u128), String> {
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
    fn ranges_that_are_none_say_why() {
        let cases = [
            (of("9..1", 1, Kind::Number, 16), "ends below its first"),
            (of("1..65536", 1, Kind::Number, 16), "65536 does not fit 16 bits"),
            (of("1..x", 1, Kind::Number, 16), "\"x\" is no number"),
            (of("1/8", 1, Kind::Number, 16), "\"1/8\" is no number"),
            (of("10.0.0.1/8", 1, Kind::V4, 32), "bits set behind"),
            (of("10.0.0.0/33", 1, Kind::V4, 32), "no prefix length from 0 to 32"),
            (of("10.0.0.0/x", 1, Kind::V4, 32), "no prefix length"),
        ];
        for (range, why) in cases {
            let said = range.expect_err(why);
            assert!(said.contains(why), "{said:?} does not say {why:?}");
        }
        let empty = Numbers::new(&Pool::List(vec![]), 1, Kind::Number, 8);
        assert!(empty.expect_err("empty").contains("1 to 65536 values, not 0"));
        let wide = Numbers::new(&Pool::List(vec![Atom::Number(256)]), 1, Kind::Number, 8);
        assert!(wide.expect_err("wide").contains("256 does not fit 8 bits"));
    }
}
