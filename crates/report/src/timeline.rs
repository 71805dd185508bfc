//! A service under attack, second by second: what it served, what was sent at it, what XDP
//! dropped.
//!
//! Rule: time is in seconds from the start, and a sample belongs to the phase in which it lies,
//! its end excluded. Not here: measuring, and judging the result.

use serde::{Deserialize, Serialize};

use crate::number::human;
use crate::plot::{Chart, Panel, Phase, Svg, Tone};
use crate::table::{Column, Table};
use crate::{Error, Samples, Stats};

/// Samples in the order of time, and the phases that they were taken in.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    pub title: String,
    pub subtitle: String,
    phases: Vec<Phase>,
    samples: Vec<Sample>,
}

/// What was seen at one moment: rates over the time since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from the start.
    pub t: f64,
    /// Transactions a second.
    pub tps: f64,
    pub offered_pps: f64,
    pub dropped_pps: f64,
}

/// Statistics over the samples of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub phase: String,
    pub tps: Stats,
    pub offered_pps: Stats,
    pub dropped_pps: Stats,
}

impl Timeline {
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Timeline {
        Timeline { title: title.into(), subtitle: subtitle.into(), ..Timeline::default() }
    }

    /// A phase from `start` to `end`, in seconds.
    pub fn phase(&mut self, name: &str, start: f64, end: f64, tone: Tone) -> &mut Timeline {
        self.phases.push(Phase { name: name.into(), start, end, tone });
        self
    }

    pub fn sample(&mut self, sample: Sample) -> &mut Timeline {
        self.samples.push(sample);
        self
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// One entry for each phase.
    ///
    /// # Errors
    /// A phase without samples, or with one that is no number; the error names the phase.
    pub fn summary(&self) -> Result<Vec<Summary>, Error> {
        self.phases.iter().map(|phase| self.summarise(phase)).collect()
    }

    /// Medians of each phase, and what share of the first phase's transactions is left.
    ///
    /// # Errors
    /// As [`Timeline::summary`].
    pub fn table(&self) -> Result<Table, Error> {
        let columns = ["transactions", "of first", "offered", "dropped"].map(Column::number);
        let mut table = Table::new([Column::text("phase")].into_iter().chain(columns));
        let phases = self.summary()?;
        let first = phases.first().map_or(0.0, |summary| summary.tps.median);
        for Summary { phase, tps, offered_pps, dropped_pps } in &phases {
            let share = (100.0 * tps.median / first).round();
            table.row([
                phase.clone(),
                human(tps.median, "/s"),
                human(share, "%"),
                human(offered_pps.median, "pps"),
                human(dropped_pps.median, "pps"),
            ]);
        }
        Ok(table)
    }

    /// Transactions above, packets below, on one time axis; phases carry their medians.
    pub fn figure(&self) -> Svg {
        let served = Panel::new("Transactions", "/s")
            .area("transactions", 0, self.points(|sample| sample.tps))
            .notes(self.medians("/s", |sample| sample.tps));
        let packets = Panel::new("Attack packets", "pps")
            .area("offered", 1, self.points(|sample| sample.offered_pps))
            .area("dropped by XDP", 2, self.points(|sample| sample.dropped_pps))
            .notes(self.medians("pps", |sample| sample.offered_pps));
        let chart = Chart::new(&self.title, "s").subtitle(&self.subtitle);
        let chart = self.phases.iter().cloned().fold(chart, Chart::phase);
        chart.panel(served).panel(packets).to_svg()
    }

    fn summarise(&self, phase: &Phase) -> Result<Summary, Error> {
        let stats = |field: fn(&Sample) -> f64| {
            let values: Vec<f64> = self.within(phase).map(field).collect();
            Samples::new(values).map(|set| set.stats()).map_err(|fault| fault.in_row(&phase.name))
        };
        Ok(Summary {
            phase: phase.name.clone(),
            tps: stats(|sample| sample.tps)?,
            offered_pps: stats(|sample| sample.offered_pps)?,
            dropped_pps: stats(|sample| sample.dropped_pps)?,
        })
    }

    fn within<'a>(&'a self, phase: &'a Phase) -> impl Iterator<Item = &'a Sample> {
        let inside = |sample: &&Sample| phase.start <= sample.t && sample.t < phase.end;
        self.samples.iter().filter(inside)
    }

    fn points(&self, field: fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        self.samples.iter().map(|sample| (sample.t, field(sample))).collect()
    }

    /// One median for each phase, as text; a phase that has none gets an empty one.
    fn medians(&self, unit: &str, field: fn(&Sample) -> f64) -> Vec<String> {
        let median = |phase| {
            let values: Vec<f64> = self.within(phase).map(field).collect();
            Samples::new(values).map_or(String::new(), |set| human(set.stats().median, unit))
        };
        self.phases.iter().map(median).collect()
    }
}
