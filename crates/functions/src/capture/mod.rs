//! The capture probe: packets as they come and after the final verdict, sent to user space.
//!
//! The two programs are `bpf/capture/capture.bpf.c`; they are composed into a chain
//! ([`spec::compose::Probe`]) and leave packets and verdicts as they are. Rule: nothing is captured
//! after a time that the reader extends again and again. Not here: reading a ring buffer, and the
//! expression that selects packets.

pub mod abi;

use std::ops::Range;

use spec::compose::{Probe, VerdictSet};
use spec::{Spec, Verdict};

use abi::{Decision, Record, Settings, Wanted};

/// The compiled programs.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/capture.o");
/// The function that selects packets: context and length are its arguments.
pub const MATCHES: &str = "capture_matches";
/// The map of [`Settings`].
pub const SETTINGS: &str = ".bss";
/// The per-CPU map whose values begin with [`abi::Counts`].
pub const KEPT: &str = "capture_kept";
/// The array of [`Wanted`], one for each member of the chain.
pub const WANTED: &str = "capture_wanted";
/// The array of rings, one for each processor.
pub const RINGS: &str = "capture_rings";
/// Name of the program before the chain.
pub const BEFORE: &str = "capture_before";
const AFTER: &str = "capture_after";

/// The most bytes of a packet that are captured at one point, as `CAPTURE_BYTES`.
pub const MAX_BYTES: u32 = 9216;
const INVALID_VERDICT: u32 = 5;
/// The rule of a decision that is not by a rule with a number, as `XWAY_UNNUMBERED`.
const UNNUMBERED: u32 = u32::MAX;

/// What is captured of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Point {
    /// The packet as it came, before the first program.
    Before,
    /// The packet as the programs left it.
    After,
    /// Both, so that changes are seen.
    #[default]
    Both,
}

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Verdicts whose packets are captured.
    pub verdicts: VerdictSet,
    /// Whether packets are captured for which a program returns no valid verdict; the kernel drops
    /// these.
    pub invalid: bool,
    pub point: Point,
    /// The most bytes of a packet, at most [`MAX_BYTES`].
    pub snap_len: u32,
    /// Whether only packets with a reason in [`WANTED`] are captured.
    pub is_selective: bool,
}

impl Default for Config {
    fn default() -> Self {
        let verdicts = VerdictSet::from_iter(Verdict::ALL);
        let (point, snap_len) = (Point::Both, MAX_BYTES);
        Self { verdicts, invalid: true, point, snap_len, is_selective: false }
    }
}

impl Config {
    /// The settings of a capture until a time on the monotonic clock.
    pub fn settings(&self, until_ns: u64) -> Settings {
        let verdicts = self.verdicts.iter().map(|verdict| verdict as u32);
        let verdicts = verdicts.chain(self.invalid.then_some(INVALID_VERDICT));
        let snap_len = self.snap_len.min(MAX_BYTES);
        let at = |other: Point| if self.point == other { 0 } else { snap_len };
        Settings {
            until: until_ns,
            verdicts: verdicts.fold(0, |all, number| all | 1 << number),
            before: at(Point::After),
            after: at(Point::Before),
            is_selective: self.is_selective.into(),
        }
    }
}

/// The programs as a probe.
pub fn probe(spec: &Spec) -> Probe<'_> {
    Probe { spec, before: BEFORE, after: AFTER }
}

/// Decisions of a member whose packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// Decisions with the reason of this number.
    Reason(usize),
    /// Decisions by the rule of this number.
    Rule(u32),
}

impl Selected {
    /// The member's entry in [`WANTED`].
    pub fn entry(self) -> Wanted {
        let (reasons, rule) = match self {
            // No program has more reasons than the mask has bits.
            Self::Reason(number) => (1_u64.checked_shl(number as u32).unwrap_or(0), UNNUMBERED),
            Self::Rule(number) => (u64::MAX, number),
        };
        Wanted { reasons, rule, unused: 0 }
    }
}

/// A packet of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// What the program decided; rule and reason are valid if it stores them.
    pub decision: Decision,
    /// Number of that program in the chain.
    pub member: usize,
    /// The receive queue.
    pub queue: u32,
    /// Lengths of the packet before and after the programs.
    pub lengths: [u32; 2],
    /// Its first bytes before and after the programs; empty where it was not captured.
    pub bytes: [&'a [u8]; 2],
}

