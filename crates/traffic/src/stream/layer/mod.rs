//! `Layer`: one protocol of a stream's frames, with the fields that can be set.
//!
//! Each layer has a file: its fields as written in a description, the table of their places, and
//! their layout as bytes. A field without a value is derived, or has its documented default.

mod arp;
mod ethernet;
mod extension;
mod gre;
mod icmp;
mod ipv4;
mod ipv6;
mod payload;
mod raw;
mod tcp;
mod udp;
mod vxlan;

use packet::{EtherType, IpProtocol};
use serde::{Deserialize, Serialize};

pub use arp::Arp;
pub use ethernet::{Ethernet, Vlan};
pub use extension::{Fragment, Options, Routing};
pub use gre::Gre;
pub use icmp::{Icmp, Solicitation};
pub use ipv4::Ipv4;
pub use ipv6::Ipv6;
pub use payload::Payload;
pub use raw::{Raw, RawField, RawKind};
pub use tcp::{Tcp, TcpOption};
pub use udp::Udp;
pub use vxlan::Vxlan;

use super::build::{Builder, Follows, Names};
use super::error::{Error, Reason};

/// One layer; in a file `{ udp = { dst = 53 } }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a run has some dozens, and their fields are set directly"
)]
pub enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Arp(Arp),
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    HopByHop(Options),
    DestinationOptions(Options),
    Routing(Routing),
    Fragment(Fragment),
    Icmp(Icmp),
    Icmpv6(Icmp),
    NeighbourSolicitation(Solicitation),
    Udp(Udp),
    Tcp(Tcp),
    Vxlan(Vxlan),
    Gre(Gre),
    Raw(Raw),
    Payload(Payload),
}

/// Names of layers in descriptions, in the order of [`Layer`].
pub(super) const NAMES: [&str; 18] = [
    "ethernet",
    "vlan",
    "arp",
    "ipv4",
    "ipv6",
    "hop_by_hop",
    "destination_options",
    "routing",
    "fragment",
    "icmp",
    "icmpv6",
    "neighbour_solicitation",
    "udp",
    "tcp",
    "vxlan",
    "gre",
    "raw",
    "payload",
];

/// Appends the layers of a stream to its frame, outermost first.
pub(super) fn lay_out(layers: &[Layer], builder: &mut Builder) -> Result<(), Error> {
    for (index, layer) in layers.iter().enumerate() {
        let after = layers.get(index + 1);
        let follows = layer.follows(builder.names(), after);
        builder.begin(layer.label(index), follows)?;
        layer.build(builder, after)?;
        builder.end_layer()?;
    }
    Ok(())
}

