//! Where in a frame its IP packet and transport stand.
//!
//! Rule: the same outcome as `bpf/include/xway/parse.h` for every frame, with its limits.

/// What a frame is, as far as headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Packet(Packet),
    /// Not IP.
    Other,
    /// Behind more tags or extension headers than are read.
    TooDeep,
    /// Cut short, or with a header that its protocol forbids.
    Malformed,
}

/// An IP packet; offsets count from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub is_v6: bool,
    pub at: usize,
    /// Of the first header behind those of IP.
    pub protocol: u8,
    pub transport: usize,
    /// Bytes from there to the end of the packet; padding behind it does not count.
    pub left: usize,
    pub is_fragment: bool,
    /// What follows the IP header is payload, whatever it looks like.
    pub is_later_fragment: bool,
}

impl Packet {
    /// Where source and destination address stand, and how long each is.
    pub fn addresses(&self) -> (usize, usize) {
        if self.is_v6 { (self.at + 8, 16) } else { (self.at + 12, 4) }
    }
}

pub(super) fn parse(frame: &[u8]) -> Parsed {
    let (mut at, mut tags) = (ETHERNET, 0);
    loop {
        let Some(kind) = frame.get(..at).and(half(frame, at - 2)) else {
            return Parsed::Malformed;
        };
        match kind {
            IPV4 => return ipv4(frame, at).unwrap_or(Parsed::Malformed),
            IPV6 => return ipv6(frame, at).unwrap_or(Parsed::Malformed),
            VLAN | QINQ if tags < MAX_TAGS => (at, tags) = (at + 4, tags + 1),
            VLAN | QINQ => return Parsed::TooDeep,
            _ => return Parsed::Other,
        }
    }
}

/// Nothing for what is malformed.
fn ipv4(frame: &[u8], at: usize) -> Option<Parsed> {
    let header = frame.get(at..at + 20)?;
    let (length, total) = (usize::from(header[0] & 15) * 4, usize::from(half(header, 2)?));
    if header[0] >> 4 != 4 || length < 20 || total < length || at + total > frame.len() {
        return None;
    }
    let fragment = half(header, 6)?;
    Some(Parsed::Packet(Packet {
        is_v6: false,
        at,
        protocol: header[9],
        transport: at + length,
        left: total - length,
        is_fragment: fragment & 0x3fff != 0,
        is_later_fragment: fragment & 0x1fff != 0,
    }))
}

fn ipv6(frame: &[u8], at: usize) -> Option<Parsed> {
    let header = frame.get(at..at + 40)?;
    // Linux compares no length of zero before hop-by-hop options with the frame.
    let end = match (half(header, 4)?, header[6]) {
        (0, HOP_BY_HOP) => frame.len(),
        (length, _) => at + 40 + usize::from(length),
    };
    let packet = frame.get(..end).filter(|_| header[0] >> 4 == 6)?;
    let (mut next, mut place, mut fragment) = (header[6], at + 40, 0);
    for extensions in 0.. {
        let is_later_fragment = fragment & 0xfff8 != 0;
        if is_later_fragment || !EXTENSIONS.contains(&next) {
            return Some(Parsed::Packet(Packet {
                is_v6: true,
                at,
                protocol: next,
                transport: place,
                left: end - place,
                is_fragment: fragment != 0,
                is_later_fragment,
            }));
        }
        if extensions == MAX_EXTENSIONS {
            break;
        }
        let length = usize::from(*packet.get(place + 1)?);
        let length = match next {
            FRAGMENT => 8,
            AH => 4 * (length + 2),
            _ => 8 * (length + 1),
        };
        let extension = packet.get(place..place + length)?;
        if next == FRAGMENT {
            fragment |= half(extension, 2)? & 0xfff9;
        }
        (next, place) = (extension[0], place + length);
    }
    Some(Parsed::TooDeep)
}

/// A word in network order.
pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

const ETHERNET: usize = 14;
const VLAN: u16 = 0x8100;
const QINQ: u16 = 0x88a8;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const MAX_TAGS: u32 = 4;
const MAX_EXTENSIONS: u32 = 8;

const HOP_BY_HOP: u8 = 0;
const FRAGMENT: u8 = 44;
const AH: u8 = 51;
/// Hop-by-hop, routing, fragment, authentication, destination.
const EXTENSIONS: [u8; 5] = [HOP_BY_HOP, 43, FRAGMENT, AH, 60];

pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;
/// TCP, UDP, DCCP, SCTP, UDP-Lite.
pub(super) const WITH_PORTS: [u8; 5] = [TCP, UDP, 33, 132, 136];
