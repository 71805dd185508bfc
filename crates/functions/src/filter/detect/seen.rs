//! What the program shows of the traffic (`bpf/filter/watch.h`), and how much of it.
//!
//! Rule: any bytes give a record or none. Not here: reading a ring buffer.

use std::time::Duration;

use spec::Spec;

use super::Fate;
use crate::filter::abi::{self, Reason};
use crate::filter::trial::Opinion;
use spec::Verdict;

/// The ring buffer's name in the object, and that of the map that says how many are shown.
pub const SEEN: &str = "filter_seen";
pub const ONE_IN: &str = "filter_one_in";

/// A packet that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// What became of it.
    pub opinion: Opinion,
    /// It stands for so many.
    pub one_in: u32,
    /// Of the frame.
    pub length: u32,
    /// The frame's first bytes.
    pub bytes: &'a [u8],
}

impl<'a> Seen<'a> {
    /// `None` for a record that is none: too short for what it says.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ abi::Seen::SIZE }>()?;
        let head = abi::Seen::from_bytes(head);
        Some(Self {
            time_ns: head.time,
            opinion: head.opinion.into(),
            one_in: head.one_in,
            length: head.length,
            bytes: bytes.get(..head.captured as usize)?,
        })
    }

    pub fn fate(&self) -> Fate {
        match (self.opinion.verdict, self.opinion.reason) {
            (Verdict::Drop | Verdict::Aborted | Verdict::Tx, _) => Fate::Dropped,
            (_, Some(Reason::Rule | Reason::LaterFragment)) => Fate::Chosen,
            _ => Fate::Open,
        }
    }
}

/// Makes a filter show packets to user space; none before [`ONE_IN`] says how many.
///
/// # Errors
/// The object is not the filter's.
pub fn open(spec: &mut Spec) -> Result<(), spec::Error> {
    spec.set_global("filter_watched", &1_u32.to_le_bytes())?;
    if let Some(map) = spec.maps.iter_mut().find(|map| map.name == SEEN) {
        map.max_entries = RING;
    }
    Ok(())
}

/// One packet in so many is to be shown from now on, so that about `wanted` a second are, when one
/// in `one_in` was and that gave `shown` (with those that had no room) in the last `elapsed` time.
/// What is shown gets less at once and more by and by.
pub fn next_one_in(one_in: u32, shown: u64, elapsed: Duration, wanted: u32) -> u32 {
    let pps = shown as f64 * f64::from(one_in) / elapsed.as_secs_f64().max(1e-3);
    let fits = (pps / f64::from(wanted.max(1))).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    fits.max(one_in / 2).max(1)
}

/// Bytes of packets that wait to be read.
const RING: u32 = 1 << 21;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::plan::NO_RULE;

    #[test]
    fn a_record_is_read_or_is_none() {
        let opinion = abi::Opinion {
            rule: NO_RULE,
            verdict: Verdict::Pass as u32,
            reason: Reason::Default as u32,
        };
        let head = abi::Seen { time: 7, opinion, one_in: 64, length: 1000, captured: 14 };
        let record = [head.to_bytes().as_slice(), &[9; 16]].concat();
        let seen = Seen::parse(&record).unwrap();
        assert_eq!(
            (seen.time_ns, seen.one_in, seen.length, seen.bytes),
            (7, 64, 1000, &[9; 14][..])
        );
        assert_eq!(seen.fate(), Fate::Open);
        for length in 0..abi::Seen::SIZE + 14 {
            assert_eq!(Seen::parse(&record[..length]), None, "{length}");
        }
    }

    #[test]
    fn what_became_of_a_packet() {
        let of = |verdict, reason| {
            let opinion = Opinion { rule: Some(1), verdict, reason: Some(reason) };
            Seen { time_ns: 0, opinion, one_in: 1, length: 0, bytes: &[] }.fate()
        };
        assert_eq!(of(Verdict::Drop, Reason::Limited), Fate::Dropped);
        assert_eq!(of(Verdict::Pass, Reason::Rule), Fate::Chosen);
        assert_eq!(of(Verdict::Redirect, Reason::Rule), Fate::Chosen);
        assert_eq!(of(Verdict::Pass, Reason::Default), Fate::Open);
        assert_eq!(of(Verdict::Pass, Reason::Options), Fate::Open);
    }

    #[test]
    fn a_flood_that_begins_shows_no_more_than_is_read() {
        let look = Duration::from_millis(20);
        // 400 a look are 20,000 a second.
        for (one_in, shown, next) in [
            (1, 0, 1),
            (1, 400, 1),
            (1, 401, 2),
            (1, 40_000, 100),
            (100, 400, 100),
            (100, 0, 50),
            (3, 0, 1),
            (u32::MAX, u64::from(u32::MAX), u32::MAX),
        ] {
            assert_eq!(next_one_in(one_in, shown, look, 20_000), next, "{one_in} {shown}");
        }
    }

    #[test]
    fn the_object_is_opened() {
        let mut spec = Spec::parse("filter", crate::filter::OBJECT).unwrap();
        open(&mut spec).unwrap();
        assert_eq!(spec.map(SEEN).map(|map| map.max_entries), Some(RING));
        assert_eq!(spec.map(ONE_IN).map(|map| map.value_size), Some(4));
    }
}
