//! Converts a captured packet to an Ethernet frame.
//!
//! The layouts are described at <https://www.tcpdump.org/linktypes.html>.

use packet::{EtherType, Mac};
use pcap::LinkType;

use super::notes::Reason;
use super::options::Framing;

/// Appends the frame to `out`; returns whether an Ethernet header was added.
///
/// # Errors
/// The reason why it cannot be sent; `out` is unchanged.
pub(super) fn frame(
    link: LinkType,
    packet: &[u8],
    framing: &Framing,
    out: &mut Vec<u8>,
) -> Result<bool, Reason> {
    if link == LinkType::ETHERNET {
        if packet.len() < HEADER {
            return Err(Reason::Short);
        }
        out.extend_from_slice(packet);
        return Ok(false);
    }
    let Inner { kind, source, at } = inner(link, packet)?;
    let payload = packet.get(at..).filter(|payload| !payload.is_empty()).ok_or(Reason::Short)?;
    let kind = match kind {
        Kind::Type(ether_type) => ether_type,
        // 802.3 has the length of the payload in place of the type.
        Kind::Length => u16::try_from(payload.len())
            .ok()
            .filter(|len| *len < FIRST_TYPE)
            .ok_or(Reason::Protocol)?,
    };
    out.extend_from_slice(&framing.destination.0);
    out.extend_from_slice(&source.unwrap_or(framing.source).0);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(payload);
    Ok(true)
}

/// The contents of a link header.
#[derive(Clone, Copy, Debug)]
struct Inner {
    kind: Kind,
    source: Option<Mac>,
    /// Offset of the payload.
    at: usize,
}

/// The field after the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Type(u16),
    Length,
}

impl Inner {
    fn of_type(ether_type: u16, at: usize) -> Self {
        Self { kind: Kind::Type(ether_type), source: None, at }
    }
}

fn inner(link: LinkType, packet: &[u8]) -> Result<Inner, Reason> {
    match link {
        LinkType::IPV4 => Ok(Inner::of_type(IPV4, 0)),
        LinkType::IPV6 => Ok(Inner::of_type(IPV6, 0)),
        LinkType::RAW | RAW_BSD | RAW_OPENBSD => by_version(packet),
        LinkType::NULL | LOOP => by_family(packet),
        LinkType::LINUX_SLL => cooked(packet, [14, 2, 4, 6], 16),
        LinkType::LINUX_SLL2 => cooked(packet, [0, 8, 11, 12], 20),
        PPP | PPP_HDLC => point_to_point(packet),
        CISCO_HDLC => Ok(Inner::of_type(half(packet, 2)?, 4)),
        PPP_ETHER => Ok(Inner::of_type(PPPOE_SESSION, 0)),
        other => Err(Reason::LinkType(other)),
    }
}

/// Determines the type by the version of the IP header.
fn by_version(packet: &[u8]) -> Result<Inner, Reason> {
    match packet.first().ok_or(Reason::Short)? >> 4 {
        4 => Ok(Inner::of_type(IPV4, 0)),
        6 => Ok(Inner::of_type(IPV6, 0)),
        _ => Err(Reason::Protocol),
    }
}

/// Reads four bytes with the address family, in the byte order of the capturing host.
fn by_family(packet: &[u8]) -> Result<Inner, Reason> {
    let bytes: [u8; 4] = *packet.first_chunk().ok_or(Reason::Short)?;
    let family = u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes));
    match family {
        2 => Ok(Inner::of_type(IPV4, 4)),
        // Linux; NetBSD and OpenBSD; FreeBSD; macOS.
        10 | 24 | 28 | 30 => Ok(Inner::of_type(IPV6, 4)),
        _ => Err(Reason::Protocol),
    }
}

