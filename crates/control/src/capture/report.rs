//! Reports of a capture.

use functions::capture::CapturedPacket;
use packet::dissect::dissect;
use serde::Serialize;

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
    /// Name of the interface.
    pub interface: String,
    /// Packets that matched while the capture ran.
    pub packets: u64,
    /// Packets that were written or printed.
    pub written: u64,
    /// Packets that were lost because a ring was full.
    pub lost: u64,
    /// Duration of the capture.
    pub seconds: f64,
    /// Why the capture ended.
    pub ended: Ended,
}

/// A packet that was captured, as a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketLine {
    /// Number of the packet in the capture, from 1.
    pub number: u64,
    /// Time since the capture began.
    pub seconds: f64,
    /// The final verdict; `invalid` for any other return value.
    pub verdict: &'static str,
    /// The member of the chain that gave the verdict; `null` if no program runs.
    pub program: Option<String>,
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
        packet: &CapturedPacket,
        (number, seconds): (u64, f64),
        program: Option<&str>,
    ) -> Self {
        let (bytes, length) = packet.first();
        Self {
            number,
            seconds,
            verdict: verdict(packet),
            program: program.map(str::to_owned),
            queue: packet.queue,
            length,
            summary: dissect(bytes).summary,
            changes: changes(packet),
        }
    }
}

/// The comment of a packet in a file: what decided, and what was changed.
pub fn comment(packet: &CapturedPacket, program: Option<&str>) -> Option<String> {
    let decided = program.map(|program| format!("{} by {program}", verdict(packet)));
    let parts: Vec<String> = decided.into_iter().chain(changes(packet)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn verdict(packet: &CapturedPacket) -> &'static str {
    packet.verdict().map_or("invalid", |verdict| verdict.name())
}

/// Which bytes the programs changed, in words.
fn changes(packet: &CapturedPacket) -> Option<String> {
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

    fn packet(before: &[u8], after: &[u8]) -> CapturedPacket {
        CapturedPacket {
            code: 3,
            lengths: [before.len() as u32, after.len() as u32],
            bytes: [before.to_vec(), after.to_vec()],
            ..CapturedPacket::default()
        }
    }

    #[test]
    fn a_comment_names_the_program_and_the_changes() {
        let same = packet(b"abcd", b"abcd");
        assert_eq!(comment(&same, None), None);
        assert_eq!(comment(&same, Some("filter")).unwrap(), "tx by filter");
        let changed = packet(b"abcdef", b"aBCdeF");
        assert_eq!(comment(&changed, Some("nat")).unwrap(), "tx by nat; changed bytes 1-2, 5");
        let longer = packet(b"abc", b"abcd");
        assert_eq!(comment(&longer, None).unwrap(), "changed from 3 to 4 bytes");
    }
}
