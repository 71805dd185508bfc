//! `Layers`: offsets of the fields of a frame that edits may change.
//!
//! Rule: every offset is followed by the whole field within the captured bytes; truncated fields
//! are absent.

use packet::{EtherType, Header, IpPacket, IpProtocol, Layer, Limits, Walk, word};

/// Fields of the outermost packet; packets in tunnels and in ICMP errors are not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// VLAN tags, from byte 12.
    pub tags: usize,
    pub ip: Option<Ip>,
}

/// An IP header whose addresses were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip {
    /// Bytes of an address.
    pub width: usize,
    pub source: usize,
    pub destination: usize,
    /// Offset of the IPv4 header checksum.
    pub checksum: Option<usize>,
    /// Whether the pseudo header has this destination, and not that of a routing header.
    pub is_final: bool,
    pub transport: Option<Transport>,
}

/// The transport header of an unfragmented packet or a first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transport {
    /// Offsets of source and destination port.
    pub ports: Option<[usize; 2]>,
    /// Offset of a checksum that covers the IP addresses.
    pub checksum: Option<usize>,
    /// A checksum of zero means that there is none.
    pub is_optional: bool,
}

impl Layers {
    pub fn of(frame: &[u8]) -> Self {
        let mut layers = Self::default();
        let mut walk = Walk::new(frame, CAPTURED);
        while let Some(Ok(Layer { header, start, .. })) = walk.next() {
            match header {
                Header::Vlan => layers.tags += 1,
                Header::Ipv4 => layers.ip = Some(Ip::v4(start)),
                Header::Ipv6 => layers.ip = Some(Ip::v6(start)),
                _ => {}
            }
            if let Some((packet, ip)) = walk.ip_packet().zip(layers.ip.as_mut()) {
                ip.is_final = packet.is_destination_final;
                ip.transport = transport(frame, &packet);
                break;
            }
        }
        layers
    }
}

impl Ip {
    fn v4(at: usize) -> Self {
        let (source, destination, checksum) = (at + 12, at + 16, Some(at + 10));
        Self { width: 4, source, destination, checksum, is_final: true, transport: None }
    }

    fn v6(at: usize) -> Self {
        let (source, destination) = (at + 8, at + 24);
        Self { width: 16, source, destination, checksum: None, is_final: true, transport: None }
    }
}

/// `None` for later fragments and for protocols without a checksum over the addresses.
fn transport(frame: &[u8], packet: &IpPacket) -> Option<Transport> {
    let has_ports = match packet.protocol {
        _ if packet.fragment.is_later() => return None,
        IpProtocol::TCP | IpProtocol::UDP | IpProtocol::UDPLITE => true,
        IpProtocol::ICMPV6 if packet.is_ipv6 => false,
        _ => return None,
    };
    let whole = |at: usize| word(frame, at).map(|_| at);
    let (from, to) = (whole(packet.transport), whole(packet.transport + 2));
    Some(Transport {
        ports: from.zip(to).filter(|_| has_ports).map(|(from, to)| [from, to]),
        checksum: packet.checksum().and_then(whole),
        is_optional: packet.protocol == IpProtocol::UDP,
    })
}

/// Limits for captured frames: they may be truncated, and all tags of any realistic frame are
/// found, so that they can be stripped.
const CAPTURED: Limits = Limits {
    tags: 64,
    tag_types: &[EtherType::VLAN, EtherType::SERVICE_VLAN, EtherType::LEGACY_VLAN],
    extensions: 8,
    is_cut: true,
};

/// Offset of the type in an Ethernet header.
pub(super) const TYPE_AT: usize = 12;
/// Bytes of a tag before it.
pub(super) const TAG: usize = 4;
