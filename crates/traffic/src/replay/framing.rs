//! Converts a captured packet to an Ethernet frame.
//!
//! `pcap::Framing` converts raw IP, loopback and cooked packets; here are the links from point to
//! point. The layouts are described at <https://www.tcpdump.org/linktypes.html>.

use packet::EtherType;
use pcap::{LinkType, Unframed};

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
    if link == LinkType::ETHERNET && packet.len() < HEADER {
        return Err(Reason::Short);
    }
    let framing = pcap::Framing { destination: framing.destination.0, source: framing.source.0 };
    let Some((ether_type, at)) = point_to_point(link, packet)? else {
        return Ok(framing.frame(link, packet, out)?);
    };
    let payload = packet.get(at..).filter(|payload| !payload.is_empty()).ok_or(Reason::Short)?;
    framing.put(ether_type, payload, out);
    Ok(true)
}

impl From<Unframed> for Reason {
    fn from(why: Unframed) -> Self {
        match why {
            Unframed::LinkType(link) | Unframed::Strict(link) => Self::LinkType(link),
            Unframed::Protocol => Self::Protocol,
            Unframed::Short => Self::Short,
        }
    }
}

/// EtherType and offset of the payload of a packet on a link from point to point; `None` for other
/// link types.
fn point_to_point(link: LinkType, packet: &[u8]) -> Result<Option<(u16, usize)>, Reason> {
    match link {
        PPP | PPP_HDLC => ppp(packet).map(Some),
        CISCO_HDLC => Ok(Some((half(packet, 2)?, 4))),
        PPP_ETHER => Ok(Some((EtherType::PPPOE_SESSION.0, 0))),
        _ => Ok(None),
    }
}

/// Reads a PPP header (RFC 1661 and 1662): a protocol of one or two bytes, optionally after address
/// and control.
fn ppp(packet: &[u8]) -> Result<(u16, usize), Reason> {
    let at = if packet.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
    // Cisco's framing has types where PPP has its protocol.
    if matches!(packet, [0x0f | 0x8f, 0, ..]) {
        return Ok((half(packet, 2)?, 4));
    }
    let first = *packet.get(at).ok_or(Reason::Short)?;
    let (protocol, len) = if first % 2 == 1 { (first.into(), 1) } else { (half(packet, at)?, 2) };
    let ether_type = match protocol {
        0x0021 => EtherType::IPV4.0,
        0x0057 => EtherType::IPV6.0,
        0x0281 => EtherType::MPLS.0,
        0x0283 => EtherType::MPLS_MULTICAST.0,
        _ => return Err(Reason::Protocol),
    };
    Ok((ether_type, at + len))
}

fn half(packet: &[u8], at: usize) -> Result<u16, Reason> {
    let bytes = packet.get(at..at + 2).ok_or(Reason::Short)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

const HEADER: usize = crate::limits::FRAME_MIN;

const PPP: LinkType = LinkType(9);
const PPP_HDLC: LinkType = LinkType(50);
const PPP_ETHER: LinkType = LinkType(51);
const CISCO_HDLC: LinkType = LinkType(104);

#[cfg(test)]
mod tests {
    use super::*;

    const IPV4: u16 = EtherType::IPV4.0;
    const IPV6: u16 = EtherType::IPV6.0;
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
    fn what_does_not_fit_into_ethernet_is_reported() {
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
