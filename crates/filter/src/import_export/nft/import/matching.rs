//! A match statement → tests.

use std::sync::Arc;

use serde_json::Value;

use super::key::Key;
use super::listing::Listing;
use super::names;
use super::number::{self, Reader};
use super::subject::{Family, Number, Protocol, Subject};
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::import_export::error::NoMatch;
use crate::import_export::error::nft::ImportError;
use crate::import_export::icmp;
use crate::{Addresses, Field, Payload, Side, Test, Values};

/// Adds the tests of a match statement.
pub(super) fn add(
    body: &Value,
    tests: &mut Conjunction,
    listing: &Listing,
    key: &Key,
) -> Result<(), ImportError> {
    let op = body["op"].as_str().unwrap_or("==");
    let (subject, right) = (Subject::read(&body["left"])?, &body["right"]);
    let read =
        |parse: number::Parse<'_>, bits| Reader { listing, key, parse, bits }.compared(op, right);
    match subject {
        Subject::Field(number) => {
            let bits = number.field.bits();
            let values = match number.field {
                Field::SourceMac | Field::DestMac => read(&number::mac, bits)?,
                _ => read(&number::named(number.names), bits)?,
            };
            add_number(number, &values, tests)
        }
        Subject::Icmp { is_v6, is_code } => {
            let names = match (is_v6, is_code) {
                (false, false) => names::ICMP_TYPES,
                (false, true) => names::ICMP_CODES,
                (true, false) => names::ICMPV6_TYPES,
                (true, true) => names::ICMPV6_CODES,
            };
            let values = read(&number::named(names), 8)?;
            tests.require_ether_type(if is_v6 { IPV6 } else { IPV4 })?;
            tests.require(Field::Protocol, &Values::one(if is_v6 { 58_u8 } else { 1 }))?;
            let values =
                if is_code { icmp::with_codes(&values) } else { icmp::with_types(&values) };
            Ok(tests.require(Field::Icmp, &values)?)
        }
        Subject::Address(side, family) => {
            let (parse, bits): (number::Parse<'_>, _) = match family {
                Family::V4 => (&number::address4, 32),
                Family::V6 => (&number::address6, 128),
            };
            // The values are not complemented, so that a set keeps its name.
            let (op, negated) = if op == "!=" { ("==", true) } else { (op, false) };
            let values = Reader { listing, key, parse, bits }.compared(op, right)?;
            add_address(side, family, (values, negated), right, tests)
        }
        Subject::TcpFlags(mask) => {
            tests.require(Field::Protocol, &Values::one(6_u8))?;
            Ok(tests.require(Field::TcpFlags, &tcp_flags(mask, op, right)?)?)
        }
        Subject::FragmentOffset => {
            tests.require_ether_type(IPV4)?;
            let is_later = match (op, right.as_u64()) {
                ("!=", Some(0)) | (">", Some(0)) => true,
                ("==", Some(0)) => false,
                _ => return Err(ImportError::FragmentOffset),
            };
            let values = if is_later { Values::one(2_u8) } else { Values::range(0_u8, 1_u8) };
            Ok(tests.require(Field::Fragment, &values)?)
        }
        Subject::NextHeader => next_header(&read(&number::named(names::PROTOCOLS), 8)?, tests),
        Subject::Interface => interface(op, right).map(|test| tests.push(test)),
        Subject::Raw { base, offset, bytes, mask } => {
            let payload = raw(bytes, mask, (op, right))?;
            tests.push(Test::Payload(Payload { from: base, offset, ..payload }));
            Ok(())
        }
    }
}

fn add_number(number: Number, values: &Values, tests: &mut Conjunction) -> Result<(), ImportError> {
    if let Some(ether_type) = number.ether_type {
        tests.require_ether_type(ether_type)?;
    }
    match number.protocol {
        Protocol::Any => {}
        Protocol::One(protocol) => tests.require(Field::Protocol, &Values::one(protocol))?,
        Protocol::WithPorts => {
            let ports = Values::new(PORTS.map(|protocol| (protocol, protocol)));
            let known = tests.values(Field::Protocol).is_some_and(|known| ports.covers(known));
            if !known {
                return Err(ImportError::PortsOfUnknownProtocol);
            }
        }
    }
    let tags = Values::new([(0x8100, 0x8100), (0x88a8, 0x88a8)]);
    if number.field == Field::EtherType && values.ranges().len() == 1 && tags.covers(values) {
        return Err(ImportError::TagEtherType);
    }
    let highest = number.field.highest();
    let shifted = values.ranges().iter().map(|(first, last)| {
        (first.saturating_add(number.more), last.saturating_add(number.more).min(highest))
    });
    Ok(tests.require(number.field, &Values::new(shifted))?)
}

