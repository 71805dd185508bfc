//! Reports of a capture.

use functions::capture::CapturedPacket;
use packet::dissect::dissect;
use serde::Serialize;

use super::{BatchPacket, RuleLine};

/// Why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The number of packets was reached.
    Count,
    /// The time is over.
    Time,
    /// A signal arrived.
    Interrupted,
    /// The reader of the pipe closed it.
    ReaderGone,
}

/// The result of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaptureReport {
    /// Name of the first interface.
    pub interface: String,
    /// Packets of all interfaces that matched while the capture ran.
    pub packets: u64,
    /// Packets that were written or printed.
    pub written: u64,
    /// Packets that were lost because a ring was full.
    pub lost: u64,
    /// Duration of the capture.
    pub seconds: f64,
    /// Why the capture ended.
    pub ended: Ended,
    /// Counts of each interface.
    pub interfaces: Vec<InterfaceCounts>,
}

/// Counts of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceCounts {
    /// Name of the interface.
    pub interface: String,
    /// Packets that matched.
    pub packets: u64,
    /// Packets that were written or printed.
    pub written: u64,
    /// Packets that were lost because a ring was full.
    pub lost: u64,
}

impl CaptureReport {
    /// Adds the counts of the interfaces.
    pub fn new(interfaces: Vec<InterfaceCounts>, seconds: f64, ended: Ended) -> Self {
        let sum = |count: fn(&InterfaceCounts) -> u64| interfaces.iter().map(count).sum();
        Self {
            interface: interfaces.first().map(|one| one.interface.clone()).unwrap_or_default(),
            packets: sum(|one| one.packets),
            written: sum(|one| one.written),
            lost: sum(|one| one.lost),
            seconds,
            ended,
            interfaces,
        }
    }
}

/// A packet that was captured, as a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketLine {
    /// Number of the packet in the capture, from 1.
    pub number: u64,
    /// Time since the capture began.
    pub seconds: f64,
    /// Name of the interface that received it.
    pub interface: String,
    /// The final verdict; `invalid` for any other return value.
    pub verdict: &'static str,
    /// The member of the chain that gave the verdict; `null` if no program runs.
    pub program: Option<String>,
    /// Why it did, such as `rule`, `default` or `bad-header`; `null` for a program that keeps no
    /// reasons.
    pub reason: Option<String>,
    /// The rule of the filter that decided; `null` if none did.
    pub rule: Option<RuleLine>,
    /// Receive queue of the packet.
    pub queue: u32,
    /// Bytes of the packet when it came.
    pub length: u32,
    /// Its protocols and addresses.
    pub summary: String,
    /// What the programs changed; `null` if nothing, or if that is not known.
    pub changes: Option<String>,
}

impl PacketLine {
    /// Describes a packet.
    pub fn new(
        BatchPacket { packet, members, .. }: &BatchPacket<'_>,
        (number, seconds): (u64, f64),
        interface: &str,
    ) -> Self {
        let (bytes, length) = packet.first();
        Self {
            number,
            seconds,
            interface: interface.to_owned(),
            verdict: verdict(packet),
            program: members.decider(packet).map(str::to_owned),
            reason: members.reason(packet).map(str::to_owned),
            rule: members.rule(packet).cloned(),
            queue: packet.queue,
            length,
            summary: dissect(bytes).summary,
            changes: changes(packet),
        }
    }
}

fn verdict(packet: &CapturedPacket<'_>) -> &'static str {
    packet.verdict().map_or("invalid", |verdict| verdict.name())
}

/// Which bytes the programs changed, in words.
pub fn changes(packet: &CapturedPacket<'_>) -> Option<String> {
    if !packet.is_changed() {
        return None;
    }
    if packet.is_resized() {
        let [before, after] = packet.lengths;
        return Some(format!("changed from {before} to {after} bytes"));
    }
    let ranges = packet.changed();
    let shown = ranges.iter().take(RANGES).map(|range| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if ranges.len() > RANGES { ", …" } else { "" };
    Some(format!("changed bytes {shown}{more}"))
}

/// Ranges of changed bytes that are listed.
const RANGES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet<'a>(before: &'a [u8], after: &'a [u8]) -> CapturedPacket<'a> {
        CapturedPacket {
            lengths: [before.len() as u32, after.len() as u32],
            bytes: [before, after],
            ..CapturedPacket::default()
        }
    }

    #[test]
    fn changes_are_said_in_words() {
        assert_eq!(changes(&packet(b"abcd", b"abcd")), None);
        assert_eq!(changes(&packet(b"abcdef", b"aBCdeF")).unwrap(), "changed bytes 1-2, 5");
        assert_eq!(changes(&packet(b"abc", b"abcd")).unwrap(), "changed from 3 to 4 bytes");
    }
}
