//! `Layers`: where a frame has what edits may change.
//!
//! Rule: every offset told is inside of what was captured, with the whole field behind it; what
//! was cut off is not there. Not here: changing anything.

use packet::{EtherType, Header, IpPacket, IpProtocol, Layer, Limits, Walk, word};

/// Of the outermost packet: what tunnels and errors quote inside stays as it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    /// VLAN tags, from byte 12.
    pub tags: usize,
    pub ip: Option<Ip>,
}

/// An IP header whose addresses are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip {
    /// Bytes of an address.
    pub width: usize,
    pub source: usize,
    pub destination: usize,
    /// IPv4's header checksum.
    pub checksum: Option<usize>,
    /// Whether the destination is that of the pseudo header: not when a routing header says where
    /// the packet really goes.
    pub is_final: bool,
    pub transport: Option<Transport>,
}

/// What stands behind the IP headers of a packet that is whole, or of its first fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transport {
    /// Source port, destination port.
    pub ports: Option<[usize; 2]>,
    /// A checksum that covers the IP addresses.
    pub checksum: Option<usize>,
    /// Zero means none.
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

/// Limits of captured frames: what was captured may be only the beginning, and all tags of any
/// sensible frame are found, so that they can be stripped.
const CAPTURED: Limits = Limits {
    tags: 64,
    tag_types: &[EtherType::VLAN, EtherType::SERVICE_VLAN, EtherType::LEGACY_VLAN],
    extensions: 8,
    is_cut: true,
};

/// Where an Ethernet header has its type, and how long a tag is that comes in front of it.
pub(super) const TYPE_AT: usize = 12;
pub(super) const TAG: usize = 4;
