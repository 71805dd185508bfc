//! Options that match, and the statements that they become.

use serde_json::{Value, json};

use super::Family;
use super::reader::{Reader, matched};
use super::values::{self, Parse, invalid};
use crate::import_export::error::iptables::ImportError;

/// What an option is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Protocol,
    /// A field of the family's header.
    Network(&'static str, &'static str, Parse),
    Interface,
    /// `sport` or `dport`.
    Port(&'static str, &'static str, Parse),
    EitherPort,
    Flags,
    Syn,
    Fragment,
    Icmp(Family),
    State,
    Mac,
    Length,
    /// The operator of a comparison of the TTL or hop limit.
    Ttl(&'static str),
    Comment,
}

/// What an option is about; `None` for one that is not supported.
pub(super) fn kind(option: &str) -> Option<Kind> {
    OPTIONS.iter().find(|(names, _)| names.contains(&option)).map(|(_, kind)| *kind)
}

/// Adds the statements of an option.
pub(super) fn add(
    rule: &mut Reader,
    option: &str,
    kind: Kind,
    is_negated: bool,
) -> Result<(), ImportError> {
    let op = if is_negated { "!=" } else { "==" };
    let refuse = || Err(ImportError::Negation(option.to_owned()));
    match kind {
        Kind::Protocol => protocol(rule, option, op),
        Kind::Network(field, expected, parse) => {
            let value = rule.parsed(option, expected, parse)?;
            rule.matches(payload(ip(rule.family), field), op, value);
            Ok(())
        }
        Kind::Interface => {
            let name = rule.value(option)?;
            match name.strip_suffix('+') {
                Some("") if !is_negated => {}
                // The shared translation refuses patterns of names.
                Some(stem) => rule.matches(meta("iifname"), op, format!("{stem}*").into()),
                None => rule.matches(meta("iifname"), op, name.into()),
            }
            Ok(())
        }
        Kind::Port(field, expected, parse) => {
            check_ports(rule, option)?;
            let value = rule.parsed(option, expected, parse)?;
            rule.matches(payload("th", field), op, value);
            Ok(())
        }
        Kind::EitherPort => either_port(rule, option, is_negated),
        Kind::Flags => tcp_flags(rule, option, op),
        Kind::Syn => {
            rule.matches(flags_under(FIN | SYN | RST | ACK), op, SYN.into());
            Ok(())
        }
        Kind::Fragment => {
            let offset = json!({"&": [payload("ip", "frag-off"), 0x1fff]});
            rule.matches(offset, if is_negated { "==" } else { "!=" }, 0.into());
            Ok(())
        }
        Kind::Icmp(family) => icmp(rule, option, family, op),
        Kind::State => state(rule, option, if is_negated { "!" } else { "in" }),
        Kind::Mac => {
            let value = rule.parsed(option, "an Ethernet address", values::mac)?;
            rule.matches(payload("ether", "saddr"), op, value);
            Ok(())
        }
        Kind::Length => {
            let value = rule.parsed(option, "a length or FIRST:LAST", values::lengths)?;
            rule.matches(meta("length"), op, value);
            Ok(())
        }
        Kind::Ttl(_) if is_negated && option != "--ttl-eq" && option != "--hl-eq" => refuse(),
        Kind::Ttl(compared) => {
            let value = rule.parsed(option, "a number up to 255", values::byte)?;
            let field = if rule.family == Family::V4 { "ttl" } else { "hoplimit" };
            let op = if is_negated { op } else { compared };
            rule.matches(payload(ip(rule.family), field), op, value);
            Ok(())
        }
        Kind::Comment if is_negated => refuse(),
        Kind::Comment => rule.value(option).map(drop),
    }
}

fn protocol(rule: &mut Reader, option: &str, op: &str) -> Result<(), ImportError> {
    let value = rule.value(option)?;
    let Some(number) = values::protocol(&value) else {
        return Err(invalid(option, value, "the name or number of a protocol"));
    };
    match (number, op) {
        (0, "==") => return Ok(()),
        (0, _) => return Err(ImportError::Negation(option.to_owned())),
        (_, "==") => rule.protocol = Some(number),
        _ => {}
    }
    rule.matches(meta("l4proto"), op, number.into());
    Ok(())
}

fn either_port(rule: &mut Reader, option: &str, is_negated: bool) -> Result<(), ImportError> {
    check_ports(rule, option)?;
    let value = rule.parsed(option, PORTS, values::ports)?;
    let both = ["sport", "dport"].map(|field| payload("th", field));
    if is_negated {
        both.into_iter().for_each(|field| rule.matches(field, "!=", value.clone()));
    } else {
        rule.any_of(both.into_iter().map(|it| matched(it, "==", value.clone())).collect());
    }
    Ok(())
}