/// Reads the "cooked" header of Linux. `places` are the offsets of the protocol, the device type,
/// the length of the address and the address.
fn cooked(packet: &[u8], places: [usize; 4], header: usize) -> Result<Inner, Reason> {
    let [protocol, device, length, address] = places;
    if packet.len() < header {
        return Err(Reason::Short);
    }
    let device = half(packet, device)?;
    // Version 1 has two bytes for the length, version 2 one.
    let length = if header == 16 { half(packet, length)? } else { packet[length].into() };
    let kind = match half(packet, protocol)? {
        // The protocol numbers of such devices are not EtherTypes.
        _ if FOREIGN_DEVICES.contains(&device) => return Err(Reason::Protocol),
        NOVELL_RAW | LLC => Kind::Length,
        ether_type if ether_type >= FIRST_TYPE => Kind::Type(ether_type),
        _ => return Err(Reason::Protocol),
    };
    let has_mac = length == 6;
    let source = packet.get(address..address + 6).and_then(Mac::from_slice).filter(|_| has_mac);
    Ok(Inner { kind, source, at: header })
}

/// Reads a PPP header (RFC 1661 and 1662): a protocol of one or two bytes, optionally after address
/// and control.
fn point_to_point(packet: &[u8]) -> Result<Inner, Reason> {
    let at = if packet.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
    // Cisco's framing has types where PPP has its protocol.
    if matches!(packet, [0x0f | 0x8f, 0, ..]) {
        return Ok(Inner::of_type(half(packet, 2)?, 4));
    }
    let first = *packet.get(at).ok_or(Reason::Short)?;
    let (protocol, len) = if first % 2 == 1 { (first.into(), 1) } else { (half(packet, at)?, 2) };
    let ether_type = match protocol {
        0x0021 => IPV4,
        0x0057 => IPV6,
        0x0281 => EtherType::MPLS.0,
        0x0283 => EtherType::MPLS_MULTICAST.0,
        _ => return Err(Reason::Protocol),
    };
    Ok(Inner::of_type(ether_type, at + len))
}

