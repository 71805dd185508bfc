//! `Sample`: records of the ring buffer of sampled packets.
//!
//! Rule: any bytes are a sample or an invalid record. Not here: reading a ring buffer, writing
//! captures.

use spec::Verdict;

use crate::abi::{self, Reason};
use crate::compile::plan::NO_RULE;

/// A packet that a rule sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time on the monotonic clock.
    pub time_ns: u64,
    /// Number of the rule that sampled it.
    pub rule: u32,
    /// Number of the rule that decided; `None` if the default or a policy did.
    pub decided_by: Option<u32>,
    pub verdict: Verdict,
    /// `None` for a reason that only a newer program has.
    pub reason: Option<Reason>,
    /// Length of the frame.
    pub length: u32,
    pub interface: u32,
    pub queue: u32,
    /// The first bytes of the frame.
    pub bytes: Vec<u8>,
}

impl Sample {
    /// Parses a record; `None` if it is too short.
    pub fn parse(record: &[u8]) -> Option<Self> {
        let (head, bytes) = record.split_first_chunk::<{ abi::Sample::SIZE }>()?;
        let head = abi::Sample::from_bytes(head);
        Some(Self {
            time_ns: head.time,
            rule: head.rule,
            decided_by: (head.decided_by != NO_RULE).then_some(head.decided_by),
            verdict: Verdict::from_code(head.verdict),
            reason: Reason::ALL.into_iter().find(|reason| *reason as u32 == head.reason),
            length: head.length,
            interface: head.interface,
            queue: head.queue,
            bytes: bytes.get(..head.captured as usize)?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(captured: u32) -> Vec<u8> {
        let head = abi::Sample {
            time: 7,
            rule: 1,
            decided_by: 2,
            verdict: Verdict::Drop as u32,
            reason: Reason::Rule as u32,
            length: 60,
            captured,
            interface: 3,
            queue: 4,
        };
        [head.to_bytes().as_slice(), &[9; 16]].concat()
    }

    #[test]
    fn a_record_becomes_a_sample() {
        let sample = Sample::parse(&record(14)).unwrap();
        assert_eq!((sample.time_ns, sample.rule, sample.decided_by), (7, 1, Some(2)));
        assert_eq!((sample.verdict, sample.reason), (Verdict::Drop, Some(Reason::Rule)));
        assert_eq!((sample.length, sample.interface, sample.queue), (60, 3, 4));
        assert_eq!(sample.bytes, [9; 14]);
    }

    #[test]
    fn truncated_records_are_invalid() {
        assert_eq!(Sample::parse(&record(17)), None);
        for length in 0..abi::Sample::SIZE {
            assert_eq!(Sample::parse(&record(0)[..length]), None);
        }
    }
}
