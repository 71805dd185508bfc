//! Whether a frame's checksums agree with it: the IPv4 header's, and those of UDP, TCP, ICMP and
//! ICMPv6.
//!
//! Rule: the same outcome as `bpf/sink/verify.h` for every frame; what is not verified, and so
//! taken as right, is told there.

use super::headers::{ICMP, ICMPV6, Packet, Parsed, TCP, UDP, half, parse};

/// What a frame turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Right,
    /// A checksum does not agree with it.
    Wrong,
    /// An ICMP error, which quotes another frame, stamp and all.
    Quote,
}

pub(super) fn look(frame: &[u8]) -> Finding {
    match parse(frame) {
        Parsed::Packet(packet) => packet_is(frame, &packet).unwrap_or(Finding::Wrong),
        Parsed::Other | Parsed::TooDeep => Finding::Right,
        Parsed::Malformed => Finding::Wrong,
    }
}

/// Nothing when the packet is cut short.
fn packet_is(frame: &[u8], packet: &Packet) -> Option<Finding> {
    let header = frame.get(packet.at..packet.transport)?;
    if !packet.is_v6 && fold(sum(header)) != RIGHT {
        return Some(Finding::Wrong);
    }
    if packet.is_fragment {
        return Some(Finding::Right);
    }
    let length = match (packet.protocol, packet.is_v6) {
        (UDP, _) => match datagram(frame, packet)? {
            Some(length) => length,
            None => return Some(Finding::Right),
        },
        (TCP, _) => packet.left,
        (ICMP, false) | (ICMPV6, true) if packet.left < 8 => return None,
        (ICMP, false) | (ICMPV6, true) if is_error(frame, packet)? => {
            return Some(Finding::Quote);
        }
        (ICMP, false) | (ICMPV6, true) => packet.left,
        _ => return Some(Finding::Right),
    };
    if length > VERIFIED {
        return Some(Finding::Right);
    }
    let covered = frame.get(packet.transport..packet.transport + length)?;
    let total = sum(covered) + pseudo(frame, packet, length)?;
    Some(if fold(total) == RIGHT { Finding::Right } else { Finding::Wrong })
}

/// ICMP for IPv4 has none.
fn pseudo(frame: &[u8], packet: &Packet, length: usize) -> Option<u64> {
    if packet.protocol == ICMP {
        return Some(0);
    }
    let (addresses, long) = packet.addresses();
    let both = frame.get(addresses..addresses + 2 * long)?;
    Some(sum(both) + u64::from(packet.protocol) + length as u64)
}

/// RFC 792: unreachable, quench, redirect, time exceeded, parameter problem. RFC 4443, 2.1.
fn is_error(frame: &[u8], packet: &Packet) -> Option<bool> {
    let kind = *frame.get(packet.transport)?;
    Some(if packet.is_v6 { kind < 128 } else { matches!(kind, 3..=5 | 11 | 12) })
}

/// Length of a UDP datagram by its own header; `Some(None)` when it has no checksum.
fn datagram(frame: &[u8], packet: &Packet) -> Option<Option<usize>> {
    let header = frame.get(packet.transport..packet.transport + 8).filter(|_| packet.left >= 8)?;
    let length = usize::from(half(header, 4)?);
    if length < 8 || length > packet.left {
        return None;
    }
    Some((half(header, 6)? != 0).then_some(length))
}

/// Of 16-bit words; a byte too many counts as the upper half of one.
fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let odd = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>() + odd
}

fn fold(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// What everything that a checksum covers adds up to, itself included.
const RIGHT: u64 = 0xffff;
/// `XWAY_SUM_MOST`.
const VERIFIED: usize = 0x4000;
