//! Types and codes of ICMP: `echo-request`, `3/1-3`, `destination-unreachable/port-unreachable`.
//!
//! The number of the field is the type and, in the low byte, the code. Names differ between the
//! versions, so they need a preceding test of the protocol; numbers do not.

use super::names::{self, Names};
use super::number::{between, digits, upwards};
use super::word::Word;
use super::{Error, nearest};
use crate::{Field, Test, Values};

/// The names of one version of ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    types: Names,
    codes: Names,
}

impl Version {
    /// The version that the preceding tests select.
    pub fn of(tests: &[Test]) -> Option<Self> {
        let protocols = tests.iter().filter_map(|test| match test {
            Test::Is(Field::Protocol, values) => Some(values),
            _ => None,
        });
        let is = |number: u8| protocols.clone().any(|values| *values == Values::one(number));
        match (is(1), is(58)) {
            (true, false) => Some(Self { types: names::ICMP, codes: names::ICMP_CODES }),
            (false, true) => Some(Self { types: names::ICMPV6, codes: names::ICMPV6_CODES }),
            _ => None,
        }
    }
}

/// Reads an item.
pub(super) fn parse(word: &Word<'_>, version: Option<Version>) -> Result<Values, Error> {
    let text = word.text.as_ref();
    if let Some((kind, codes)) = text.split_once('/') {
        let kind = type_number(kind, word, version)?;
        return parse_codes(codes, word, kind, version);
    }
    let Some((first, last)) = between(text, |text| type_number(text, word, version).ok()) else {
        return Err(type_number(text, word, version).err().unwrap_or_else(|| no_type(word)));
    };
    upwards(word, first, last)?;
    Ok(Values::range(first << 8, last << 8 | 0xff))
}

/// Reads one code of a type, or a range of codes.
pub(super) fn parse_codes(
    text: &str,
    word: &Word<'_>,
    kind: u16,
    version: Option<Version>,
) -> Result<Values, Error> {
    let code = |text: &str| code_number(text, word, kind, version);
    let Some((first, last)) = between(text, |text| code(text).ok()) else {
        return Err(code(text).err().unwrap_or_else(|| no_code(word)));
    };
    upwards(word, first, last)?;
    Ok(Values::range(kind << 8 | first, kind << 8 | last))
}

/// The type, if the values are exactly all codes of one type.
pub(super) fn whole_type(values: &Values) -> Option<u16> {
    let [(first, last)] = values.ranges() else { return None };
    (first & 0xff == 0 && *last == first | 0xff).then(|| (first >> 8) as u16)
}

fn type_number(text: &str, word: &Word<'_>, version: Option<Version>) -> Result<u16, Error> {
    if let Some(number) = digits(text) {
        return in_byte(number, word);
    }
    let Some(version) = version else {
        return Err(Error::at(word, "names of types need a preceding `icmp` or `icmpv6`"));
    };
    names::number(version.types, text).ok_or_else(|| {
        let known = version.types.iter().map(|(name, _)| *name);
        no_type(word).hint(nearest(text, known))
    })
}

fn code_number(
    text: &str,
    word: &Word<'_>,
    kind: u16,
    version: Option<Version>,
) -> Result<u16, Error> {
    if let Some(number) = digits(text) {
        return in_byte(number, word);
    }
    let of_kind = |version: Version| {
        let codes = version.codes.iter().copied();
        codes.filter(move |(_, number)| number >> 8 == kind)
    };
    let known: Vec<_> = version.into_iter().flat_map(of_kind).collect();
    match known.iter().find(|(name, _)| *name == text) {
        Some((_, number)) => Ok(number & 0xff),
        None => Err(no_code(word).hint(nearest(text, known.iter().map(|(name, _)| *name)))),
    }
}

fn no_type(word: &Word<'_>) -> Error {
    Error::at(
        word,
        "unknown ICMP type; expected a number up to 255, or a name such as echo-request",
    )
}

fn no_code(word: &Word<'_>) -> Error {
    Error::at(word, "unknown ICMP code; expected a number up to 255, or its name")
}

fn in_byte(number: u128, word: &Word<'_>) -> Result<u16, Error> {
    u8::try_from(number).map(u16::from).map_err(|_| Error::at(word, "expected a number up to 255"))
}

/// The items of a set as text: whole types, and ranges of codes of one type.
pub(super) fn show(values: &Values, version: Option<Version>) -> Vec<String> {
    let mut items = Vec::new();
    for (first, last) in values.ranges() {
        let (mut first, last) = (*first as u32, *last as u32);
        while first <= last {
            let end = if first & 0xff == 0 && last - first >= 0xff {
                // All whole types in the range.
                (last + 1) / 0x100 * 0x100 - 1
            } else {
                last.min(first | 0xff)
            };
            items.push(item(first, end, version));
            first = end + 1;
        }
    }
    items
}

fn item(first: u32, last: u32, version: Option<Version>) -> String {
    let kind = |number: u32| name_or_number(version.map(|it| it.types), (number >> 8).into());
    if first & 0xff == 0 && last & 0xff == 0xff {
        return dashed(&kind(first), &kind(last));
    }
    let code = |number: u32| match version.and_then(|it| names::name(it.codes, number.into())) {
        Some(name) => name.to_owned(),
        None => (number & 0xff).to_string(),
    };
    format!("{}/{}", kind(first), dashed(&code(first), &code(last)))
}

fn name_or_number(names: Option<Names>, number: u128) -> String {
    names
        .and_then(|names| names::name(names, number))
        .map_or_else(|| number.to_string(), Into::into)
}

fn dashed(first: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { format!("{first}-{last}") }
}
