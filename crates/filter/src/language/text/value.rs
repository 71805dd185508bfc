//! Values of a field: numbers, names, ranges, comparisons and lists, each of which can be negated.

use super::icmp::{self, Version};
use super::names::{self, Names};
use super::number::{between, digits, upwards};
use super::word::Word;
use super::words::Words;
use super::{Error, bits, nearest};
use crate::{Field, Test, Values};

/// The notation of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// A number, or a name.
    Number(Names),
    /// A number, with names that are read but not written.
    ReadNames(Names),
    Mac,
    Bits(Names),
    /// A type and code; the names depend on the version.
    Icmp(Option<Version>),
}

impl Notation {
    /// The notation of a field; `tests` are the preceding tests.
    pub fn of(field: Field, tests: &[Test]) -> Self {
        match field {
            Field::SourceMac | Field::DestMac => Self::Mac,
            Field::EtherType => Self::Number(names::ETHERTYPES),
            Field::Protocol => Self::Number(names::PROTOCOLS),
            Field::Dscp => Self::Number(names::DSCP),
            Field::Fragment => Self::Number(names::FRAGMENTS),
            Field::SourcePort | Field::DestPort => Self::ReadNames(names::PORTS),
            Field::TcpFlags => Self::Bits(names::TCP_FLAGS),
            Field::Extensions => Self::Bits(names::EXTENSIONS),
            Field::Icmp => Self::Icmp(Version::of(tests)),
            _ => Self::Number(names::NONE),
        }
    }
}

/// Reads the values of a field.
pub(super) fn parse(
    field: Field,
    notation: Notation,
    words: &mut Words<'_>,
) -> Result<Values, Error> {
    if words.take("!=") || words.take("not") {
        return Ok(positive(field, notation, words)?.complement(field.highest()));
    }
    positive(field, notation, words)
}

fn positive(field: Field, notation: Notation, words: &mut Words<'_>) -> Result<Values, Error> {
    let _equal = words.take("=") || words.take("==");
    let first = words.expect(expected(notation))?;
    match first.text.as_ref() {
        "{" if !first.quoted => list(field, notation, words),
        "any" if field == Field::Fragment => Ok(Values::range(1_u8, 2_u8)),
        "any" => Ok(Values::range(0_u8, field.highest())),
        "<" | "<=" | ">" | ">=" => comparison(&first, field, notation, words),
        _ => item(&first, field, notation),
    }
}

/// Reads a list after its opening brace.
fn list(field: Field, notation: Notation, words: &mut Words<'_>) -> Result<Values, Error> {
    let mut ranges = Vec::new();
    items(words, expected(notation), |word| {
        ranges.extend_from_slice(item(word, field, notation)?.ranges());
        Ok(())
    })?;
    Ok(Values::new(ranges))
}

/// Reads the items of a list after its opening brace.
pub(super) fn items(
    words: &mut Words<'_>,
    expected: &str,
    mut each: impl FnMut(&Word<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    loop {
        let word = words.expect(expected)?;
        if word.is("}") {
            return Ok(());
        }
        each(&word)?;
        let separator = words.expect("`,` or `}`")?;
        if separator.is("}") {
            return Ok(());
        }
        if !separator.is(",") {
            return Err(Error::at(&separator, "values in braces must be separated by commas"));
        }
    }
}

fn comparison(
    sign: &Word<'_>,
    field: Field,
    notation: Notation,
    words: &mut Words<'_>,
) -> Result<Values, Error> {
    let word = words.expect(expected(notation))?;
    if !matches!(notation, Notation::Number(_) | Notation::ReadNames(_)) {
        return Err(Error::at(sign, "the values of this field have no order"));
    }
    let bound = number(&word.text, field, notation);
    let bound = bound.ok_or_else(|| wrong(&word.text, &word, field, notation))?;
    let (first, last) = match sign.text.as_ref() {
        "<" => (0, bound.checked_sub(1)),
        "<=" => (0, Some(bound)),
        ">" => (bound + 1, Some(field.highest())),
        _ => (bound, Some(field.highest())),
    };
    let last = last.filter(|last| first <= *last);
    let last = last.ok_or_else(|| Error::at(&word, format!("no value is {} it", sign.text)))?;
    Ok(Values::range(first, last))
}

fn item(word: &Word<'_>, field: Field, notation: Notation) -> Result<Values, Error> {
    match notation {
        Notation::Bits(names) => bits::parse(word, names),
        Notation::Icmp(version) => icmp::parse(word, version),
        Notation::Mac if word.text.contains('/') => mac_prefix(word),
        _ => {
            let one = |text: &str| number(text, field, notation);
            let (first, last) =
                between(&word.text, one).ok_or_else(|| wrong(&word.text, word, field, notation))?;
            upwards(word, first, last)?;
            Ok(Values::range(first, last))
        }
    }
}

fn number(text: &str, field: Field, notation: Notation) -> Option<u128> {
    let named = match notation {
        Notation::Mac => return mac(text),
        Notation::Number(names) | Notation::ReadNames(names) => names::number(names, text),
        _ => None,
    };
    let number = named.map(u128::from).or_else(|| digits(text));
    number.filter(|number| *number <= field.highest())
}

fn wrong(text: &str, word: &Word<'_>, field: Field, notation: Notation) -> Error {
    if word.text.contains(',') {
        return Error::at(word, "several values must be in braces, such as {22, 80, 1000-2000}");
    }
    let reason = match notation {
        Notation::Mac => {
            "invalid Ethernet address; expected one such as 02:00:00:00:00:01".to_owned()
        }
        Notation::Number(&[]) => format!("invalid number; expected at most {}", field.highest()),
        Notation::Number(names) if names.len() < 4 => {
            let known: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            format!("unknown value; expected one of {}", known.join(", "))
        }
        _ => format!("expected a number up to {} or a known name", field.highest()),
    };
    let names = match notation {
        Notation::Number(names) | Notation::ReadNames(names) => names,
        _ => names::NONE,
    };
    Error::at(word, reason).hint(nearest(text, names.iter().map(|(name, _)| *name)))
}

const fn expected(notation: Notation) -> &'static str {
    match notation {
        Notation::Number(_) | Notation::ReadNames(_) => "a number",
        Notation::Mac => "an Ethernet address",
        Notation::Bits(_) => "the name of a bit",
        Notation::Icmp(_) => "a type",
    }
}

