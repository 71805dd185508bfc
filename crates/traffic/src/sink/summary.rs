//! `Summary` and `Interval`: what a sink's report says in the end, and between two readings.

use serde::Serialize;

use super::report::{SinkReport, StreamReport};
use crate::histogram::{Histogram, Quantiles};
use crate::rate::per_second;
use crate::stamp::Expect;

/// What arrived, with its sums and the judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Streams that were seen, sorted by id.
    pub streams: Vec<StreamReport>,
    /// Different frames of all streams that arrived whole.
    pub received: u64,
    /// Lost frames of all streams.
    pub lost: u64,
    /// Frames of all streams that did not behave as `expect` says.
    pub wrong: u64,
    /// Time from the sink's start, in seconds.
    pub seconds: f64,
    /// Frames without a stamp, which were left to the stack.
    pub foreign: u64,
    /// Bytes of the frames without a stamp.
    pub foreign_bytes: u64,
    /// Frames with a damaged stamp that names no known stream.
    pub damaged: u64,
    /// Frames of more streams or senders than there is room for.
    pub beyond: u64,
    /// Frames that were not read in time, with `--via stack`; they are among the lost ones.
    pub missed: u64,
    /// Whether all frames behaved as expected.
    pub judgement: Judgement,
}

/// Whether all frames behaved as expected, and what did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// `false` when frames were lost, let through, corrupted, duplicated or beyond, or none
    /// arrived. Reordered frames are no reason.
    pub good: bool,
    /// What is wrong, a sentence for people each.
    pub reasons: Vec<String>,
}

/// Counters of all streams, and rates since the reading before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds since the sink's start.
    pub t: f64,
    /// Different frames that arrived whole so far.
    pub received: u64,
    /// Lost frames so far.
    pub lost: u64,
    /// Reordered frames so far.
    pub reordered: u64,
    /// Duplicated frames so far.
    pub duplicated: u64,
    /// Corrupted frames so far.
    pub corrupted: u64,
    /// Frames received per second since the line before.
    pub pps: f64,
    /// Bits received per second since the line before.
    pub bps: f64,
    /// Latency of the frames since the line before, all streams together.
    pub latency_ns: Quantiles,
}

impl From<SinkReport> for Summary {
    fn from(report: SinkReport) -> Self {
        Self {
            received: report.received(),
            lost: report.lost(),
            wrong: report.wrong(),
            seconds: report.elapsed.as_secs_f64(),
            foreign: report.foreign,
            foreign_bytes: report.foreign_bytes,
            damaged: report.damaged,
            beyond: report.beyond,
            missed: report.missed,
            judgement: Judgement::of(&report),
            streams: report.streams,
        }
    }
}

impl Judgement {
    /// Networks may reorder frames, but not lose, admit, damage or duplicate them.
    pub fn of(report: &SinkReport) -> Self {
        let sum = |expect, field: fn(&StreamReport) -> u64| -> u64 {
            report.streams.iter().filter(|one| one.expect == expect).map(field).sum()
        };
        let counts = [
            (sum(Expect::Pass, |one| one.lost), "frames lost that should have arrived"),
            (sum(Expect::Drop, |one| one.wrong), "frames arrived that should not have"),
            (sum(Expect::Pass, |one| one.corrupted) + report.damaged, "frames corrupted"),
            (sum(Expect::Pass, |one| one.duplicated), "frames twice"),
            (report.beyond, "frames of streams without room"),
        ];
        let wrong = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut reasons: Vec<_> = wrong.map(|(count, what)| format!("{count} {what}")).collect();
        if report.streams.is_empty() {
            reasons.push("no stamped frame arrived".to_owned());
        }
        Self { good: reasons.is_empty(), reasons }
    }
}

impl Interval {
    /// The counters of `now`, and the rates since `before`.
    pub fn between(before: &SinkReport, now: &SinkReport) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let sum = |field: fn(&StreamReport) -> u64| now.streams.iter().map(field).sum();
        let bytes = |report: &SinkReport| report.streams.iter().map(|one| one.bytes).sum::<u64>();
        let rate = |old: u64, new: u64| per_second(new.saturating_sub(old) as f64, seconds);
        Self {
            t: now.elapsed.as_secs_f64(),
            received: now.received(),
            lost: now.lost(),
            reordered: sum(|one| one.reordered),
            duplicated: sum(|one| one.duplicated),
            corrupted: sum(|one| one.corrupted),
            pps: rate(before.received(), now.received()),
            bps: 8.0 * rate(bytes(before), bytes(now)),
            latency_ns: latency(now).since(&latency(before)).quantiles(),
        }
    }
}

/// Latency of all streams together.
fn latency(report: &SinkReport) -> Histogram {
    let mut all = Histogram::default();
    report.streams.iter().for_each(|one| all.add(&one.latency_ns));
    all
}
