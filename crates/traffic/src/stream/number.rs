//! `Kind`: how the text of a field becomes a number.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Mac;

use super::error::ValueError;
use super::value::Atom;

/// The format of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Decimal, or hexadecimal after `0x`.
    Number,
    /// A number, or one of these names.
    Names(&'static [(&'static str, u64)]),
    /// A number, or names separated by commas, whose bits are combined.
    Flags(&'static [(&'static str, u64)]),
    Mac,
    V4,
    V6,
}

impl Kind {
    /// The number as it is in the frame.
    pub fn parse(self, atom: &Atom) -> Result<u128, ValueError> {
        match (self, atom) {
            (Self::Number | Self::Names(_) | Self::Flags(_), Atom::Number(number)) => {
                Ok(u128::from(*number))
            }
            (_, Atom::Number(number)) => Err(self.mismatch(&number.to_string())),
            (_, Atom::Text(text)) => self.parse_text(text.trim()),
        }
    }

    /// As [`Kind::parse`], for text.
    pub fn parse_text(self, text: &str) -> Result<u128, ValueError> {
        let number = match self {
            Self::Number => number(text),
            Self::Names(names) => named(names, text).or_else(|| number(text)),
            Self::Flags(names) => flags(names, text).or_else(|| number(text)),
            Self::Mac => text.parse::<Mac>().ok().map(|mac| mac.0.iter().fold(0, byte)),
            Self::V4 => text.parse::<Ipv4Addr>().ok().map(|it| u128::from(it.to_bits())),
            Self::V6 => text.parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits),
        };
        number.ok_or_else(|| self.mismatch(text))
    }

    /// Whether `value/length` denotes a range.
    pub const fn has_prefixes(self) -> bool {
        matches!(self, Self::Mac | Self::V4 | Self::V6)
    }

    fn mismatch(self, text: &str) -> ValueError {
        ValueError::Kind { text: text.to_owned(), expected: self.expected() }
    }

    fn expected(self) -> String {
        let names = |names: &[(&str, u64)]| {
            let names: Vec<_> = names.iter().map(|name| name.0).collect();
            names.join(", ")
        };
        match self {
            Self::Number => "a number".into(),
            Self::Names(list) => format!("a number or one of {}", names(list)),
            Self::Flags(list) => format!("a number or a combination of {}", names(list)),
            Self::Mac => "an Ethernet address".into(),
            Self::V4 => "an IPv4 address".into(),
            Self::V6 => "an IPv6 address".into(),
        }
    }
}

fn byte(sum: u128, byte: &u8) -> u128 {
    sum << 8 | u128::from(*byte)
}

/// Decimal, or hexadecimal after `0x`; `_` may separate digits.
fn number(text: &str) -> Option<u128> {
    let digits = text.replace('_', "");
    if digits.starts_with(['+', '-']) {
        return None;
    }
    match digits.strip_prefix("0x") {
        Some(digits) if !digits.starts_with(['+', '-']) => u128::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => digits.parse().ok(),
    }
}

fn named(names: &[(&str, u64)], text: &str) -> Option<u128> {
    names.iter().find(|name| name.0 == text).map(|name| u128::from(name.1))
}

fn flags(names: &[(&str, u64)], text: &str) -> Option<u128> {
    text.split(',').map(|name| named(names, name.trim())).try_fold(0, |sum, one| Some(sum | one?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[(&str, u64)] = &[("syn", 2), ("ack", 16)];

    #[test]
    fn text_is_what_its_field_says() {
        let cases = [
            (Kind::Number, "1_000", Some(1000)),
            (Kind::Number, "0xfF", Some(255)),
            (Kind::Number, "+1", None),
            (Kind::Number, "0x-1", None),
            (Kind::Number, "", None),
            (Kind::Names(NAMES), "ack", Some(16)),
            (Kind::Names(NAMES), "3", Some(3)),
            (Kind::Names(NAMES), "syn,ack", None),
            (Kind::Flags(NAMES), "syn, ack", Some(18)),
            (Kind::Flags(NAMES), "syn,", None),
            (Kind::Mac, "02:00:00:00:01:00", Some(0x0200_0000_0100)),
            (Kind::Mac, "02:00", None),
            (Kind::V4, "10.0.0.1", Some(0x0a00_0001)),
            (Kind::V4, "10.0.0", None),
            (Kind::V6, "fd00::1", Some(0xfd00 << 112 | 1)),
            (Kind::V6, "10.0.0.1", None),
        ];
        for (kind, text, number) in cases {
            assert_eq!(kind.parse_text(text).ok(), number, "{kind:?} {text}");
        }
        assert!(Kind::V4.parse(&Atom::Number(7)).is_err());
    }
}