fn mac(text: &str) -> Option<u128> {
    if text == "broadcast" {
        return Some(Field::SourceMac.highest());
    }
    let mut bytes = text.split(':');
    let byte = |part: &str| {
        let fits = part.len() == 2 && !part.starts_with('+');
        fits.then(|| u8::from_str_radix(part, 16).ok()).flatten()
    };
    let mac = (0..6).try_fold(0, |sum, _| Some(sum << 8 | u128::from(byte(bytes.next()?)?)));
    mac.filter(|_| bytes.next().is_none())
}

/// Reads a prefix of Ethernet addresses, such as those of one vendor.
fn mac_prefix(word: &Word<'_>) -> Result<Values, Error> {
    let (address, length) = word.text.split_once('/').unwrap_or((&word.text, ""));
    let reason = "invalid Ethernet prefix; expected an Ethernet address with a length up to 48, \
                  such as 02:00:00:00:00:00/24";
    let length = digits(length).filter(|length| *length <= 48);
    let (Some(address), Some(length)) = (mac(address), length) else {
        return Err(Error::at(word, reason));
    };
    let free = Field::SourceMac.highest() >> length;
    if address & free != 0 {
        let first = show_mac(address & !free);
        let reason = format!("host bits are set; did you mean {first}/{length}?");
        return Err(Error::at(word, reason));
    }
    Ok(Values::range(address, address | free))
}

/// The values as text, as they follow the name of the field.
pub(super) fn show(field: Field, notation: Notation, values: &Values) -> String {
    let full = Values::range(0_u8, field.highest());
    if field == Field::Fragment && *values == Values::range(1_u8, 2_u8) {
        return "any".to_owned();
    }
    if *values == full && field != Field::Fragment {
        return "any".to_owned();
    }
    if let Some(text) = show_comparison(field, notation, values) {
        return text;
    }
    let plain = show_items(field, notation, values);
    let others = show_items(field, notation, &values.complement(field.highest()));
    if others.len() < plain.len() {
        format!("not {}", listed(&others, field, notation, values, true))
    } else {
        listed(&plain, field, notation, values, false)
    }
}

/// One item, or several in braces.
fn listed(
    items: &[String],
    field: Field,
    notation: Notation,
    values: &Values,
    negated: bool,
) -> String {
    match (items, notation) {
        // Outside of braces, bits are joined by a comma, as in nft.
        ([_], Notation::Bits(names)) => {
            let others = values.complement(field.highest());
            bits::show(if negated { &others } else { values }, names, ",").concat()
        }
        ([one], _) => one.clone(),
        _ => format!("{{{}}}", items.join(", ")),
    }
}

fn show_comparison(field: Field, notation: Notation, values: &Values) -> Option<String> {
    let (Notation::Number(&[]) | Notation::ReadNames(_), [(first, last)]) =
        (notation, values.ranges())
    else {
        return None;
    };
    match (*first, *last) {
        (first, last) if first == last => None,
        (0, last) if last != field.highest() => Some(format!("< {}", last + 1)),
        (first, last) if first != 0 && last == field.highest() => Some(format!("> {}", first - 1)),
        _ => None,
    }
}

fn show_items(field: Field, notation: Notation, values: &Values) -> Vec<String> {
    match notation {
        Notation::Bits(names) => return bits::show(values, names, "|"),
        Notation::Icmp(version) => return icmp::show(values, version),
        _ => {}
    }
    let number = |number: u128| match notation {
        Notation::Mac => show_mac(number),
        Notation::Number(names) => match names::name(names, number) {
            Some(name) => name.to_owned(),
            None if field == Field::EtherType => format!("{number:#06x}"),
            None => number.to_string(),
        },
        _ => number.to_string(),
    };
    let ranges = values.ranges().iter();
    let items = ranges.flat_map(|(first, last)| match last - first {
        0 => vec![number(*first)],
        1 => vec![number(*first), number(*last)],
        _ => vec![format!("{}-{}", number(*first), number(*last))],
    });
    items.collect()
}

fn show_mac(mac: u128) -> String {
    if mac == Field::SourceMac.highest() {
        return "broadcast".to_owned();
    }
    let bytes = (0..6).rev().map(|place| format!("{:02x}", mac >> (8 * place) & 0xff));
    bytes.collect::<Vec<_>>().join(":")
}
