//! The tap: a random sample of received packets, with the decisions of the active rules; see
//! `bpf/filter/watch.h`.
//!
//! Rule: the first part samples packets and has one rule that selects among them; the second part
//! has the active rules, with their own maps. Not here: reading a ring buffer.

use std::time::Duration;

use spec::{Expect, Map, Spec};

use super::decision::Decision;
use super::parts::{prefix_map_names, prepare_maps, set_part};
use crate::abi::{self, Part, Policy, Reason, TapCounts};
use crate::maps::{KEPT, SEEN};
use crate::{Action, Policies, Rule, Ruleset, Test};

/// The most bytes of a packet that the tap copies, as `FILTER_KEPT_BYTES`.
pub const MAX_BYTES: usize = 512;

/// A sampled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TappedPacket<'a> {
    /// Time on the monotonic clock.
    pub time_ns: u64,
    /// The decision of the active rules.
    pub decision: Decision,
    /// The sampling rate: one in this number of packets.
    pub one_in: u32,
    /// Length of the frame.
    pub length: u32,
    pub interface: u32,
    pub queue: u32,
    /// The first bytes of the frame.
    pub bytes: &'a [u8],
}

impl<'a> TappedPacket<'a> {
    /// Parses a record; `None` if it is too short.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ abi::Tapped::SIZE }>()?;
        let head = abi::Tapped::from_bytes(head);
        Some(Self {
            time_ns: head.time,
            decision: head.decision.into(),
            one_in: head.one_in,
            length: head.length,
            interface: head.interface,
            queue: head.queue,
            bytes: bytes.get(..head.captured as usize)?,
        })
    }
}

/// The rules of the first part, which select packets by these tests, including malformed ones.
pub fn rules(tests: Vec<Test>) -> Ruleset {
    let mut policies = Policies::default();
    for anomaly in Reason::ALL {
        policies.set(anomaly, Policy::Judge);
    }
    let rule = Rule { name: "watched".to_owned(), tests, action: Action::Sample { one_in: 1 } };
    Ruleset { policies, rules: vec![rule], ..Ruleset::default() }
}

/// Makes a filter with [`rules`] the first part, which copies up to this number of bytes.
///
/// # Errors
/// The object is not the filter's.
pub fn make_tap(spec: &mut Spec, bytes: usize) -> Result<(), spec::Error> {
    set_part(spec, Part::Tap)?;
    let bytes = bytes.min(MAX_BYTES) as u32;
    spec.set_global("filter_kept_bytes", &bytes.to_le_bytes())?;
    prefix_map_names(spec, KEPT);
    Ok(())
}

/// Makes a filter the second part, with the active rules.
///
/// # Errors
/// The object is not the filter's.
pub fn make_active_part(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::Tapped)?;
    prepare_maps(spec, KEPT, &[(SEEN, RING)]);
    Ok(())
}

/// Samples one in `one_in` packets until a time on the monotonic clock, which the reader extends
/// again and again. `watching` is the map of that name of the first part.
pub fn set_sampling<M: Map>(watching: &M, one_in: u32, until_ns: u64) -> Result<(), M::Error> {
    let chance = u32::MAX / one_in.max(1);
    let settings = abi::Sampling { until: until_ns, chance, unused: 0 };
    watching.update(&[0; 4], &settings.to_bytes(), Expect::Any)
}

/// The number of packets, and of samples that were lost; `kept` is the map of that name.
pub fn counts<M: Map>(kept: &M) -> Result<TapCounts, M::Error> {
    let bytes = kept.lookup(&[0; 4])?.unwrap_or_default();
    let heads = bytes.chunks(ENTRY).filter_map(|entry| entry.first_chunk());
    Ok(heads.map(TapCounts::from_bytes).fold(TapCounts::default(), |sum, one| TapCounts {
        packets: sum.packets + one.packets,
        lost: sum.lost + one.lost,
    }))
}

/// The next sampling rate for about `wanted` samples per second, if one in `one_in` packets gave
/// `shown` samples (including lost ones) in the last `elapsed` time. The number of samples is
/// reduced immediately and raised in steps.
pub fn next_one_in(one_in: u32, shown: u64, elapsed: Duration, wanted: u32) -> u32 {
    let pps = shown as f64 * f64::from(one_in) / elapsed.as_secs_f64().max(1e-3);
    let fits = (pps / f64::from(wanted.max(1))).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    fits.max(one_in / 2).max(1)
}

/// Size of the ring buffer in bytes.
const RING: u32 = 1 << 21;
/// Size of the entry of [`KEPT`] of one processor in bytes.
const ENTRY: usize = TapCounts::SIZE + abi::Tapped::SIZE + MAX_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::plan::NO_RULE;
    use crate::maps::{self, WATCHING};
    use crate::runtime::parts::{is_temporary, new_name};
    use spec::{MemoryMap, Verdict};

    #[test]
    fn records_are_valid_or_invalid() {
        let decision = abi::Decision {
            rule: NO_RULE,
            verdict: Verdict::Pass as u32,
            reason: Reason::Default as u32,
        };
        let head = abi::Tapped {
            time: 7,
            decision,
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
        for length in 0..abi::Tapped::SIZE + 14 {
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
    fn the_sampling_rate_can_be_changed() {
        let map = MemoryMap::array(abi::Sampling::SIZE, 1);
        for (one_in, chance) in [(1, u32::MAX), (4, u32::MAX / 4), (0, u32::MAX), (u32::MAX, 1)] {
            set_sampling(&map, one_in, 5).unwrap();
            let bytes = map.lookup(&[0; 4]).unwrap().unwrap();
            let wanted = abi::Sampling { until: 5, chance, unused: 0 };
            assert_eq!(bytes, wanted.to_bytes(), "{one_in}");
        }
    }

    #[test]
    fn processors_are_added_up() {
        let map = MemoryMap::array(2 * ENTRY, 1);
        let mut bytes = vec![9; 2 * ENTRY];
        for (at, packets) in [(0, 5), (ENTRY, 7)] {
            let counts = TapCounts { packets, lost: 1 };
            bytes[at..at + TapCounts::SIZE].copy_from_slice(&counts.to_bytes());
        }
        map.update(&[0; 4], &bytes, Expect::Any).unwrap();
        assert_eq!(counts(&map).unwrap(), TapCounts { packets: 12, lost: 2 });
    }

    #[test]
    fn the_sampling_rate_follows_a_flood() {
        let interval = Duration::from_millis(20);
        // 400 per interval are 20,000 per second.
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
            assert_eq!(next_one_in(one_in, shown, interval, 20_000), next, "{one_in} {shown}");
        }
    }
}
