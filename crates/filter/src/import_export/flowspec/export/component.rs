//! Components of routes: a rule's tests of one family.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::import_export::error::flowspec::ExportError;
use crate::import_export::flowspec::import::{HEADER, SHORTEST};
use crate::language::text::bits;
use crate::{Field, Values, model};

/// The fields that a rule tests in packets of one family, without the EtherType.
type Fields<'a> = [(Field, Cow<'a, Values>)];

/// The components of the routes that together match the packets of the tests; empty if no packet
/// can match.
pub(super) fn routes(fields: &Fields<'_>, is_v6: bool) -> Result<Vec<Vec<String>>, ExportError> {
    let Some(protocols) = protocols(fields, is_v6)? else { return Ok(Vec::new()) };
    let mut all = vec![Vec::new()];
    for (field, values) in fields {
        let one_of = components(*field, values, is_v6)?;
        let joined = all.len().saturating_mul(one_of.len());
        if joined > MAX_ROUTES {
            return Err(ExportError::TooManyAddresses(MAX_ROUTES));
        }
        let with = |route: &Vec<String>| {
            let route = route.clone();
            one_of.iter().map(move |more| [&route[..], &more[..]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let any = if is_v6 { "destination ::/0; " } else { "destination 0.0.0.0/0; " };
    let has_address = fields.iter().any(|(field, _)| ADDRESSES.contains(field));
    for route in &mut all {
        route.extend(protocols.clone());
        let is_prefix = |it: &String| it.starts_with("destination ") || it.starts_with("source ");
        // A match of a header's field needs the header, which a short frame may not have.
        let is_read = !has_address || route.iter().any(|it| !it.starts_with("packet-length "));
        // A route without a prefix matches IPv4.
        if is_v6 && !route.iter().any(is_prefix) || !is_read {
            route.push(any.to_owned());
        }
    }
    Ok(all)
}

/// The component for the protocol, unless ports, flags or ICMP types imply it. `None` if no packet
/// can have all of the fields.
fn protocols(fields: &Fields<'_>, is_v6: bool) -> Result<Option<Vec<String>>, ExportError> {
    let has = |wanted: &[Field]| fields.iter().any(|(field, _)| wanted.contains(field));
    let asked = fields.iter().find(|(field, _)| *field == Field::Protocol);
    let mut possible =
        asked.map_or(Values::range(0_u8, 0xff_u8), |(_, it)| it.clone().into_owned());
    let mut implied = Values::range(0_u8, 0xff_u8);
    let has_ports = has(&[Field::SourcePort, Field::DestPort]);
    for (asks, has_it, said) in [
        (has_ports, &WITH_PORTS[..], &TCP_AND_UDP[..]),
        (has(&[Field::TcpFlags]), &[6], &[6]),
        (has(&[Field::Icmp]), if is_v6 { &[58] } else { &[1] }, if is_v6 { &[58] } else { &[1] }),
    ] {
        if asks {
            possible = possible.intersection(&numbers(has_it));
            implied = implied.intersection(&numbers(said));
        }
    }
    if possible.is_empty() {
        return Ok(None);
    }
    if has_ports && !numbers(&TCP_AND_UDP).covers(&possible) {
        return Err(ExportError::PortsOfProtocol);
    }
    let is_said =
        asked.is_none() || possible == implied && possible != Values::range(0_u8, 0xff_u8);
    let said = || format!("protocol {}; ", listed(&possible, 0xff));
    Ok(Some(if is_said { Vec::new() } else { vec![said()] }))
}

/// The components for a field: one of these lists must match.
fn components(field: Field, values: &Values, is_v6: bool) -> Result<Vec<Vec<String>>, ExportError> {
    let one = |text: String| Ok(vec![vec![text]]);
    match field {
        Field::Source4 | Field::Source6 => Ok(prefixes("source", values, is_v6)),
        Field::Dest4 | Field::Dest6 => Ok(prefixes("destination", values, is_v6)),
        // See `protocols`.
        Field::Protocol => Ok(vec![Vec::new()]),
        Field::SourcePort => one(format!("source-port {}; ", listed(values, 0xffff))),
        Field::DestPort => one(format!("destination-port {}; ", listed(values, 0xffff))),
        Field::Dscp => one(format!("dscp {}; ", listed(values, 63))),
        Field::TcpFlags => one(format!("tcp-flags {}; ", flags(values))),
        Field::Fragment => {
            let kinds = fragments(values);
            let all = kinds.is_empty().then(Vec::new);
            Ok(all.unwrap_or_else(|| vec![vec![format!("fragment {}; ", bracketed(&kinds))]]))
        }
        Field::Length => Ok(vec![lengths(values)?]),
        Field::Icmp => Ok(messages(values)),
        _ => Err(ExportError::Field(model::name(field))),
    }
}

fn prefixes(word: &str, values: &Values, is_v6: bool) -> Vec<Vec<String>> {
    let bits = if is_v6 { 128 } else { 32 };
    let address = |bits: u128| match is_v6 {
        true => Ipv6Addr::from_bits(bits).to_string(),
        false => Ipv4Addr::from_bits(bits as u32).to_string(),
    };
    // Any address matches.
    if *values == Values::range(0_u8, u128::MAX >> (128 - bits)) {
        return vec![Vec::new()];
    }
    let all = values.prefixes(bits).take(MAX_ROUTES + 1);
    all.map(|(first, length)| vec![format!("{word} {}/{length}; ", address(first))]).collect()
}

/// Ranges as terms, in brackets where there are several.
fn listed(values: &Values, highest: u128) -> String {
    let terms = values.ranges().iter().map(|(first, last)| match (*first, *last) {
        (first, last) if first == last => format!("={first}"),
        (first, last) if last >= highest => format!(">={first}"),
        (0, last) => format!("<={last}"),
        (first, last) => format!(">={first}&<={last}"),
    });
    bracketed(&terms.collect::<Vec<_>>())
}

fn bracketed(terms: &[String]) -> String {
    match terms {
        [one] => one.clone(),
        _ => format!("[ {} ]", terms.join(" ")),
    }
}

/// The flags as terms: bits that are set and bits that are clear.
fn flags(values: &Values) -> String {
    let names = |bits: u16| {
        let set = FLAGS.iter().enumerate().filter(|(place, _)| bits & 1 << place != 0);
        set.map(|(_, name)| *name).collect::<Vec<_>>().join("+")
    };
    let terms = bits::items(values).into_iter().map(|(mask, value)| {
        let (set, clear) = (value & mask, mask & !value);
        let set = (set != 0).then(|| format!("={}", names(set)));
        let clear = (clear != 0).then(|| format!("!{}", names(clear)));
        match mask {
            // Any flags match, but the packet must have some.
            0 => "fin !fin".to_owned(),
            _ => set.into_iter().chain(clear).collect::<Vec<_>>().join("&"),
        }
    });
    bracketed(&terms.collect::<Vec<_>>())
}

fn fragments(values: &Values) -> Vec<String> {
    let names = ["not-a-fragment", "first-fragment", "is-fragment"];
    let some = names.iter().enumerate().filter(|(kind, _)| values.contains(*kind as u128));
    some.map(|(_, name)| (*name).to_owned()).collect()
}

/// The component for the lengths of packets in frames of these lengths; none if any length
/// matches.
fn lengths(values: &Values) -> Result<Vec<String>, ExportError> {
    let filled = Values::new([(0, SHORTEST + HEADER)]);
    let short = values.intersection(&filled);
    if !short.is_empty() && short != filled {
        return Err(ExportError::PaddedLength(SHORTEST + HEADER));
    }
    let longest = 0xffff + HEADER;
    let lengths = values.ranges().iter().filter(|(first, _)| *first <= longest);
    let lengths = Values::new(
        lengths.map(|(first, last)| (first.saturating_sub(HEADER), (*last).min(longest) - HEADER)),
    );
    match &lengths {
        none if none.is_empty() => Err(ExportError::NoPacket),
        all if *all == Values::range(0_u8, 0xffff_u16) => Ok(Vec::new()),
        some => Ok(vec![format!("packet-length {}; ", listed(some, 0xffff))]),
    }
}

/// Types and codes of ICMP; types with equal codes share one list.
fn messages(values: &Values) -> Vec<Vec<String>> {
    let mut groups: Vec<(Values, Vec<u128>)> = Vec::new();
    for kind in 0..=0xff_u128 {
        let of_kind = values.intersection(&Values::range(kind << 8, kind << 8 | 0xff));
        let codes = Values::new(of_kind.ranges().iter().map(|(a, b)| (a & 0xff, b & 0xff)));
        match groups.iter_mut().find(|(known, _)| *known == codes) {
            _ if codes.is_empty() => {}
            Some((_, kinds)) => kinds.push(kind),
            None => groups.push((codes, vec![kind])),
        }
    }
    let group = |(codes, kinds): (Values, Vec<u128>)| {
        let kinds = Values::new(kinds.into_iter().map(|kind| (kind, kind)));
        let mut list = vec![format!("icmp-type {}; ", listed(&kinds, 0xff))];
        if codes != Values::range(0_u8, 0xff_u8) {
            list.push(format!("icmp-code {}; ", listed(&codes, 0xff)));
        }
        list
    };
    groups.into_iter().map(group).collect()
}

fn numbers(of: &[u128]) -> Values {
    Values::new(of.iter().map(|number| (*number, *number)))
}

const ADDRESSES: [Field; 4] = [Field::Source4, Field::Dest4, Field::Source6, Field::Dest6];
/// TCP flags by bit, from the lowest.
const FLAGS: [&str; 8] = ["fin", "syn", "rst", "push", "ack", "urgent", "ece", "cwr"];
/// Protocols whose ports the filter reads.
const WITH_PORTS: [u128; 5] = [6, 17, 33, 132, 136];
/// Protocols whose ports routes match.
const TCP_AND_UDP: [u128; 2] = [6, 17];
/// The most routes of one rule.
const MAX_ROUTES: usize = 1000;
