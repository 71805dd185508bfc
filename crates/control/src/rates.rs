//! Rates: two readings of counters and the time between them.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use functions::stats::Count;
use serde::Serialize;
use spec::Verdict;

use crate::counters::Counts;

/// Packets of a program, by verdict and reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Packets by verdict, always all five.
    pub verdicts: BTreeMap<&'static str, Rate>,
    /// Packets with return values that are not valid verdicts; they are dropped.
    pub invalid: Rate,
    /// Packets by the reasons that a built-in program gives for its verdicts, those that occurred;
    /// empty for other programs.
    pub reasons: Vec<Reason>,
}

/// Packets with the same verdict and the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// The verdict.
    pub verdict: &'static str,
    /// The reason that the program gives for it.
    pub reason: String,
    #[serde(flatten)]
    pub rate: Rate,
}

/// Totals, and rates over the interval. `bps` is bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Packets since they were first counted: those of a program since it was loaded, over all
    /// interfaces that run it.
    pub packets: u64,
    /// Bytes of these packets, from the Ethernet header on, without checksum.
    pub bytes: u64,
    /// Packets per second over the interval.
    pub pps: f64,
    /// Bits per second over the interval.
    pub bps: f64,
}

impl Rates {
    /// Rates between two readings that are `seconds` apart.
    pub fn between(before: &Counts, now: &Counts, seconds: f64) -> Self {
        let rate = |old, new| Rate::between(old, new, seconds);
        let verdict = |verdict| rate(before.verdict(verdict), now.verdict(verdict));
        let reasons = now.reasons.iter().map(|((verdict, reason), count)| Reason {
            verdict: verdict.name(),
            reason: reason.clone(),
            rate: rate(
                before.reasons.get(&(*verdict, reason.clone())).copied().unwrap_or_default(),
                *count,
            ),
        });
        Self {
            verdicts: Verdict::ALL.into_iter().map(|one| (one.name(), verdict(one))).collect(),
            invalid: rate(before.invalid, now.invalid),
            reasons: reasons.collect(),
        }
    }
}

impl AddAssign for Rate {
    fn add_assign(&mut self, other: Self) {
        self.packets = self.packets.wrapping_add(other.packets);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.pps += other.pps;
        self.bps += other.bps;
    }
}

impl Rate {
    /// The rate between two counts that are `seconds` apart; 0 if no time passed.
    pub fn between(before: Count, now: Count, seconds: f64) -> Self {
        let per_second = |old: u64, new: u64| match seconds {
            none if none <= 0.0 => 0.0,
            seconds => new.saturating_sub(old) as f64 / seconds,
        };
        Self {
            packets: now.packets,
            bytes: now.bytes,
            pps: per_second(before.packets, now.packets),
            bps: 8.0 * per_second(before.bytes, now.bytes),
        }
    }
}
