//! Watching: some packets as they came, with what the rules in force made of them, as
//! `bpf/filter/watch.h` does it.
//!
//! Rule: both parts are ordinary filters but for one global: in front a rule that says which of the
//! packets that are drawn are wanted, behind it the rules in force, with their own maps. What the
//! front counts and reads is its own. Not here: making one program of both, loading it, and reading
//! a ring buffer.

use std::time::Duration;

use spec::{Expect, Map, Spec};

use super::decision::Decision;
use super::parts::{prefix_map_names, prepare_maps, set_part};
use crate::abi::{self, Met, Part, Policy, Reason};
use crate::maps::{KEPT, SEEN};
use crate::{Action, Policies, Rule, Ruleset, Test};

/// Bytes of a packet that can be kept, as `FILTER_KEPT_BYTES`.
pub const MOST_BYTES: usize = 512;

/// A packet that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TappedPacket<'a> {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// What became of it.
    pub decision: Decision,
    /// It stands for so many.
    pub one_in: u32,
    /// Of the frame.
    pub length: u32,
    pub interface: u32,
    pub queue: u32,
    /// The frame's first bytes.
    pub bytes: &'a [u8],
}

impl<'a> TappedPacket<'a> {
    /// `None` for a record that is none: too short for what it says.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ abi::Seen::SIZE }>()?;
        let head = abi::Seen::from_bytes(head);
        Some(Self {
            time_ns: head.time,
            decision: head.opinion.into(),
            one_in: head.one_in,
            length: head.length,
            interface: head.interface,
            queue: head.queue,
            bytes: bytes.get(..head.captured as usize)?,
        })
    }
}

/// The rules in front: packets that these tests hold for, however odd they are.
pub fn rules(tests: Vec<Test>) -> Ruleset {
    let mut policies = Policies::default();
    for anomaly in Reason::ALL {
        policies.set(anomaly, Policy::Judge);
    }
    let rule = Rule { name: "watched".to_owned(), tests, action: Action::Sample { one_in: 1 } };
    Ruleset { policies, rules: vec![rule], ..Ruleset::default() }
}

/// Makes a filter of [`rules`] the part that draws, and keeps so many bytes of a packet.
///
/// # Errors
/// The object is not the filter's.
pub fn make_tap(spec: &mut Spec, bytes: usize) -> Result<(), spec::Error> {
    set_part(spec, Part::Draws)?;
    let bytes = bytes.min(MOST_BYTES) as u32;
    spec.set_global("filter_kept_bytes", &bytes.to_le_bytes())?;
    prefix_map_names(spec, KEPT);
    Ok(())
}

/// Makes a filter the part with the rules in force.
///
/// # Errors
/// The object is not the filter's.
pub fn make_active_part(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::Watched)?;
    prepare_maps(spec, KEPT, &[(SEEN, RING)]);
    Ok(())
}

/// Draws one packet in so many from now on, until a moment of the monotonic clock: who watches says
/// a later one before. `watching` is the front's map of that name.
pub fn set_sampling<M: Map>(watching: &M, one_in: u32, until_ns: u64) -> Result<(), M::Error> {
    let chance = u32::MAX / one_in.max(1);
    let draw = abi::Watching { until: until_ns, chance, unused: 0 };
    watching.update(&[0; 4], &draw.to_bytes(), Expect::Any)
}

/// What was met and lost so far; `kept` is the map of that name.
pub fn counts<M: Map>(kept: &M) -> Result<Met, M::Error> {
    let bytes = kept.lookup(&[0; 4])?.unwrap_or_default();
    let heads = bytes.chunks(ENTRY).filter_map(|entry| entry.first_chunk());
    Ok(heads.map(Met::from_bytes).fold(Met::default(), |sum, one| Met {
        packets: sum.packets + one.packets,
        lost: sum.lost + one.lost,
    }))
}

