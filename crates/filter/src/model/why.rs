//! Texts that explain why a rule did not match.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Judged;
use crate::model::headers::{Layer, extension_names};
use crate::{Base, Family, Field, PacketFields, Ruleset, Side, Test, Values};

/// A rule that did not match, and its first test that failed, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    pub rule: usize,
    pub test: usize,
}

/// Ranges that are listed; the others are counted.
const LISTED: usize = 4;

impl Miss {
    /// The explanation, such as `dport is 80, not 443 to 445`.
    pub fn words(&self, rules: &Ruleset, judged: &Judged) -> String {
        let packet = &judged.layer.fields;
        match &rules.rules[self.rule].tests[self.test] {
            Test::Is(field, values) => missed(packet, *field, &listed(*field, values)),
            Test::Address { side, addresses, negated } => {
                let field = side.field(packet.family());
                let values =
                    if packet.family() == Family::Ipv6 { &addresses.v6 } else { &addresses.v4 };
                let wanted = match (&addresses.name, &addresses.parts[..]) {
                    (Some(name), _) => format!("in the set `{name}`"),
                    (None, []) => listed(field, values),
                    (None, parts) => format!("in {{{}}}", parts.join(", ")),
                };
                if packet.field(field).is_none() {
                    let end = if *side == Side::Source { "source" } else { "destination" };
                    return format!("no {end} address");
                }
                if *negated {
                    format!("{} is {wanted}", with_value(packet, field))
                } else {
                    missed(packet, field, &wanted)
                }
            }
            Test::Interface { names, negated } => {
                let not = if *negated { "" } else { "not " };
                format!("interface is {not}{}", names.join(", "))
            }
            Test::Payload(payload) => {
                let from = match payload.from {
                    Base::Frame => "the frame",
                    Base::Network => "the network header",
                    Base::Transport => "the transport header",
                };
                let length = payload.mask.len();
                let others = if payload.negated { "these" } else { "others" };
                format!("{length} bytes at {} of {from} are {others}, or missing", payload.offset)
            }
            Test::Expression(expression) => format!("not `{}`", expression.text),
        }
    }
}

impl Layer {
    /// The fields as text, such as `source 10.0.0.1, destination port 53`.
    pub fn words(&self) -> String {
        let known = Field::ALL.into_iter().filter_map(|field| {
            let value = self.fields.field(field)?;
            Some(format!("{} {}", name(field), text(field, value)))
        });
        known.collect::<Vec<_>>().join(", ")
    }
}

fn missed(packet: &PacketFields, field: Field, wanted: &str) -> String {
    if packet.field(field).is_none() {
        return format!("no {}", name(field));
    }
    format!("{}, not {wanted}", with_value(packet, field))
}

/// A field with its value, such as `ttl is 64`.
fn with_value(packet: &PacketFields, field: Field) -> String {
    let value = packet.field(field).unwrap_or_default();
    format!("{} is {}", name(field), text(field, value))
}

fn listed(field: Field, values: &Values) -> String {
    let mut words = String::new();
    for (place, (first, last)) in values.ranges().iter().take(LISTED).enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        let _ = write!(words, "{separator}{}", text(field, *first));
        if first != last {
            let _ = write!(words, " to {}", text(field, *last));
        }
    }
    match values.ranges().len().checked_sub(LISTED) {
        None | Some(0) if values.is_empty() => "anything".to_owned(),
        None | Some(0) => words,
        Some(more) => format!("{words} or {more} more"),
    }
}

/// The name of a field in explanations.
pub const fn name(field: Field) -> &'static str {
    match field {
        Field::Interface => "interface",
        Field::Queue => "queue",
        Field::Length => "length",
        Field::SourceMac => "source MAC",
        Field::DestMac => "destination MAC",
        Field::EtherType => "EtherType",
        Field::Vlan => "VLAN",
        Field::InnerVlan => "inner VLAN",
        Field::Source4 | Field::Source6 => "source",
        Field::Dest4 | Field::Dest6 => "destination",
        Field::Ttl => "TTL",
        Field::Dscp => "DSCP",
        Field::Fragment => "fragment",
        Field::Extensions => "extension headers",
        Field::Protocol => "protocol",
        Field::SourcePort => "source port",
        Field::DestPort => "destination port",
        Field::TcpFlags => "TCP flags",
        Field::Icmp => "ICMP type and code",
    }
}

/// The value of a field as text.
pub fn text(field: Field, value: u128) -> String {
    match field {
        Field::Source4 | Field::Dest4 => Ipv4Addr::from_bits(value as u32).to_string(),
        Field::Source6 | Field::Dest6 => Ipv6Addr::from_bits(value).to_string(),
        Field::SourceMac | Field::DestMac => {
            let bytes = (value as u64).to_be_bytes();
            bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
        }
        Field::EtherType => format!("{value:#06x}"),
        Field::TcpFlags => format!("{value:#04x}"),
        Field::Icmp => format!("{}/{}", value >> 8, value & 0xff),
        Field::Fragment => {
            let names = ["whole", "first", "later"];
            names.get(value as usize).copied().unwrap_or("unknown").to_owned()
        }
        Field::Extensions => match &extension_names(value)[..] {
            [] => "none".to_owned(),
            names => names.join(" and "),
        },
        _ => value.to_string(),
    }
}
