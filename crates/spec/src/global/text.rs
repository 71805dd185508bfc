//! Converts the text of a value, as options and command lines carry it, to bytes of a type.
//!
//! Rule: the type decides how the text is read; nothing is rounded or truncated.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Mac;

use crate::btf::{Btf, Kind, Type};
use crate::error::ValueError;

/// Number of enumerators that an error lists.
const MAX_LISTED: usize = 16;

/// Converts text to the bytes of a value of type `id`.
pub(crate) fn typed(btf: &Btf, id: u32, text: &str) -> Result<Vec<u8>, ValueError> {
    let text = text.trim();
    let ty = btf.resolve(id).ok_or(ValueError::NoType)?;
    match ty.kind() {
        Kind::Int if ty.is_bool() => boolean(text).map(|value| vec![u8::from(value)]),
        Kind::Int => integer(btf, id, ty, text),
        Kind::Enum | Kind::Enum64 => enumerator(ty, text),
        Kind::Array => array(btf, id, ty, text),
        Kind::Struct | Kind::Union => aggregate(btf, id, text),
        Kind::Float => Err(ValueError::FloatingPoint),
        kind => Err(ValueError::NotFromText { kind }),
    }
}

/// Converts text to the bytes of a value of which only the size is known.
pub(super) fn untyped(size: usize, text: &str) -> Result<Vec<u8>, ValueError> {
    let text = text.trim();
    match address(text) {
        Some(bytes) if bytes.len() == size => Ok(bytes),
        _ => little_endian(number(text)?, size, text.starts_with('-')),
    }
}

fn boolean(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(ValueError::NotBoolean { text: text.to_owned() }),
    }
}

fn integer(btf: &Btf, id: u32, ty: Type<'_>, text: &str) -> Result<Vec<u8>, ValueError> {
    let size = ty.size() as usize;
    if let Some(bytes) = address(text).filter(|bytes| bytes.len() == size) {
        return Ok(if is_network(btf, id) { bytes } else { bytes.into_iter().rev().collect() });
    }
    let value = match character(text) {
        Some(value) if size == 1 => value,
        _ => number(text)?,
    };
    let mut bytes = little_endian(value, size, ty.is_signed())?;
    if is_network(btf, id) {
        bytes.reverse();
    }
    Ok(bytes)
}

/// `'x'`.
fn character(text: &str) -> Option<i128> {
    match text.as_bytes() {
        [b'\'', byte, b'\''] => Some(i128::from(*byte)),
        _ => None,
    }
}

fn enumerator(ty: Type<'_>, text: &str) -> Result<Vec<u8>, ValueError> {
    let named = ty.values().find(|entry| entry.name == text).map(|entry| entry.value);
    let value = match named {
        Some(value) => value,
        None => number(text).map_err(|_| {
            let known = ty.values().take(MAX_LISTED).map(|entry| entry.name.to_owned()).collect();
            ValueError::UnknownEnumerator { text: text.to_owned(), known }
        })?,
    };
    little_endian(value, ty.size() as usize, ty.is_signed())
}

/// Text for characters, an address for bytes, otherwise a list.
fn array(btf: &Btf, id: u32, ty: Type<'_>, text: &str) -> Result<Vec<u8>, ValueError> {
    let size = btf.size_of(id).and_then(|size| usize::try_from(size).ok());
    let size = size.ok_or(ValueError::NoSize)?;
    let array = ty.array().ok_or(ValueError::NoSize)?;
    let byte = btf.size_of(array.element) == Some(1);
    if byte && let Some(bytes) = address(text).filter(|bytes| bytes.len() == size) {
        return Ok(bytes);
    }
    if byte && !text.starts_with('{') {
        return characters(text, size);
    }
    let mut bytes = list(btf, array.element, array.count as usize, text)?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// Text, padded with NUL bytes of which there is at least one.
fn characters(text: &str, size: usize) -> Result<Vec<u8>, ValueError> {
    if text.len() >= size {
        let (length, limit) = (text.len(), size.saturating_sub(1));
        return Err(ValueError::TextTooLong { length, limit });
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(size, 0);
    Ok(bytes)
}

fn list(btf: &Btf, element: u32, count: usize, text: &str) -> Result<Vec<u8>, ValueError> {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inner = inner.unwrap_or(text).trim();
    let values: Vec<_> = inner.split(',').filter(|value| !value.trim().is_empty()).collect();
    if values.len() > count {
        return Err(ValueError::TooManyElements { given: values.len(), limit: count });
    }
    let values = values.into_iter().map(|value| typed(btf, element, value));
    Ok(values.collect::<Result<Vec<_>, _>>()?.concat())
}

/// A struct that contains only an address, such as `struct in6_addr`.
fn aggregate(btf: &Btf, id: u32, text: &str) -> Result<Vec<u8>, ValueError> {
    let size = btf.size_of(id).ok_or(ValueError::NoSize)?;
    let bytes = address(text).filter(|bytes| bytes.len() as u64 == size);
    bytes.ok_or_else(|| ValueError::NotAddress { text: text.to_owned(), size })
}

/// An IPv4, IPv6 or MAC address in network order.
fn address(text: &str) -> Option<Vec<u8>> {
    if let Ok(v4) = text.parse::<Ipv4Addr>() {
        return Some(v4.octets().to_vec());
    }
    if let Ok(v6) = text.parse::<Ipv6Addr>() {
        return Some(v6.octets().to_vec());
    }
    text.parse::<Mac>().ok().map(|mac| mac.0.to_vec())
}

/// Reads a number in decimal, `0x…`, `0b…` or `0o…`, with an optional sign and `_` between digits.
fn number(text: &str) -> Result<i128, ValueError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.replace('_', "").to_ascii_lowercase();
    let value = match digits.get(..2) {
        Some("0x") => u64::from_str_radix(&digits[2..], 16),
        Some("0b") => u64::from_str_radix(&digits[2..], 2),
        Some("0o") => u64::from_str_radix(&digits[2..], 8),
        _ => digits.parse(),
    };
    let value = value.map_err(|_| ValueError::NotNumber { text: text.to_owned() })?;
    Ok(if negative { -i128::from(value) } else { i128::from(value) })
}

fn little_endian(value: i128, size: usize, signed: bool) -> Result<Vec<u8>, ValueError> {
    if !(1..=8).contains(&size) {
        return Err(ValueError::IntegerSize { size });
    }
    let bits = size as u32 * 8;
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    if !(least..=most).contains(&value) {
        return Err(ValueError::OutOfRange { value, least, most });
    }
    Ok(value.to_le_bytes()[..size].to_vec())
}

/// Whether a typedef of the integer states network order: `__be16`, `__be32`, `__be64`.
fn is_network(btf: &Btf, id: u32) -> bool {
    let mut id = id;
    for _ in 0..8 {
        let Some(ty) = btf.ty(id) else { break };
        if ty.kind() == Kind::Typedef && matches!(ty.name(), "__be16" | "__be32" | "__be64") {
            return true;
        }
        id = ty.target();
    }
    false
}