fn half(packet: &[u8], at: usize) -> Result<u16, Reason> {
    let bytes = packet.get(at..at + 2).ok_or(Reason::Short)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

const HEADER: usize = crate::limits::FRAME_MIN;
/// First EtherType; lower values are a length.
const FIRST_TYPE: u16 = EtherType::FIRST.0;
const IPV4: u16 = EtherType::IPV4.0;
const IPV6: u16 = EtherType::IPV6.0;
const PPPOE_SESSION: u16 = EtherType::PPPOE_SESSION.0;

// Protocols of Linux's own (`linux/if_ether.h`): 802.3 without and with 802.2.
const NOVELL_RAW: u16 = 0x0001;
const LLC: u16 = 0x0004;
/// Device types (`linux/if_arp.h`): frame relay, radiotap, netlink.
const FOREIGN_DEVICES: [u16; 3] = [770, 803, 824];

const PPP: LinkType = LinkType(9);
const RAW_BSD: LinkType = LinkType(12);
const RAW_OPENBSD: LinkType = LinkType(14);
const PPP_HDLC: LinkType = LinkType(50);
const PPP_ETHER: LinkType = LinkType(51);
const CISCO_HDLC: LinkType = LinkType(104);
const LOOP: LinkType = LinkType(108);

#[cfg(test)]
mod tests {
    use super::*;

    const IP: &[u8] = &[0x45, 1, 2, 3];
    const IP6: &[u8] = &[0x60, 1, 2, 3];

    fn framed(link: u16, header: &[u8], payload: &[u8]) -> Result<Vec<u8>, Reason> {
        let mut out = Vec::new();
        let packet = [header, payload].concat();
        frame(LinkType(link), &packet, &Framing::default(), &mut out).map(|_| out)
    }

    #[test]
    fn every_link_type_becomes_ethernet() {
        let sll = |device: u16, protocol: u16| {
            let halves = [4, device, 6, 0x0a0b, 0x0c0d, 0x0e0f, 0, protocol];
            halves.iter().flat_map(|half| half.to_be_bytes()).collect::<Vec<u8>>()
        };
        let sll2 = |device: u16, protocol: u16| {
            let halves = [protocol, 0, 0, 3, device, 0x0406, 0x0a0b, 0x0c0d, 0x0e0f, 0];
            halves.iter().flat_map(|half| half.to_be_bytes()).collect::<Vec<u8>>()
        };
        let made = [2, 0, 0, 0, 0, 1];
        let captured = [10, 11, 12, 13, 14, 15];
        for (label, link, header, payload, source, kind) in [
            ("raw IPv4", 101, vec![], IP, made, IPV4),
            ("raw IPv6", 101, vec![], IP6, made, IPV6),
            ("BSD's raw", 12, vec![], IP, made, IPV4),
            ("OpenBSD's raw", 14, vec![], IP6, made, IPV6),
            ("IPv4", 228, vec![], IP, made, IPV4),
            ("IPv6", 229, vec![], IP6, made, IPV6),
            ("null, little", 0, vec![2, 0, 0, 0], IP, made, IPV4),
            ("null, big", 0, vec![0, 0, 0, 2], IP, made, IPV4),
            ("null, FreeBSD", 0, vec![28, 0, 0, 0], IP6, made, IPV6),
            ("null, macOS", 0, vec![30, 0, 0, 0], IP6, made, IPV6),
            ("loop", 108, vec![0, 0, 0, 24], IP6, made, IPV6),
            ("cooked", 113, sll(1, 0x0806), IP, captured, 0x0806),
            ("cooked, 802.2", 113, sll(1, 4), IP, captured, 4),
            ("cooked v2", 276, sll2(772, IPV4), IP, captured, IPV4),
            ("PPP", 9, vec![0xff, 3, 0, 0x21], IP, made, IPV4),
            ("PPP, short protocol", 9, vec![0x57], IP6, made, IPV6),
            ("PPP over HDLC", 50, vec![0, 0x21], IP, made, IPV4),
            ("Cisco's framing", 50, vec![0x0f, 0, 8, 0], IP, made, IPV4),
            ("Cisco HDLC", 104, vec![0x0f, 0, 0x86, 0xdd], IP6, made, IPV6),
        ] {
            let frame = framed(link, &header, payload).unwrap();
            let wanted = [&[2, 0, 0, 0, 0, 2], &source[..], &kind.to_be_bytes(), payload].concat();
            assert_eq!(frame, wanted, "{label}");
        }
        let session = framed(51, &[0x11, 0, 0, 1, 0, 2, 0, 0x21], &[]).unwrap();
        assert_eq!((&session[12..14], session.len()), (&[0x88, 0x64][..], 22));
        assert_eq!(framed(1, &[7; 14], &[]), Ok(vec![7; 14]), "Ethernet stays as it is");
    }

    #[test]
    fn what_does_not_fit_into_ethernet_is_told() {
        let netlink = [0, 4, 3, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
        let can = [0, 4, 1, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12];
        for (label, link, packet, reason) in [
            ("802.11", 105, &[0; 40][..], Reason::LinkType(LinkType(105))),
            ("short Ethernet", 1, &[0; 13], Reason::Short),
            ("empty", 101, &[], Reason::Short),
            ("nothing behind the family", 0, &[2, 0, 0, 0], Reason::Short),
            ("half a family", 0, &[2, 0, 0], Reason::Short),
            ("no IP", 101, &[0x35, 0], Reason::Protocol),
            ("AppleTalk", 0, &[16, 0, 0, 0, 1], Reason::Protocol),
            ("half a cooked header", 113, &[0; 15], Reason::Short),
            ("half a cooked header, v2", 276, &[0; 19], Reason::Short),
            ("netlink", 113, &netlink, Reason::Protocol),
            ("CAN", 113, &can, Reason::Protocol),
            ("link control of PPP", 9, &[0xff, 3, 0xc0, 0x21, 1], Reason::Protocol),
            ("half a PPP header", 9, &[0xff, 3], Reason::Short),
        ] {
            assert_eq!(framed(link, packet, &[]), Err(reason), "{label}");
        }
    }
}