/// Ports need a protocol that has some.
fn check_ports(rule: &Reader, option: &str) -> Result<(), ImportError> {
    let has_ports = rule.protocol.is_some_and(|protocol| [6, 17, 33, 132, 136].contains(&protocol));
    if has_ports { Ok(()) } else { Err(ImportError::Ports(option.to_owned())) }
}

/// `--tcp-flags MASK FLAGS`
fn tcp_flags(rule: &mut Reader, option: &str, op: &str) -> Result<(), ImportError> {
    let mut flags = || {
        let value = rule.value(option)?;
        values::flags(&value).ok_or_else(|| invalid(option, value, "flags such as SYN,ACK"))
    };
    let (mask, set) = (flags()?, flags()?);
    rule.matches(flags_under(mask), op, set.into());
    Ok(())
}

fn flags_under(mask: u8) -> Value {
    json!({"&": [payload("tcp", "flags"), mask]})
}

fn icmp(rule: &mut Reader, option: &str, family: Family, op: &str) -> Result<(), ImportError> {
    let value = rule.value(option)?;
    let Some(kind) = values::icmp(&value, family).filter(|_| family == rule.family) else {
        return Err(invalid(option, value, "the name or number of a type, or TYPE/CODE"));
    };
    let protocol = if family == Family::V4 { "icmp" } else { "icmpv6" };
    match (kind, op) {
        (Some((kind, None)), _) => rule.matches(payload(protocol, "type"), op, kind.into()),
        (Some((kind, Some(code))), "==") => {
            rule.matches(payload(protocol, "type"), op, kind.into());
            rule.matches(payload(protocol, "code"), op, code.into());
        }
        (None, "==") => {}
        _ => return Err(ImportError::Negation(option.to_owned())),
    }
    Ok(())
}

/// `--state NEW`, `--ctstate RELATED,ESTABLISHED`
fn state(rule: &mut Reader, option: &str, op: &str) -> Result<(), ImportError> {
    let value = rule.value(option)?;
    let states: Vec<_> = value.split(',').map(str::to_ascii_lowercase).collect();
    if states.iter().any(|state| !STATES.contains(&state.as_str())) {
        return Err(invalid(option, value, "NEW, ESTABLISHED, RELATED, INVALID or UNTRACKED"));
    }
    rule.matches(json!({"ct": {"key": "state"}}), op, json!(states));
    Ok(())
}

fn ip(family: Family) -> &'static str {
    match family {
        Family::V4 => "ip",
        Family::V6 => "ip6",
    }
}

fn payload(protocol: &str, field: &str) -> Value {
    json!({"payload": {"protocol": protocol, "field": field}})
}

fn meta(key: &str) -> Value {
    json!({"meta": {"key": key}})
}

const STATES: [&str; 5] = ["new", "established", "related", "invalid", "untracked"];

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

const ADDRESS: &str = "an address or prefix of the family";
const RANGE: &str = "FIRST-LAST, two addresses of the family";
const PORT: &str = "a port or FIRST:LAST";
const PORTS: &str = "ports and ranges FIRST:LAST, with commas between them";

const OPTIONS: &[(&[&str], Kind)] = &[
    (&["-p", "--protocol", "--proto"], Kind::Protocol),
    (&["-s", "--source", "--src"], Kind::Network("saddr", ADDRESS, values::addresses)),
    (&["-d", "--destination", "--dst"], Kind::Network("daddr", ADDRESS, values::addresses)),
    (&["--src-range"], Kind::Network("saddr", RANGE, values::address_range)),
    (&["--dst-range"], Kind::Network("daddr", RANGE, values::address_range)),
    (&["--dscp"], Kind::Network("dscp", "a number up to 63", values::byte)),
    (&["-i", "--in-interface"], Kind::Interface),
    (&["--sport", "--source-port"], Kind::Port("sport", PORT, values::port_range)),
    (&["--dport", "--destination-port"], Kind::Port("dport", PORT, values::port_range)),
    (&["--sports", "--source-ports"], Kind::Port("sport", PORTS, values::ports)),
    (&["--dports", "--destination-ports"], Kind::Port("dport", PORTS, values::ports)),
    (&["--ports"], Kind::EitherPort),
    (&["--tcp-flags"], Kind::Flags),
    (&["--syn"], Kind::Syn),
    (&["-f", "--fragment"], Kind::Fragment),
    (&["--icmp-type"], Kind::Icmp(Family::V4)),
    (&["--icmpv6-type"], Kind::Icmp(Family::V6)),
    (&["--state", "--ctstate"], Kind::State),
    (&["--mac-source"], Kind::Mac),
    (&["--length"], Kind::Length),
    (&["--ttl-eq", "--hl-eq"], Kind::Ttl("==")),
    (&["--ttl-lt", "--hl-lt"], Kind::Ttl("<")),
    (&["--ttl-gt", "--hl-gt"], Kind::Ttl(">")),
    (&["--comment"], Kind::Comment),
];
