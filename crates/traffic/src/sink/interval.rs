//! `Interval`: counters of a sink, and rates between two readings.

use serde::Serialize;

use super::report::{SinkReport, StreamReport};
use crate::histogram::{Histogram, Quantiles};
use crate::rate::per_second;

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
