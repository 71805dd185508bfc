//! Trials: new rules process the same packets as the active rules, without effect; see
//! `bpf/filter/try.h`.
//!
//! Rule: the first part has the new rules, the second part the active ones. Not here: loading the
//! program, and names of rules.

use spec::{Map, Spec};

use super::decision::Decision;
use super::parts::{prefix_map_names, prepare_maps, set_part};
use crate::abi::{self, Part};
use crate::maps::{CHANGES, PAIRS};

/// Packets with the same pair of decisions of the active and the new rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionPair {
    pub old: Decision,
    pub new: Decision,
    pub packets: u64,
    pub bytes: u64,
}

/// A packet that would get another verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPacket {
    /// Time on the monotonic clock.
    pub time_ns: u64,
    pub old: Decision,
    pub new: Decision,
    /// Length of the frame.
    pub length: u32,
    /// The first bytes of the frame.
    pub bytes: Vec<u8>,
}

/// Makes a filter the first part, with the new rules.
///
/// # Errors
/// The object is not the filter's.
pub fn make_new(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::New)?;
    prefix_map_names(spec, OPINION);
    Ok(())
}

/// Makes a filter the second part, with the active rules.
///
/// # Errors
/// The object is not the filter's.
pub fn make_old(spec: &mut Spec) -> Result<(), spec::Error> {
    set_part(spec, Part::Old)?;
    prepare_maps(spec, OPINION, &[(PAIRS, MOST_PAIRS), (CHANGES, RING)]);
    Ok(())
}

/// All pairs of decisions, with the most frequent first.
pub fn pairs<M: Map>(map: &M) -> Result<Vec<DecisionPair>, M::Error> {
    let mut pairs = Vec::new();
    for key in map.keys()? {
        let (Some(value), Ok(key)) = (map.lookup(&key)?, key.as_slice().try_into()) else {
            continue;
        };
        let key = abi::Pair::from_bytes(key);
        let mut pair =
            DecisionPair { old: key.old.into(), new: key.fresh.into(), packets: 0, bytes: 0 };
        for part in value.as_chunks::<{ abi::Tally::SIZE }>().0 {
            let tally = abi::Tally::from_bytes(part);
            pair.packets += tally.packets;
            pair.bytes += tally.bytes;
        }
        pairs.push(pair);
    }
    pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.packets), pair.old, pair.new));
    Ok(pairs)
}

impl ChangedPacket {
    /// Parses a record; `None` if it is too short.
    pub fn parse(record: &[u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ abi::Change::SIZE }>()?;
        let head = abi::Change::from_bytes(head);
        Some(Self {
            time_ns: head.time,
            old: head.pair.old.into(),
            new: head.pair.fresh.into(),
            length: head.length,
            bytes: bytes.get(..head.captured as usize)?.to_vec(),
        })
    }
}

const OPINION: &str = "filter_opinion";
/// The most pairs of decisions that are counted.
const MOST_PAIRS: u32 = 1 << 14;
/// Size of the ring buffer in bytes.
const RING: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use spec::Verdict;

    use super::*;
    use crate::Reason;
    use crate::compile::plan::NO_RULE;

    #[test]
    fn a_record_becomes_a_changed_packet() {
        let decision = |rule, verdict: Verdict, reason: Reason| abi::Decision {
            rule,
            verdict: verdict as u32,
            reason: reason as u32,
        };
        let pair = abi::Pair {
            old: decision(NO_RULE, Verdict::Pass, Reason::Default),
            fresh: decision(3, Verdict::Drop, Reason::Rule),
        };
        let head = abi::Change { time: 7, pair, length: 60, captured: 14 };
        let record = [head.to_bytes().as_slice(), &[9; 16]].concat();
        let changed = ChangedPacket::parse(&record).unwrap();
        assert_eq!((changed.time_ns, changed.length, changed.bytes.len()), (7, 60, 14));
        assert_eq!((changed.old.rule, changed.new.rule), (None, Some(3)));
        assert_eq!((changed.old.verdict, changed.new.verdict), (Verdict::Pass, Verdict::Drop));
        assert_eq!(changed.old.reason, Some(Reason::Default));
        for length in 0..abi::Change::SIZE + 14 {
            assert_eq!(ChangedPacket::parse(&record[..length]), None, "{length}");
        }
    }

    #[test]
    fn parts_have_maps_with_different_names() {
        let filter = || Spec::parse("filter", crate::OBJECT).unwrap();
        let (mut new, mut old) = (filter(), filter());
        make_new(&mut new).unwrap();
        make_old(&mut old).unwrap();
        let both: Vec<_> = new.maps.iter().filter(|map| old.map(&map.name).is_some()).collect();
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(both[0].name == OPINION && both[0].pin_by_name);
        assert_eq!(old.map(PAIRS).map(|map| map.max_entries), Some(MOST_PAIRS));
    }
}