/// The time of a record, on the monotonic clock, which puts records of several rings in order.
pub fn time_ns(record: &[u8]) -> u64 {
    record.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

impl<'a> CapturedPacket<'a> {
    /// Parses a record of a ring; `None` if it is too short.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ Record::SIZE }>()?;
        let head = Record::from_bytes(head);
        let (before, rest) = bytes.split_at_checked(head.captured_before as usize)?;
        let after = rest.get(..head.captured_after as usize)?;
        Some(Self {
            time_ns: head.time,
            decision: head.decision,
            member: head.member as usize,
            queue: head.queue,
            lengths: [head.length_before, head.length_after],
            bytes: [before, after],
        })
    }

    /// The verdict; `None` for a return value that is none.
    pub fn verdict(&self) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|one| *one as u32 == self.decision.verdict)
    }

    /// Number of the rule that decided, if one did that has a number.
    pub fn rule(&self) -> Option<usize> {
        (self.decision.rule != UNNUMBERED).then_some(self.decision.rule as usize)
    }

    /// The bytes that came, or those after the programs where only these were captured, and the
    /// length of the packet there.
    pub fn first(&self) -> (&'a [u8], u32) {
        let point = usize::from(self.bytes[0].is_empty());
        (self.bytes[point], self.lengths[point])
    }

    /// Whether the programs changed the packet, as far as it was captured at both points.
    pub fn is_changed(&self) -> bool {
        let [before, after] = &self.bytes;
        !before.is_empty() && !after.is_empty() && (before != after || self.is_resized())
    }

    /// Whether the length is another one after the programs.
    pub fn is_resized(&self) -> bool {
        self.lengths[0] != self.lengths[1]
    }

    /// Offsets of the bytes that differ, if the packet was captured at both points and has the same
    /// length.
    pub fn changed(&self) -> Vec<Range<usize>> {
        let [before, after] = &self.bytes;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if self.is_resized() {
            return ranges;
        }
        for (at, _) in before.iter().zip(*after).enumerate().filter(|(_, (old, new))| old != new) {
            match ranges.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end = at + 1,
                None => ranges.push(at..at + 1),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_bit_for_each_verdict_and_a_length_for_each_point() {
        let all = Config::default().settings(7);
        let expected = Settings {
            until: 7,
            verdicts: 0b11_1111,
            before: MAX_BYTES,
            after: MAX_BYTES,
            is_selective: 0,
        };
        assert_eq!(all, expected);
        let verdicts = VerdictSet::from_iter([Verdict::Drop, Verdict::Aborted]);
        let config = Config { verdicts, point: Point::Before, snap_len: 64, ..Config::default() };
        let dropped = config.settings(0);
        assert_eq!((dropped.verdicts, dropped.before, dropped.after), (0b10_0011, 64, 0));
    }

    #[test]
    fn records_are_parsed_as_far_as_they_are_whole() {
        let decision = Decision { rule: 2, verdict: 9, reason: 1 };
        let head = Record { captured_before: 3, captured_after: 2, decision, ..Record::default() };
        let mut bytes = head.to_bytes().to_vec();
        bytes.extend([1, 2, 3, 4, 5]);
        let packet = CapturedPacket::parse(&bytes).unwrap();
        assert_eq!(packet.bytes, [&[1, 2, 3][..], &[4, 5]]);
        assert_eq!((packet.verdict(), packet.rule()), (None, Some(2)));
        for short in 0..bytes.len() {
            assert_eq!(CapturedPacket::parse(&bytes[..short]), None, "{short}");
        }
    }

    #[test]
    fn a_reason_and_a_rule_select() {
        let reason = Selected::Reason(5).entry();
        assert_eq!((reason.reasons, reason.rule), (1 << 5, UNNUMBERED));
        let rule = Selected::Rule(3).entry();
        assert_eq!((rule.reasons, rule.rule), (u64::MAX, 3));
        assert_eq!(Selected::Reason(64).entry().reasons, 0);
    }

    #[test]
    fn changed_bytes_are_ranges() {
        fn packet<'a>(before: &'a [u8], after: &'a [u8]) -> CapturedPacket<'a> {
            CapturedPacket {
                lengths: [before.len() as u32, after.len() as u32],
                bytes: [before, after],
                ..CapturedPacket::default()
            }
        }
        let same = packet(b"abc", b"abc");
        assert!(!same.is_changed() && same.changed().is_empty());
        let two = packet(b"abcdef", b"aBCdeF");
        assert!(two.is_changed());
        assert_eq!(two.changed(), [1..3, 5..6]);
        let longer = packet(b"abc", b"abcd");
        assert!(longer.is_changed() && longer.is_resized() && longer.changed().is_empty());
        let one_point = CapturedPacket { bytes: [b"", b"abc"], ..two };
        assert_eq!(one_point.first().0, b"abc");
        assert!(!one_point.is_changed());
    }
}
