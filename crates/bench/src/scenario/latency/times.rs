//! The latency of frames between two readings of a sink.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use traffic::Histogram;
use traffic::sink::StreamReport;

use crate::harness::Value;
use crate::transient::Transient;

/// Latencies of all frames that arrived between two readings.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram,
    /// Packets a second.
    offered: f64,
    /// Percent of the sent frames.
    lost: f64,
}

impl Times {
    /// Each reading: time, number of sent frames, arrivals.
    pub fn between(
        (start, given, before): (Instant, u64, StreamReport),
        (end, given_then, after): (Instant, u64, StreamReport),
    ) -> Result<Self> {
        let histogram = after.latency_ns.since(&before.latency_ns);
        ensure!(!histogram.is_empty(), Transient::NoFrames);
        let offered = (given_then - given) as f64 / (end - start).as_secs_f64();
        let arrived = after.received.saturating_sub(before.received);
        let lost = after.lost.saturating_sub(before.lost) as f64;
        let lost = 100.0 * lost / (lost + arrived as f64);
        Ok(Self { histogram, offered, lost })
    }

    /// The sender kept its rate.
    ///
    /// # Errors
    /// It did not; the reason may be transient.
    pub fn check(&self, pps: u64) -> Result<()> {
        Ok(self.kept(pps, TOLERANCE)?)
    }

    /// Checks that the sender nearly kept its rate, and that losses are negligible.
    ///
    /// # Errors
    /// It did not, or frames were lost; the reason may be transient.
    pub fn carried(&self, pps: u64) -> Result<(), Transient> {
        self.kept(pps, NARROW)?;
        let is_carried = self.lost <= CARRIED;
        is_carried.then_some(()).ok_or(Transient::Loss { percent: self.lost })
    }

    fn kept(&self, pps: u64, tolerance: f64) -> Result<(), Transient> {
        let off = (self.offered / pps as f64 - 1.0).abs();
        // A window of a few frames has one more or less.
        let most = tolerance.max(1.5 / self.histogram.count() as f64);
        (off <= most).then_some(()).ok_or(Transient::Rate { wanted: pps, sent: self.offered })
    }

    /// Rows of a cell.
    pub fn values(&self, cell: &str) -> Result<Vec<Value>> {
        let none = || "no times";
        let ns = |what: &str, value: f64| Value::new(format!("{what}/{cell}"), "ns", value);
        let share = |what: &str, value| Value::new(format!("{what}/{cell}"), "%", value);
        let quantile = |at: f64| self.histogram.quantile(at).map(f64::from).with_context(none);
        Ok(vec![
            ns("avg", self.histogram.mean().with_context(none)?),
            ns("p50", quantile(0.5)?),
            ns("p99", quantile(0.99)?),
            ns("max", quantile(1.0)?),
            share("below-10us", self.below(SOON_NS)),
            share("lost", self.lost),
        ])
    }

    /// Percent of frames that took less.
    fn below(&self, ns: u32) -> f64 {
        let soon = self.histogram.buckets().filter(|(range, _)| *range.end() < ns);
        let soon: u64 = soon.map(|(_, count)| count).sum();
        100.0 * soon as f64 / self.histogram.count() as f64
    }
}

/// Relative tolerance of a rate, in a round.
const TOLERANCE: f64 = 0.1;
/// Relative tolerance of a rate, and share of lost frames, in a trial of the highest rate.
const NARROW: f64 = 0.03;
const CARRIED: f64 = 1.0;
/// Limit of fast frames, ten microseconds.
const SOON_NS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[(u32, u64)], offered: f64, lost: f64) -> Times {
        let mut histogram = Histogram::default();
        values.iter().for_each(|(value, times)| histogram.record_many(*value, *times));
        Times { histogram, offered, lost }
    }

    #[test]
    fn rows_are_of_all_frames() {
        let values = times(&[(5_000, 97), (20_000, 2), (1 << 20, 1)], 100.0, 0.5).values("x@100");
        let values: Vec<_> = values.unwrap().into_iter().map(|value| value.value).collect();
        let near = |at: usize, want: f64| (values[at] / want - 1.0).abs() < 0.02;
        assert!(near(0, (97.0 * 5e3 + 2.0 * 2e4 + 1_048_576.0) / 100.0), "{values:?}");
        assert!(near(1, 5e3) && near(2, 2e4) && near(3, 1_048_576.0), "{values:?}");
        assert_eq!(&values[4..], [97.0, 0.5]);
    }

    #[test]
    fn rates_that_were_not_kept_and_lost_frames_are_reported() {
        let many = &[(5_000, 1_000_000)];
        assert!(times(many, 1e6, 0.9).carried(1_000_000).is_ok());
        assert!(times(many, 0.98e6, 1.0).carried(1_000_000).is_ok());
        assert!(times(many, 0.96e6, 0.0).carried(1_000_000).is_err());
        assert!(times(many, 0.96e6, 20.0).check(1_000_000).is_ok());
        let late = times(many, 0.8e6, 0.0).check(1_000_000).unwrap_err();
        assert!(Transient::is_reason_of(&late), "it may keep it the next time");
        let slow = times(many, 8e5, 0.0).carried(1_000_000).unwrap_err().to_string();
        assert_eq!(slow, "the sender was to send 1000000 a second and sent 800000");
        let lossy = times(many, 1e6, 20.0).carried(1_000_000).unwrap_err().to_string();
        assert_eq!(lossy, "20 % are lost");
        assert!(times(&[(5_000, 5)], 120.0, 0.0).check(100).is_ok(), "one more of five");
    }
}