impl Layer {
    /// Name of the layer in a description, such as `udp`.
    pub const fn name(&self) -> &'static str {
        NAMES[match self {
            Self::Ethernet(_) => 0,
            Self::Vlan(_) => 1,
            Self::Arp(_) => 2,
            Self::Ipv4(_) => 3,
            Self::Ipv6(_) => 4,
            Self::HopByHop(_) => 5,
            Self::DestinationOptions(_) => 6,
            Self::Routing(_) => 7,
            Self::Fragment(_) => 8,
            Self::Icmp(_) => 9,
            Self::Icmpv6(_) => 10,
            Self::NeighbourSolicitation(_) => 11,
            Self::Udp(_) => 12,
            Self::Tcp(_) => 13,
            Self::Vxlan(_) => 14,
            Self::Gre(_) => 15,
            Self::Raw(_) => 16,
            Self::Payload(_) => 17,
        }]
    }

    /// The name of the layer with this index in errors: `layer 3 (udp)`.
    fn label(&self, index: usize) -> String {
        format!("layer {} ({})", index + 1, self.name())
    }

    /// Appends the layer; `after` is the next one.
    fn build(&self, builder: &mut Builder, after: Option<&Self>) -> Result<(), Error> {
        match self {
            Self::Ethernet(layer) => layer.build(builder),
            Self::Vlan(layer) => layer.build(builder),
            Self::Arp(layer) => layer.build(builder),
            Self::Ipv4(layer) => layer.build(builder),
            Self::Ipv6(layer) => layer.build(builder, after),
            Self::HopByHop(layer) | Self::DestinationOptions(layer) => layer.build(builder),
            Self::Routing(layer) => layer.build(builder),
            Self::Fragment(layer) => layer.build(builder),
            Self::Icmp(layer) => layer.build(builder, false),
            Self::Icmpv6(layer) => layer.build(builder, true),
            Self::NeighbourSolicitation(layer) => layer.build(builder),
            Self::Udp(layer) => layer.build(builder, after),
            Self::Tcp(layer) => layer.build(builder),
            Self::Vxlan(layer) => layer.build(builder),
            Self::Gre(layer) => layer.build(builder),
            Self::Raw(layer) => layer.build(builder),
            Self::Payload(layer) => layer.build(builder),
        }
    }

    /// Whether it may follow a layer that names the next one like this, and by which number.
    /// `after` is the layer after this one.
    fn follows(&self, names: Names, after: Option<&Self>) -> Follows {
        let number = match names {
            Names::Nothing => return Follows::Not,
            _ if matches!(self, Self::Raw(_)) => return Follows::Unnamed,
            Names::Start => matches!(self, Self::Ethernet(_)).then_some(0),
            _ if matches!(self, Self::Payload(_)) => return Follows::Unnamed,
            Names::Ethertype => self.ethertype(after),
            Names::Gre if matches!(self, Self::Ethernet(_)) => Some(0x6558),
            Names::Gre => self.ethertype(after).filter(|_| self.is_ip()),
            Names::V4 => self.protocol().filter(|_| self.is_over_v4()),
            Names::V6 => self.protocol().filter(|_| !matches!(self, Self::Icmp(_))),
            Names::Extension => {
                self.protocol().filter(|_| !matches!(self, Self::Icmp(_) | Self::HopByHop(_)))
            }
            Names::Udp => matches!(self, Self::Vxlan(_)).then_some(0),
            Names::Vxlan => matches!(self, Self::Ethernet(_)).then_some(0),
            Names::Icmp => self.is_ip().then_some(0),
            Names::Data => None,
        };
        number.map_or(Follows::Not, Follows::As)
    }

    /// All tags but the innermost are service tags.
    const fn ethertype(&self, after: Option<&Self>) -> Option<u16> {
        match self {
            Self::Vlan(_) if matches!(after, Some(Self::Vlan(_))) => {
                Some(EtherType::SERVICE_VLAN.0)
            }
            Self::Vlan(_) => Some(EtherType::VLAN.0),
            Self::Arp(_) => Some(EtherType::ARP.0),
            Self::Ipv4(_) => Some(EtherType::IPV4.0),
            Self::Ipv6(_) => Some(EtherType::IPV6.0),
            _ => None,
        }
    }

    const fn protocol(&self) -> Option<u16> {
        let protocol = match self {
            Self::HopByHop(_) => IpProtocol::HOP_BY_HOP,
            Self::Icmp(_) => IpProtocol::ICMP,
            Self::Ipv4(_) => IpProtocol::IN_IPV4,
            Self::Tcp(_) => IpProtocol::TCP,
            Self::Udp(_) => IpProtocol::UDP,
            Self::Ipv6(_) => IpProtocol::IN_IPV6,
            Self::Routing(_) => IpProtocol::ROUTING,
            Self::Fragment(_) => IpProtocol::FRAGMENT,
            Self::Gre(_) => IpProtocol::GRE,
            Self::Icmpv6(_) | Self::NeighbourSolicitation(_) => IpProtocol::ICMPV6,
            Self::DestinationOptions(_) => IpProtocol::DESTINATION_OPTIONS,
            _ => return None,
        };
        Some(protocol.0 as u16)
    }

    const fn is_ip(&self) -> bool {
        matches!(self, Self::Ipv4(_) | Self::Ipv6(_))
    }

    const fn is_over_v4(&self) -> bool {
        matches!(
            self,
            Self::Icmp(_)
                | Self::Ipv4(_)
                | Self::Tcp(_)
                | Self::Udp(_)
                | Self::Ipv6(_)
                | Self::Gre(_)
        )
    }
}

/// Bytes given as hexadecimal digits, optionally separated by blanks or `:`.
fn hex(text: &str) -> Result<Vec<u8>, Reason> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace() && *c != ':').collect();
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(Reason::NotHex);
    }
    let byte = |pair: &[u8; 2]| {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        Some((digit(0)? << 4 | digit(1)?) as u8)
    };
    let bytes = digits.as_bytes().as_chunks::<2>().0.iter().map(byte).collect::<Option<_>>();
    bytes.ok_or(Reason::NotHex)
}
