//! Whether a frame's checksums agree with it: the IPv4 header's, and those of UDP, TCP, ICMP and
//! ICMPv6.
//!
//! Rule: the same outcome as `bpf/sink/verify.h` for every frame; what is not verified, and so
//! taken as right, is told there.

use super::headers::{ICMP, ICMPV6, Packet, Parsed, TCP, UDP, half, parse};

pub(super) fn is_wrong(frame: &[u8]) -> bool {
    match parse(frame) {
        Parsed::Packet(packet) => packet_is_right(frame, &packet) != Some(true),
        Parsed::Other => false,
        Parsed::Malformed => true,
    }
}

/// Nothing when the packet is cut short.
fn packet_is_right(frame: &[u8], packet: &Packet) -> Option<bool> {
    let header = frame.get(packet.at..packet.transport)?;
    if !packet.is_v6 && fold(sum(header)) != RIGHT {
        return Some(false);
    }
    if packet.is_fragment {
        return Some(true);
    }
    let length = match (packet.protocol, packet.is_v6) {
        (UDP, _) => match datagram(frame, packet)? {
            Some(length) => length,
            None => return Some(true),
        },
        (TCP, _) | (ICMP, false) | (ICMPV6, true) => packet.left,
        _ => return Some(true),
    };
    if length > VERIFIED {
        return Some(true);
    }
    let covered = frame.get(packet.transport..packet.transport + length)?;
    let (addresses, long) = packet.addresses();
    let pseudo = match packet.protocol {
        ICMP => 0,
        protocol => {
            let both = frame.get(addresses..addresses + 2 * long)?;
            sum(both) + u64::from(protocol) + length as u64
        }
    };
    Some(fold(sum(covered) + pseudo) == RIGHT)
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
/// `SINK_VERIFIED`.
const VERIFIED: usize = 0x4000;
