//! `Packet`: the fields of a sampled packet.
//!
//! Rule: fields are those of the outermost packet, read as the filter reads them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use packet::tcp_flag::{ACK, RST, SYN};
use spec::Verdict;

use crate::abi::{Fragment, Reason};
use crate::runtime::decision::Decision;
use crate::runtime::tap::TappedPacket;
use crate::{Field, Frame, Needs, read};

/// A sampled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    /// Time on the monotonic clock.
    pub time_ns: u64,
    pub outcome: Outcome,
    /// Length of the frame.
    pub length: u32,
    /// `None` if the packet is not IP.
    pub source: Option<Address>,
    pub dest: Option<Address>,
    pub protocol: Option<u8>,
    /// Source and destination port.
    pub ports: Option<(u16, u16)>,
    pub flags: Option<u8>,
    /// Type and code of ICMP.
    pub message: Option<u16>,
    /// Whether it is a later fragment.
    pub is_later: bool,
    /// Sequence and acknowledgment number of TCP.
    pub numbers: Option<(u32, u32)>,
}

/// How the active rules treated a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The packet was dropped.
    Dropped,
    /// A rule accepted the packet explicitly.
    Accepted,
    /// No rule decided, so the default accepted the packet.
    Undecided,
}

impl Outcome {
    /// The outcome of a decision.
    pub fn of(decision: &Decision) -> Self {
        match (decision.verdict, decision.reason) {
            (Verdict::Drop | Verdict::Aborted | Verdict::Tx, _) => Self::Dropped,
            (_, Some(Reason::Rule | Reason::LaterFragment)) => Self::Accepted,
            _ => Self::Undecided,
        }
    }
}

/// An address of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    pub is_ipv6: bool,
    pub bits: u128,
}

impl Packet {
    /// Reads a sampled packet. `buffer` is reused for the whole frame, in which missing bytes are
    /// zero.
    pub fn of(seen: &TappedPacket<'_>, buffer: &mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(seen.bytes);
        buffer.resize((seen.length as usize).clamp(seen.bytes.len(), LONGEST), 0);
        let frame = Frame { bytes: buffer, ..Frame::default() };
        let layer = read(&frame, Needs::ALL).layers.swap_remove(0);
        let packet = &layer.fields;
        let number = |field| packet.field(field).map(|value| value as u16);
        let address = |v4, v6| {
            let v4 = packet.field(v4).map(|bits| Address { is_ipv6: false, bits });
            v4.or_else(|| packet.field(v6).map(|bits| Address { is_ipv6: true, bits }))
        };
        let flags = packet.field(Field::TcpFlags).map(|flags| flags as u8);
        let header = flags.and(layer.transport).and_then(|at| buffer.get(at..));
        Self {
            time_ns: seen.time_ns,
            outcome: Outcome::of(&seen.decision),
            length: seen.length,
            source: address(Field::Source4, Field::Source6),
            dest: address(Field::Dest4, Field::Dest6),
            protocol: packet.field(Field::Protocol).map(|protocol| protocol as u8),
            ports: number(Field::SourcePort).zip(number(Field::DestPort)),
            flags,
            message: number(Field::Icmp),
            is_later: packet.field(Field::Fragment) == Some(Fragment::Later as u128),
            numbers: header.and_then(|header| Some((word(header, 4)?, word(header, 8)?))),
        }
    }

    /// Whether it is a connection request.
    pub fn is_request(&self) -> bool {
        self.flags.is_some_and(|flags| flags & (SYN | ACK) == SYN)
    }

    /// Whether it seems to belong to an open connection.
    pub fn is_inside(&self) -> bool {
        self.flags.is_some_and(|flags| flags & (SYN | ACK | RST) == ACK)
    }
}

impl Address {
    /// The address with only its first `length` bits.
    #[must_use]
    pub fn prefix(self, length: u8) -> Self {
        let width: u32 = if self.is_ipv6 { 128 } else { 32 };
        let cut = width.saturating_sub(u32::from(length));
        let bits = self.bits.checked_shr(cut).and_then(|bits| bits.checked_shl(cut)).unwrap_or(0);
        Self { bits, ..self }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_ipv6 {
            true => Ipv6Addr::from_bits(self.bits).fmt(f),
            false => Ipv4Addr::from_bits(self.bits as u32).fmt(f),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Frames are rebuilt up to this length, which includes all headers.
const LONGEST: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_have_outcomes() {
        let of = |verdict, reason| {
            Outcome::of(&Decision { rule: Some(1), verdict, reason: Some(reason) })
        };
        assert_eq!(of(Verdict::Drop, Reason::Limited), Outcome::Dropped);
        assert_eq!(of(Verdict::Pass, Reason::Rule), Outcome::Accepted);
        assert_eq!(of(Verdict::Redirect, Reason::Rule), Outcome::Accepted);
        assert_eq!(of(Verdict::Pass, Reason::Default), Outcome::Undecided);
        assert_eq!(of(Verdict::Pass, Reason::Options), Outcome::Undecided);
    }
}
