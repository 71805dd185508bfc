//! A packet as layers of named fields, each with its bytes.
//!
//! Rule: any bytes have a dissection: a truncated header ends the layers, an unknown one is
//! payload, and every byte of the packet belongs to exactly one field. Names are short and stable
//! (`ipv4.ttl`), because people search for them.
//! Not here: comparing packets, building them.

mod arp;
mod ethernet;
mod icmp;
mod ipv4;
mod ipv6;
mod reader;
mod tcp;
#[cfg(test)]
mod tests;
mod tunnel;
mod udp;

use std::fmt;
use std::ops::Range;

use crate::{EtherType, IpProtocol};
use reader::Reader;

/// A dissected packet. Layers are in the order of bytes; inner layers of a tunnel follow its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dissection {
    pub layers: Vec<Layer>,
    /// One line, as packet sniffers print it.
    pub summary: String,
    /// A header continues after the last byte.
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Name: `eth`, `vlan`, `ipv4`, …; a second layer of one name is `ipv4#2`.
    pub name: String,
    pub range: Range<usize>,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub range: Range<usize>,
    /// The value in the usual notation: dotted addresses, decimal ports.
    pub value: String,
}

/// A field and the layer that it is in; displays as `ipv4.ttl`.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub layer: &'a Layer,
    pub field: &'a Field,
}

/// Dissects an Ethernet frame.
pub fn dissect(packet: &[u8]) -> Dissection {
    let mut reader = Reader::new(packet);
    let mut next = Some(Next::Ethernet);
    while let Some(header) = next {
        next = header.read(&mut reader);
    }
    reader.finish()
}

impl Dissection {
    /// The field that the byte at `offset` belongs to.
    pub fn field_at(&self, offset: usize) -> Option<Place<'_>> {
        let layer = self.layers.iter().find(|layer| layer.range.contains(&offset))?;
        let field = layer.fields.iter().find(|field| field.range.contains(&offset))?;
        Some(Place { layer, field })
    }

    /// Names of `len` bytes from `offset`: `ipv4.src`, `eth.src+2`, `eth.dst to eth.src`.
    pub fn span(&self, offset: usize, len: usize) -> String {
        let Some(first) = self.field_at(offset) else { return format!("byte {offset}") };
        let last = self.field_at(offset + len.saturating_sub(1));
        let inside = match offset - first.field.range.start {
            0 => first.to_string(),
            inner => format!("{first}+{inner}"),
        };
        match last {
            Some(last) if last.field.range != first.field.range => format!("{inside} to {last}"),
            _ => inside,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.layer.name, self.field.name)
    }
}

/// The kind of the bytes after a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Ethernet,
    /// Header with this EtherType, of an Ethernet header or a tunnel.
    EtherType(EtherType),
    /// Header with this protocol number; `v6` chooses between the two ICMPs.
    Protocol {
        number: IpProtocol,
        v6: bool,
    },
    Vxlan,
    Geneve,
}

impl Next {
    /// Reads one header. `None`: the rest is payload, or the packet has ended.
    fn read(self, reader: &mut Reader<'_>) -> Option<Self> {
        match self {
            Self::Ethernet => ethernet::frame(reader),
            Self::EtherType(number) => match number {
                EtherType::IPV4 => ipv4::header(reader),
                EtherType::IPV6 => ipv6::header(reader),
                EtherType::ARP => arp::packet(reader),
                EtherType::VLAN | EtherType::SERVICE_VLAN | EtherType::LEGACY_VLAN => {
                    ethernet::tag(reader)
                }
                EtherType::BRIDGED => ethernet::frame(reader),
                _ => None,
            },
            Self::Protocol { number, v6 } => match number {
                IpProtocol::ICMP if !v6 => icmp::v4(reader),
                IpProtocol::ICMPV6 if v6 => icmp::v6(reader),
                IpProtocol::TCP => tcp::segment(reader),
                IpProtocol::UDP => udp::datagram(reader),
                IpProtocol::GRE => tunnel::gre(reader),
                IpProtocol::IN_IPV4 => ipv4::header(reader),
                IpProtocol::IN_IPV6 => ipv6::header(reader),
                _ => reader.other_protocol(number),
            },
            Self::Vxlan => tunnel::vxlan(reader),
            Self::Geneve => tunnel::geneve(reader),
        }
    }
}