/// One packet in so many is to be drawn from now on, so that about `wanted` a second are shown,
/// when one in `one_in` was and that gave `shown` (with those that had no room) in the last
/// `elapsed` time. What is shown gets less at once and more by and by.
pub fn next_one_in(one_in: u32, shown: u64, elapsed: Duration, wanted: u32) -> u32 {
    let pps = shown as f64 * f64::from(one_in) / elapsed.as_secs_f64().max(1e-3);
    let fits = (pps / f64::from(wanted.max(1))).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    fits.max(one_in / 2).max(1)
}

/// Bytes of packets that wait to be read.
const RING: u32 = 1 << 21;
/// Bytes of an entry of [`KEPT`] for one processor.
const ENTRY: usize = Met::SIZE + abi::Seen::SIZE + MOST_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::plan::NO_RULE;
    use crate::maps::{self, WATCHING};
    use crate::runtime::parts::{is_temporary, new_name};
    use spec::{MemoryMap, Verdict};

    #[test]
    fn a_record_is_read_or_is_none() {
        let opinion = abi::Opinion {
            rule: NO_RULE,
            verdict: Verdict::Pass as u32,
            reason: Reason::Default as u32,
        };
        let head = abi::Seen {
            time: 7,
            opinion,
            one_in: 64,
            length: 1000,
            captured: 14,
            interface: 3,
            queue: 4,
        };
        let record = [head.to_bytes().as_slice(), &[9; 16]].concat();
        let seen = TappedPacket::parse(&record).unwrap();
        assert_eq!((seen.time_ns, seen.one_in, seen.length), (7, 64, 1000));
        assert_eq!((seen.interface, seen.queue, seen.bytes), (3, 4, &[9; 14][..]));
        assert_eq!((seen.decision.rule, seen.decision.verdict), (None, Verdict::Pass));
        for length in 0..abi::Seen::SIZE + 14 {
            assert_eq!(TappedPacket::parse(&record[..length]), None, "{length}");
        }
    }

    #[test]
    fn parts_share_the_packet_alone() {
        let filter = || Spec::parse("filter", crate::OBJECT).unwrap();
        let (mut front, mut behind) = (filter(), filter());
        make_tap(&mut front, 128).unwrap();
        make_active_part(&mut behind).unwrap();
        let both: Vec<_> =
            front.maps.iter().filter(|map| behind.map(&map.name).is_some()).collect();
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].name == KEPT && both[0].pin_by_name);
        assert_eq!(both[0].value_size as usize, ENTRY);
        assert_eq!(behind.map(SEEN).map(|map| map.max_entries), Some(RING));
        assert!(front.maps.iter().all(|map| is_temporary(&map.name)));
        assert!(is_temporary(SEEN) && !is_temporary(maps::COUNTS));
        assert_eq!(new_name(WATCHING), "new_filter_watching");
    }

    #[test]
    fn every_packet_is_judged() {
        let rules = rules(Vec::new());
        assert!(rules.policies.iter().all(|(_, policy)| policy == Policy::Judge));
        assert_eq!(rules.rules[0].action, Action::Sample { one_in: 1 });
    }

    #[test]
    fn how_many_are_drawn_can_be_changed() {
        let map = MemoryMap::array(abi::Watching::SIZE, 1);
        for (one_in, chance) in [(1, u32::MAX), (4, u32::MAX / 4), (0, u32::MAX), (u32::MAX, 1)] {
            set_sampling(&map, one_in, 5).unwrap();
            let bytes = map.lookup(&[0; 4]).unwrap().unwrap();
            let wanted = abi::Watching { until: 5, chance, unused: 0 };
            assert_eq!(bytes, wanted.to_bytes(), "{one_in}");
        }
    }

    #[test]
    fn processors_are_added_up() {
        let map = MemoryMap::array(2 * ENTRY, 1);
        let mut bytes = vec![9; 2 * ENTRY];
        for (at, packets) in [(0, 5), (ENTRY, 7)] {
            let met = Met { packets, lost: 1 };
            bytes[at..at + Met::SIZE].copy_from_slice(&met.to_bytes());
        }
        map.update(&[0; 4], &bytes, Expect::Any).unwrap();
        assert_eq!(counts(&map).unwrap(), Met { packets: 12, lost: 2 });
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
}
