//! `Pattern`: packets with equal values in some fields, and the rule that matches them.
//!
//! Rule: a pattern and its rule match the same packets.

use super::{Address, Packet};

/// The fields of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Name in JSON and in reports.
    pub name: &'static str,
    /// Prefix lengths of the source in IPv4 and IPv6.
    source: Option<(u8, u8)>,
    dest: Option<(u8, u8)>,
    protocol: bool,
    source_port: bool,
    dest_port: bool,
    request: bool,
    message: bool,
    later: bool,
    length: bool,
    /// The pattern is too broad for a rule.
    pub is_broad: bool,
}

/// A combination of values: each field that is set must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Source prefix, with its length.
    pub source: Option<(Address, u8)>,
    dest: Option<(Address, u8)>,
    protocol: Option<u8>,
    source_port: Option<u16>,
    dest_port: Option<u16>,
    request: bool,
    message: Option<u16>,
    later: bool,
    length: Option<u32>,
}

impl Shape {
    /// All shapes, from the least to the most specific. Of equivalent patterns, the last is
    /// proposed.
    pub const ALL: &[Self] = &[
        Self { name: "protocol", protocol: true, is_broad: true, ..NONE },
        Self { name: "dest", dest: Some(WHOLE), is_broad: true, ..NONE },
        Self { name: "protocol dest/24,64", protocol: true, dest: Some((24, 64)), ..NONE },
        Self { name: "protocol dest", protocol: true, dest: Some(WHOLE), ..NONE },
        Self { name: "source/16,48", source: Some((16, 48)), ..NONE },
        Self { name: "source/24,64", source: Some((24, 64)), ..NONE },
        Self { name: "dport", protocol: true, dest_port: true, ..NONE },
        Self { name: "sport", protocol: true, source_port: true, ..NONE },
        Self { name: "fragment dest", later: true, dest: Some(WHOLE), ..NONE },
        Self { name: "message dest", protocol: true, message: true, dest: Some(WHOLE), ..NONE },
        Self { name: "dport dest", protocol: true, dest_port: true, dest: Some(WHOLE), ..NONE },
        Self { name: "sport dest", protocol: true, source_port: true, dest: Some(WHOLE), ..NONE },
        Self {
            name: "dport dest length",
            protocol: true,
            dest_port: true,
            dest: Some(WHOLE),
            length: true,
            ..NONE
        },
        Self {
            name: "request dport dest",
            protocol: true,
            request: true,
            dest_port: true,
            dest: Some(WHOLE),
            ..NONE
        },
        Self { name: "source", source: Some(WHOLE), ..NONE },
        Self {
            name: "source/24,64 dport",
            source: Some((24, 64)),
            protocol: true,
            dest_port: true,
            ..NONE
        },
        Self { name: "source dport", source: Some(WHOLE), protocol: true, dest_port: true, ..NONE },
    ];
}

impl Pattern {
    /// The pattern of a packet; `None` if the packet lacks a field.
    pub fn of(packet: &Packet, shape: &Shape) -> Option<Self> {
        if shape.request && !packet.is_request() || shape.later && !packet.is_later {
            return None;
        }
        Some(Self {
            source: given(shape.source, |lengths| block(packet.source, lengths))?,
            dest: given(shape.dest, |lengths| block(packet.dest, lengths))?,
            protocol: given(shape.protocol.then_some(()), |()| packet.protocol)?,
            source_port: given(shape.source_port.then_some(()), |()| Some(packet.ports?.0))?,
            dest_port: given(shape.dest_port.then_some(()), |()| Some(packet.ports?.1))?,
            request: shape.request,
            message: given(shape.message.then_some(()), |()| packet.message)?,
            later: shape.later,
            length: shape.length.then_some(packet.length),
        })
    }

    /// Whether a packet has the pattern.
    pub fn holds(&self, packet: &Packet) -> bool {
        let inside = |block: Option<(Address, u8)>, address: Option<Address>| {
            block.is_none_or(|(prefix, length)| {
                address.is_some_and(|address| address.prefix(length) == prefix)
            })
        };
        let same = |wanted: Option<u16>, found: Option<u16>| wanted.is_none() || wanted == found;
        inside(self.source, packet.source)
            && inside(self.dest, packet.dest)
            && (self.protocol.is_none() || self.protocol == packet.protocol)
            && same(self.source_port, packet.ports.map(|ports| ports.0))
            && same(self.dest_port, packet.ports.map(|ports| ports.1))
            && same(self.message, packet.message)
            && (!self.request || packet.is_request())
            && (!self.later || packet.is_later)
            && self.length.is_none_or(|length| length == packet.length)
    }

    /// The pattern without fields that differ between packets of one connection.
    #[must_use]
    pub fn of_whole_connections(self) -> Self {
        Self { request: false, length: None, ..self }
    }

    /// The tests of its rule as text.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if let Some(protocol) = self.protocol {
            words.push(match protocol {
                1 => "icmp".to_owned(),
                6 => "tcp".to_owned(),
                17 => "udp".to_owned(),
                58 => "icmpv6".to_owned(),
                other => format!("protocol {other}"),
            });
        }
        if self.request {
            words.push("flags syn/syn,ack".to_owned());
        }
        if let Some(message) = self.message {
            words.push(format!("type {}/{}", message >> 8, message & 0xff));
        }
        words.extend(self.source_port.map(|port| format!("sport {port}")));
        words.extend(self.dest_port.map(|port| format!("dport {port}")));
        if self.later {
            words.push("fragment later".to_owned());
        }
        words.extend(self.length.map(|length| format!("length {length}")));
        words.extend(self.source.map(|block| format!("from {}", shown(block))));
        words.extend(self.dest.map(|block| format!("to {}", shown(block))));
        words.join(" ")
    }
}

/// `Some(None)` if the field is not part of the shape; `None` if the packet lacks it.
fn given<A, T>(asked: Option<A>, find: impl FnOnce(A) -> Option<T>) -> Option<Option<T>> {
    match asked {
        None => Some(None),
        Some(asked) => find(asked).map(Some),
    }
}

fn block(address: Option<Address>, (v4, v6): (u8, u8)) -> Option<(Address, u8)> {
    let address = address?;
    let length = if address.is_ipv6 { v6 } else { v4 };
    Some((address.prefix(length), length))
}

fn shown((address, length): (Address, u8)) -> String {
    let whole = if address.is_ipv6 { WHOLE.1 } else { WHOLE.0 };
    if length == whole { address.to_string() } else { format!("{address}/{length}") }
}

const NONE: Shape = Shape {
    name: "",
    source: None,
    dest: None,
    protocol: false,
    source_port: false,
    dest_port: false,
    request: false,
    message: false,
    later: false,
    length: false,
    is_broad: false,
};
/// Prefix lengths of whole addresses.
const WHOLE: (u8, u8) = (32, 128);
