//! The right side of a match: numbers, addresses, ranges, sets.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::key::Key;
use super::listing::Listing;
use super::names::{self, Names};
use crate::Values;
use crate::import_export::error::nft::ImportError;
use crate::language::bounds::step;

/// Parses one number.
pub(super) type Parse<'a> = &'a dyn Fn(&Value) -> Option<u128>;

/// Reads the right sides of matches.
pub(super) struct Reader<'a> {
    pub listing: &'a Listing,
    pub key: &'a Key,
    pub parse: Parse<'a>,
    pub bits: u32,
}

impl Reader<'_> {
    /// The values of a right side.
    pub fn values(&self, right: &Value) -> Result<Values, ImportError> {
        if let Some(name) = right.as_str().and_then(|text| text.strip_prefix('@')) {
            return self.all(self.listing.set(self.key, name)?);
        }
        self.element(right)
    }

    /// The values of a right side that is not the name of a set: sets do not contain sets.
    fn element(&self, right: &Value) -> Result<Values, ImportError> {
        if let Some(set) = right["set"].as_array() {
            return self.all(set);
        }
        if let Some(element) = right.get("elem").filter(|_| right.is_object()) {
            let others = element.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            if let Some(key) = others.into_iter().find(|key| !matches!(*key, "val" | "comment")) {
                return Err(ImportError::Element(key.to_owned()));
            }
            return self.element(&element["val"]);
        }
        if let Some([first, last]) = right["range"].as_array().map(Vec::as_slice) {
            return Ok(Values::new([(self.one(first)?, self.one(last)?)]));
        }
        if right["prefix"].is_object() {
            return self.prefix(&right["prefix"]);
        }
        self.one(right).map(Values::one)
    }

    /// The values for which a comparison with the right side holds.
    pub fn compared(&self, op: &str, right: &Value) -> Result<Values, ImportError> {
        let highest = u128::MAX >> (128 - self.bits);
        let below = |end: u128| {
            end.checked_sub(1).map_or_else(Values::default, |last| Values::new([(0, last)]))
        };
        match op {
            "==" => self.values(right),
            "!=" => Ok(self.values(right)?.complement(highest)),
            "<" => Ok(below(self.one(right)?)),
            "<=" => Ok(Values::new([(0, self.one(right)?)])),
            ">" => Ok(below(self.one(right)?.saturating_add(1)).complement(highest)),
            ">=" => Ok(Values::new([(self.one(right)?, highest)])),
            _ => Err(ImportError::Operator(op.to_owned())),
        }
    }

    fn all(&self, elements: &[Value]) -> Result<Values, ImportError> {
        let mut ranges = Vec::with_capacity(elements.len());
        for element in elements {
            step(1);
            ranges.extend_from_slice(self.element(element)?.ranges());
        }
        Ok(Values::new(ranges))
    }

    fn one(&self, value: &Value) -> Result<u128, ImportError> {
        let number = (self.parse)(value);
        let number = number.filter(|number| *number <= u128::MAX >> (128 - self.bits));
        number.ok_or_else(|| ImportError::UnknownValue(value.to_string()))
    }

    fn prefix(&self, prefix: &Value) -> Result<Values, ImportError> {
        let first = self.one(&prefix["addr"])?;
        let length = prefix["len"].as_u64().and_then(|len| u32::try_from(len).ok());
        let length = length.filter(|len| *len <= self.bits).ok_or(ImportError::PrefixLength)?;
        let free = u128::MAX.checked_shr(128 - self.bits + length).unwrap_or(0);
        Ok(Values::new([(first & !free, first | free)]))
    }
}

/// Parses a number or its name.
pub(super) fn named(names: Names) -> impl Fn(&Value) -> Option<u128> {
    move |value| match value.as_str() {
        Some(name) => names::number(names, name).map(u128::from),
        None => value.as_u64().map(u128::from),
    }
}

/// Parses an Ethernet address.
pub(super) fn mac(value: &Value) -> Option<u128> {
    let octets = value.as_str()?.split(':');
    let octets: Option<Vec<u8>> = octets.map(|it| u8::from_str_radix(it, 16).ok()).collect();
    let octets = octets.filter(|octets| octets.len() == 6)?;
    Some(octets.into_iter().fold(0, |bits, octet| bits << 8 | u128::from(octet)))
}

/// Parses an IPv4 address.
pub(super) fn address4(value: &Value) -> Option<u128> {
    value.as_str()?.parse::<Ipv4Addr>().ok().map(|address| address.to_bits().into())
}

/// Parses an IPv6 address.
pub(super) fn address6(value: &Value) -> Option<u128> {
    value.as_str()?.parse::<Ipv6Addr>().ok().map(Ipv6Addr::to_bits)
}

/// TCP flags as a number, a name, or several names (a list, or joined by `|`).
pub(super) fn flags(value: &Value) -> Result<u8, ImportError> {
    let several = value.as_array().or_else(|| value["|"].as_array());
    if let Some(several) = several {
        return several.iter().try_fold(0, |bits, one| Ok(bits | flags(one)?));
    }
    let number = named(names::TCP_FLAGS)(value).and_then(|number| u8::try_from(number).ok());
    number.ok_or_else(|| ImportError::UnknownFlag(value.to_string()))
}
