//! Verifies the checksums of a frame: those of the IPv4 header, UDP, TCP, ICMP and ICMPv6.
//!
//! Rule: the same result as `bpf/sink/verify.h` for every frame; that file describes what is not
//! verified, and thus accepted.

use packet::checksum::{is_valid, sum};
use packet::{Invalid, IpPacket, IpProtocol, Limits, word};

/// The result for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// All verified checksums are correct.
    Right,
    /// A checksum is wrong.
    Wrong,
    /// An ICMP error, which quotes another frame with its stamp.
    Quote,
}

pub(super) fn check(frame: &[u8]) -> Finding {
    match IpPacket::find(frame, Limits::default()) {
        Ok(packet) => packet_is(frame, &packet).unwrap_or(Finding::Wrong),
        Err(Invalid::NotIp | Invalid::TooManyTags | Invalid::TooManyExtensions) => Finding::Right,
        Err(Invalid::Truncated | Invalid::BadHeader) => Finding::Wrong,
    }
}

/// The result for an IP packet; `None` if it is truncated.
fn packet_is(frame: &[u8], packet: &IpPacket) -> Option<Finding> {
    let header = frame.get(packet.network..packet.transport)?;
    if !packet.is_ipv6 && !is_valid(sum(header)) {
        return Some(Finding::Wrong);
    }
    if packet.fragment.is_part() {
        return Some(Finding::Right);
    }
    let left = packet.end - packet.transport;
    let length = match (packet.protocol, packet.is_ipv6) {
        (IpProtocol::UDP, _) => match datagram(frame, packet)? {
            Some(length) => length,
            None => return Some(Finding::Right),
        },
        (IpProtocol::TCP, _) => left,
        (IpProtocol::ICMP, false) | (IpProtocol::ICMPV6, true) if left < 8 => return None,
        (IpProtocol::ICMP, false) | (IpProtocol::ICMPV6, true) if is_error(frame, packet)? => {
            return Some(Finding::Quote);
        }
        (IpProtocol::ICMP, false) | (IpProtocol::ICMPV6, true) => left,
        _ => return Some(Finding::Right),
    };
    if length > VERIFIED {
        return Some(Finding::Right);
    }
    let covered = frame.get(packet.transport..packet.transport + length)?;
    let total = sum(covered) + packet.pseudo_header(frame, length)?;
    Some(if is_valid(total) { Finding::Right } else { Finding::Wrong })
}

/// Whether it is an ICMP error: unreachable, quench, redirect, time exceeded or parameter problem
/// (RFC 792), or an ICMPv6 error (RFC 4443, section 2.1).
fn is_error(frame: &[u8], packet: &IpPacket) -> Option<bool> {
    let kind = *frame.get(packet.transport)?;
    Some(if packet.is_ipv6 { kind < 128 } else { matches!(kind, 3..=5 | 11 | 12) })
}

/// Length of a UDP datagram from its header; `Some(None)` when it has no checksum.
fn datagram(frame: &[u8], packet: &IpPacket) -> Option<Option<usize>> {
    let datagram = frame.get(packet.transport..packet.end)?;
    let (length, checksum) = (usize::from(word(datagram, 4)?), word(datagram, 6)?);
    if length < 8 || length > datagram.len() {
        return None;
    }
    Some((checksum != 0).then_some(length))
}

/// Most bytes that are verified: `XWAY_SUM_MOST`.
const VERIFIED: usize = 0x4000;
