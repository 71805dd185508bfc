//! Rates: two readings of counters and the time between them.

use std::collections::BTreeMap;

use functions::stats::Count;
use serde::Serialize;
use spec::Verdict;

use crate::counters::Counts;

/// Packets of a program, by verdict and reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rates {
    /// Every verdict, including those without packets.
    pub verdicts: BTreeMap<&'static str, Rate>,
    /// Return values that are not valid verdicts.
    pub invalid: Rate,
    /// Empty for a program that does not give reasons.
    pub reasons: Vec<Reason>,
}

/// Packets with the same verdict and the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    pub verdict: &'static str,
    pub reason: String,
    #[serde(flatten)]
    pub rate: Rate,
}

/// Totals since the program was attached, and rates over the interval. `bps` is bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    pub packets: u64,
    pub bytes: u64,
    pub pps: f64,
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
