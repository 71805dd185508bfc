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
///
/// ```
/// use report::{Timeline, plot::Tone, timeline::Sample};
/// let mut timeline = Timeline::new("Under attack", "2 Mpps of UDP");
/// timeline.phase("quiet", 0.0, 10.0, Tone::Plain);
/// timeline.sample(Sample { t: 0.5, tps: 21e3, offered_pps: 0.0, dropped_pps: 0.0 });
/// assert_eq!(timeline.summary()?[0].tps.median, 21e3);
/// let svg = timeline.figure().to_string();
/// # Ok::<(), report::Error>(())
/// ```
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
        let phases = self.summary()?;
        let first = phases.first().map_or(0.0, |summary| summary.tps.median);
        let share = self.phases.first().map_or(String::new(), |first| format!("of {}", first.name));
        let columns = ["transactions", &share, "offered", "dropped"].map(Column::number);
        let mut table = Table::new([Column::text("phase")].into_iter().chain(columns));
        for Summary { phase, tps, offered_pps, dropped_pps } in &phases {
            table.row([
                phase.clone(),
                human(tps.median, "/s"),
                percent(tps.median, first),
                human(offered_pps.median, "pps"),
                human(dropped_pps.median, "pps"),
            ]);
        }
        Ok(table)
    }

    /// Transactions above, packets below, on one time axis; phases carry the
    /// median of the transactions and the share of the attack that XDP dropped.
    pub fn figure(&self) -> Svg {
        let served = Panel::new("Transactions", "/s")
            .area("transactions", 0, self.points(|sample| sample.tps))
            .notes(self.rates());
        let packets = Panel::new("Attack packets, with the share dropped", "pps")
            .area("offered", 1, self.points(|sample| sample.offered_pps))
            .area("dropped by XDP", 2, self.points(|sample| sample.dropped_pps))
            .notes(self.shares());
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

    /// The median of the transactions, for each phase that has one.
    fn rates(&self) -> Vec<String> {
        let rate = |phase| self.summarise(phase).map(|summary| human(summary.tps.median, "/s"));
        self.phases.iter().map(|phase| rate(phase).unwrap_or_default()).collect()
    }

    /// How much of the attack was dropped, for each phase that had one.
    fn shares(&self) -> Vec<String> {
        let share = |phase| {
            let Summary { offered_pps, dropped_pps, .. } = self.summarise(phase).ok()?;
            let offered = offered_pps.median;
            (offered > 0.0).then(|| percent(dropped_pps.median, offered))
        };
        self.phases.iter().map(|phase| share(phase).unwrap_or_default()).collect()
    }
}

/// Rounded down, so that only all of it is 100 %.
fn percent(part: f64, whole: f64) -> String {
    let share = (1000.0 * part / whole).floor() / 10.0;
    match share {
        share if !share.is_finite() => "-".into(),
        share if share == 0.0 || share >= 100.0 => format!("{share:.0} %"),
        share => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(t: f64, tps: f64, offered_pps: f64, dropped_pps: f64) -> Sample {
        Sample { t, tps, offered_pps, dropped_pps }
    }

    fn attack() -> Timeline {
        let mut timeline = Timeline::new("attack", "");
        timeline.phase("quiet", 0.0, 2.0, Tone::Plain).phase("flood", 2.0, 4.0, Tone::Danger);
        timeline.sample(sample(0.0, 1000.0, 0.0, 0.0)).sample(sample(1.0, 2000.0, 0.0, 0.0));
        timeline
            .sample(sample(2.0, 700.0, 2e6, 1.9999e6))
            .sample(sample(3.0, 800.0, 2e6, 1.9999e6));
        timeline
    }

    #[test]
    fn a_sample_counts_in_the_phase_in_which_it_lies() {
        let summary = attack().summary().unwrap();
        assert_eq!(summary[0].tps, Stats { min: 1e3, median: 1.5e3, max: 2e3, rounds: 2 });
        assert_eq!(summary[1].tps, Stats { min: 700.0, median: 750.0, max: 800.0, rounds: 2 });
    }

    #[test]
    fn a_phase_without_samples_is_named() {
        let mut timeline = attack();
        timeline.phase("late", 4.0, 5.0, Tone::Safe);
        let said = timeline.summary().unwrap_err().to_string();
        assert_eq!(said, "\"late\": no samples: measure at least one round");
        // The figure still shows what there is.
        assert!(timeline.figure().as_str().contains("late"));
    }

    #[test]
    fn almost_all_is_not_all() {
        let table = attack().table().unwrap().to_string();
        let want = "\
phase  transactions  of quiet    offered    dropped
─────  ────────────  ────────  ─────────  ─────────
quiet      1.50 k/s     100 %      0 pps      0 pps
flood        750 /s    50.0 %  2.00 Mpps  2.00 Mpps
";
        assert_eq!(table, want);
        assert!(attack().figure().as_str().contains(">99.9 %<"));
        assert_eq!(percent(1.0, 0.0), "-");
        assert_eq!(percent(0.0, 1.0), "0 %");
    }
}
