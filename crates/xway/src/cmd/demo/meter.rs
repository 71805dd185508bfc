//! Rates from totals, for each phase.
//!
//! Rule: only measured time counts. The clock stops between phases, while programs are exchanged,
//! so that phases are adjacent in the figure.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use control::filter::report::FilterReport;
use report::timeline::Sample;

use super::phase::Phase;
use super::stage::{Scene, Totals};
use crate::view::demo::Progress;

/// All samples of a run.
#[derive(Debug)]
pub struct Meter {
    /// When the current phase began, and where that is on the run's own clock.
    start: Instant,
    base_s: f64,
    pub phases: Vec<Measured>,
    last: (f64, Totals),
}

/// One phase: its samples and its rates over its whole time.
#[derive(Clone, Debug)]
pub struct Measured {
    pub phase: Phase,
    /// Seconds from the start of the run.
    pub start_s: f64,
    pub end_s: f64,
    pub samples: Vec<Sample>,
    pub tps: f64,
    pub offered_pps: f64,
    pub dropped_pps: f64,
    /// Share of its processor that the server's receive thread used, 0 to 1.
    pub cpu: f64,
    pub reconnects: u64,
    /// What the filter's rules counted, where there were any.
    pub filter: Option<FilterReport>,
    first: Totals,
}

impl Meter {
    pub fn new() -> Self {
        Self { start: Instant::now(), base_s: 0.0, phases: Vec::new(), last: Default::default() }
    }

    pub fn begin(&mut self, phase: Phase, scene: &Scene<'_>) -> Result<()> {
        let first = scene.totals()?;
        self.base_s = self.phases.last().map_or(0.0, |phase| phase.end_s);
        self.start = Instant::now();
        let now = self.base_s;
        self.last = (now, first);
        self.phases.push(Measured {
            phase,
            start_s: now,
            end_s: now,
            samples: Vec::new(),
            tps: 0.0,
            offered_pps: 0.0,
            dropped_pps: 0.0,
            cpu: 0.0,
            reconnects: 0,
            filter: None,
            first,
        });
        Ok(())
    }

    pub fn sample(&mut self, scene: &Scene<'_>) -> Result<()> {
        let (now, totals) = (self.now(), scene.totals()?);
        let (then, before) = std::mem::replace(&mut self.last, (now, totals));
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / (now - then).max(1e-9);
        let current = self.phases.last_mut().context("a sample outside of any phase")?;
        current.samples.push(Sample {
            t: f64::midpoint(then, now),
            tps: rate(totals.answers, before.answers),
            offered_pps: rate(totals.offered, before.offered),
            dropped_pps: rate(totals.dropped, before.dropped),
        });
        current.close(now, totals);
        Ok(())
    }

    pub fn end(&mut self, scene: &Scene<'_>) -> Result<()> {
        let (now, totals) = (self.now(), scene.totals()?);
        let current = self.phases.last_mut().context("no phase to end")?;
        current.close(now, totals);
        current.reconnects = scene.reconnects();
        current.filter = scene.filter()?;
        Ok(())
    }

    /// What a live view shows now.
    pub fn progress(&self, phase: Phase, length: Duration) -> Progress {
        let all = length.as_secs_f64() * Phase::ALL.len() as f64;
        let samples = self.phases.iter().flat_map(|phase| &phase.samples);
        let history: Vec<u64> = samples.clone().map(|sample| sample.tps as u64).collect();
        let last = samples.last();
        Progress {
            done: self.now() / all,
            seconds_left: (all - self.now()).max(0.0),
            title: phase.title(),
            tps: last.map_or(0.0, |sample| sample.tps),
            offered_pps: last.map_or(0.0, |sample| sample.offered_pps),
            dropped_pps: last.map_or(0.0, |sample| sample.dropped_pps),
            history,
        }
    }

    fn now(&self) -> f64 {
        self.base_s + self.start.elapsed().as_secs_f64()
    }
}

impl Measured {
    /// Rates from the phase's beginning until now.
    fn close(&mut self, now: f64, totals: Totals) {
        let seconds = (now - self.start_s).max(1e-9);
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        self.end_s = now;
        self.tps = rate(totals.answers, self.first.answers);
        self.offered_pps = rate(totals.offered, self.first.offered);
        self.dropped_pps = rate(totals.dropped, self.first.dropped);
        self.cpu = rate(totals.receive_ns, self.first.receive_ns) / 1e9;
    }
}
