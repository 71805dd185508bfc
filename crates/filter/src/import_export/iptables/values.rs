//! Values of options: addresses, ports, numbers, TCP flags, types of ICMP.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::Family;
use crate::import_export::error::iptables::ImportError;
use crate::import_export::nft::import::names::{self, Names};

/// Parses a value; `None` if it is not valid.
pub(super) type Parse = fn(&str, Family) -> Option<Value>;

/// An address, a prefix, or a list of these: `10.0.0.0/8`, `10.0.0.0/255.0.0.0`.
pub(super) fn addresses(text: &str, family: Family) -> Option<Value> {
    let parts: Option<Vec<_>> = text.split(',').map(|part| prefix(part, family)).collect();
    let parts = parts?;
    if let [one] = &parts[..] { Some(one.clone()) } else { Some(json!({ "set": parts })) }
}

fn prefix(text: &str, family: Family) -> Option<Value> {
    let (addr, mask) = match text.split_once('/') {
        Some((addr, mask)) => (address(addr, family)?, Some(mask)),
        None => (address(text, family)?, None),
    };
    let bits = if family == Family::V4 { 32 } else { 128 };
    let len = match mask {
        None => bits,
        Some(mask) => match mask.parse::<u32>() {
            Ok(len) => len,
            Err(_) => mask_len(address(mask, family)?, bits)?,
        },
    };
    (len <= bits).then(|| json!({"prefix": {"addr": addr.to_string(), "len": len}}))
}

/// The length of a prefix with this mask, if it is one.
fn mask_len(mask: IpAddr, bits: u32) -> Option<u32> {
    let mask = match mask {
        IpAddr::V4(mask) => u128::from(mask.to_bits()) << 96,
        IpAddr::V6(mask) => mask.to_bits(),
    };
    let len = mask.leading_ones();
    (len <= bits && mask.count_ones() == len).then_some(len)
}

fn address(text: &str, family: Family) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    (address.is_ipv4() == (family == Family::V4)).then_some(address)
}

/// `10.0.0.1-10.0.0.9`, or one address.
pub(super) fn address_range(text: &str, family: Family) -> Option<Value> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (address(first, family)?, address(last, family)?);
    (first <= last).then(|| json!({"range": [first.to_string(), last.to_string()]}))
}

/// `22`, `1000:2000`, `:1023`, `1024:`.
pub(super) fn port_range(text: &str, _: Family) -> Option<Value> {
    range(text, 0xffff)
}

/// `22,80,1000:2000`.
pub(super) fn ports(text: &str, _: Family) -> Option<Value> {
    let parts: Option<Vec<_>> = text.split(',').map(|part| range(part, 0xffff)).collect();
    Some(json!({ "set": parts? }))
}

/// Bytes of the packet: `100`, `100:200`.
pub(super) fn lengths(text: &str, _: Family) -> Option<Value> {
    range(text, 0xffff)
}

fn range(text: &str, highest: u64) -> Option<Value> {
    let Some((first, last)) = text.split_once(':') else {
        return number(text, highest).map(Value::from);
    };
    let first = if first.is_empty() { 0 } else { number(first, highest)? };
    let last = if last.is_empty() { highest } else { number(last, highest)? };
    (first <= last).then(|| json!({"range": [first, last]}))
}

/// One byte, such as a TTL or a DSCP value.
pub(super) fn byte(text: &str, _: Family) -> Option<Value> {
    number(text, 0xff).map(Value::from)
}

/// A number up to `highest`, in decimal or hexadecimal with `0x`.
pub(super) fn number(text: &str, highest: u64) -> Option<u64> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.filter(|number| *number <= highest)
}

pub(super) fn mac(text: &str, _: Family) -> Option<Value> {
    let is_mac = text.split(':').count() == 6;
    is_mac.then(|| Value::from(text.to_ascii_lowercase()))
}

/// A protocol by number or name; 0 for all.
pub(super) fn protocol(text: &str) -> Option<u8> {
    if text == "all" {
        return Some(0);
    }
    named(text, names::PROTOCOLS)
}

/// Flags such as `SYN,ACK`, `ALL` or `NONE`.
pub(super) fn flags(text: &str) -> Option<u8> {
    match text {
        "ALL" => Some(0x3f),
        "NONE" => Some(0),
        _ => text.split(',').try_fold(0, |flags, name| {
            let name = name.to_ascii_lowercase();
            let known = names::number(names::TCP_FLAGS, &name)?;
            u8::try_from(known).ok().map(|flag| flags | flag)
        }),
    }
}

/// A type of ICMP and a code, such as `8`, `3/4`, `echo-request`. `None` within for any type.
pub(super) fn icmp(text: &str, family: Family) -> Option<Option<(u8, Option<u8>)>> {
    let types = if family == Family::V4 { names::ICMP_TYPES } else { names::ICMPV6_TYPES };
    match text {
        "any" | "255" if family == Family::V4 => Some(None),
        "ping" => named("echo-request", types).map(|kind| Some((kind, None))),
        "pong" => named("echo-reply", types).map(|kind| Some((kind, None))),
        _ => match text.split_once('/') {
            Some((kind, code)) => {
                let code = u8::try_from(number(code, 0xff)?).ok();
                Some(Some((named(kind, types)?, code)))
            }
            None => Some(Some((named(text, types)?, None))),
        },
    }
}

fn named(text: &str, names: Names) -> Option<u8> {
    let known = number(text, 0xff).or_else(|| names::number(names, text).map(u64::from));
    known.and_then(|number| u8::try_from(number).ok())
}

/// The error for a value.
pub(super) fn invalid(option: &str, value: String, expected: &'static str) -> ImportError {
    ImportError::Value { option: option.to_owned(), value, expected }
}