fn add_address(
    side: Side,
    family: Family,
    (values, negated): (Values, bool),
    right: &Value,
    tests: &mut Conjunction,
) -> Result<(), ImportError> {
    if values.is_empty() && !negated {
        return Err(NoMatch.into());
    }
    // Packets of the other family have no such address, so a negated match excludes them too.
    tests.require_ether_type(if family == Family::V4 { IPV4 } else { IPV6 })?;
    let name = right.as_str().and_then(|text| text.strip_prefix('@')).map(str::to_owned);
    let (v4, v6) = match family {
        Family::V4 => (values, Values::default()),
        Family::V6 => (Values::default(), values),
    };
    tests.push(Test::Address {
        side,
        addresses: Arc::new(Addresses { name, v4, v6, ..Addresses::default() }),
        negated,
    });
    Ok(())
}

fn tcp_flags(mask: Option<u8>, op: &str, right: &Value) -> Result<Values, ImportError> {
    let under = |mask: u8, value: u8| Values::masked(mask.into(), value.into(), 0xff);
    let all = 0xff;
    match (op, mask) {
        // Any of the flags is set.
        ("in", None) => Ok(under(number::flags(right)?, 0).complement(all)),
        // None of the flags is set.
        ("!", None) => Ok(under(number::flags(right)?, 0)),
        ("==" | "!=", mask) => {
            let one = |value: &Value| {
                Ok::<_, ImportError>(under(mask.unwrap_or(0xff), number::flags(value)?))
            };
            let values = match right["set"].as_array() {
                Some(set) => set.iter().try_fold(Values::default(), |all, value| {
                    one(value).map(|one: Values| all.union(&one))
                })?,
                None => one(right)?,
            };
            Ok(if op == "==" { values } else { values.complement(all) })
        }
        _ => Err(ImportError::Operator(op.to_owned())),
    }
}

/// Adds the test of a next header. It is the protocol if there are no extension headers.
fn next_header(values: &Values, tests: &mut Conjunction) -> Result<(), ImportError> {
    if EXTENSIONS.into_iter().any(|header| values.contains(header)) {
        return Err(ImportError::ExtensionHeader);
    }
    tests.require_ether_type(IPV6)?;
    tests.require(Field::Extensions, &Values::one(0_u8))?;
    Ok(tests.require(Field::Protocol, values)?)
}

fn interface(op: &str, right: &Value) -> Result<Test, ImportError> {
    let negated = op == "!=";
    let names = right["set"].as_array().map_or(std::slice::from_ref(right), Vec::as_slice);
    let names: Option<Vec<_>> = names.iter().map(Value::as_str).collect();
    match names {
        Some(names)
            if matches!(op, "==" | "!=") && !names.iter().any(|it| it.contains(['*', '@'])) =>
        {
            Ok(Test::Interface { names: names.into_iter().map(str::to_owned).collect(), negated })
        }
        _ => Err(ImportError::InterfacePattern),
    }
}

fn raw(
    bytes: usize,
    mask: Option<u64>,
    (op, right): (&str, &Value),
) -> Result<Payload, ImportError> {
    let value = right.as_u64().filter(|_| matches!(op, "==" | "!="));
    let value = value.ok_or(ImportError::RawComparison)?;
    let tail = |number: u64| number.to_be_bytes()[8 - bytes..].to_vec();
    let whole = u64::MAX >> (64 - 8 * bytes as u32);
    let (mask, value) = (mask.unwrap_or(whole), value);
    if mask > whole || value & !mask != 0 {
        return Err(NoMatch.into());
    }
    let from = crate::Base::Frame;
    Ok(Payload { from, offset: 0, mask: tail(mask), value: tail(value), negated: op == "!=" })
}

/// Protocols with ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const PORTS: [u128; 5] = [6, 17, 33, 132, 136];
/// Headers that another header follows.
const EXTENSIONS: [u128; 6] = [0, 43, 44, 51, 60, 135];
