//! A service under attack, second by second: what it served, what was sent at it, what XDP
//! dropped.
//!
//! Rule: time is in seconds from the start, and a sample belongs to the phase in which it lies,
//! its end excluded. Not here: measuring, and judging the result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::number::human;
use crate::plot::{Chart, Panel, Phase, Svg, Tone};

/// Samples in the order of time, and the phases that they were taken in.
///
/// ```
/// use report::{Timeline, plot::Tone, timeline::Sample};
/// let mut timeline = Timeline::new("Under attack", "2 Mpps of UDP");
/// timeline.phase("quiet", 0.0, 10.0, Tone::Plain);
/// timeline.sample(Sample { t: 0.5, tps: 21e3, offered_pps: 0.0, dropped_pps: 0.0 });
/// assert!(timeline.figure().as_str().contains("21.0 k/s"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// Heading of the figure.
    pub title: String,
    /// Line below the heading.
    pub subtitle: String,
    phases: Vec<Phase>,
    /// Rates that were measured over whole phases, by the number of the phase.
    measured: BTreeMap<usize, Means>,
    samples: Vec<Sample>,
}

/// What was seen at one moment: rates over the time since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from the start.
    pub t: f64,
    /// Transactions a second.
    pub tps: f64,
    /// Packets per second that were sent.
    pub offered_pps: f64,
    /// Packets per second that were dropped.
    pub dropped_pps: f64,
}

/// Rates over one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
    /// Transactions a second.
    pub tps: f64,
    /// Packets per second that were sent.
    pub offered_pps: f64,
    /// Packets per second that were dropped.
    pub dropped_pps: f64,
}

impl Timeline {
    /// A timeline without samples.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Timeline {
        Timeline { title: title.into(), subtitle: subtitle.into(), ..Timeline::default() }
    }

    /// A phase from `start` to `end`, in seconds.
    pub fn phase(&mut self, name: &str, start: f64, end: f64, tone: Tone) -> &mut Timeline {
        self.phases.push(Phase { name: name.into(), start, end, tone });
        self
    }

    /// Sets the rates of the last phase, which were measured over its whole time. Without them, the
    /// means of its samples are shown, whose times may differ.
    pub fn means_of_phase(&mut self, means: Means) -> &mut Timeline {
        if let Some(last) = self.phases.len().checked_sub(1) {
            self.measured.insert(last, means);
        }
        self
    }

    /// Adds a sample.
    pub fn sample(&mut self, sample: Sample) -> &mut Timeline {
        self.samples.push(sample);
        self
    }

    /// All samples so far.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Transactions above, packets below, on one time axis; phases carry the mean of the
    /// transactions (a service that stalls half of the time serves half) and the share of the
    /// attack that XDP dropped.
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

    /// `None` for a phase without samples.
    fn means(&self, number: usize) -> Option<Means> {
        if let Some(measured) = self.measured.get(&number) {
            return Some(*measured);
        }
        let phase = &self.phases[number];
        let count = self.within(phase).count();
        let mean =
            |field: fn(&Sample) -> f64| self.within(phase).map(field).sum::<f64>() / count as f64;
        (count > 0).then(|| Means {
            tps: mean(|sample| sample.tps),
            offered_pps: mean(|sample| sample.offered_pps),
            dropped_pps: mean(|sample| sample.dropped_pps),
        })
    }

    fn within<'a>(&'a self, phase: &'a Phase) -> impl Iterator<Item = &'a Sample> {
        let inside = |sample: &&Sample| phase.start <= sample.t && sample.t < phase.end;
        self.samples.iter().filter(inside)
    }

    fn points(&self, field: fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        self.samples.iter().map(|sample| (sample.t, field(sample))).collect()
    }

    /// The mean of the transactions, for each phase that has one.
    fn rates(&self) -> Vec<String> {
        let rate = |phase| self.means(phase).map(|means| human(means.tps, "/s"));
        (0..self.phases.len()).map(|phase| rate(phase).unwrap_or_default()).collect()
    }

    /// How much of the attack was dropped, for each phase that had one.
    fn shares(&self) -> Vec<String> {
        let share = |phase| {
            let means = self.means(phase).filter(|means| means.offered_pps > 0.0)?;
            Some(percent(means.dropped_pps, means.offered_pps))
        };
        (0..self.phases.len()).map(|phase| share(phase).unwrap_or_default()).collect()
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
        let attack = attack();
        let means: Vec<_> = (0..2).map(|phase| attack.means(phase)).collect();
        assert_eq!(means[0].unwrap().tps, 1500.0);
        assert_eq!(means[1].unwrap().tps, 750.0);
    }

    #[test]
    fn rates_over_a_whole_phase_replace_means_of_samples() {
        let mut attack = attack();
        attack.means_of_phase(Means { tps: 760.0, offered_pps: 2e6, dropped_pps: 1e6 });
        assert_eq!(attack.rates(), ["1.50 k/s", "760 /s"]);
        assert_eq!(attack.shares(), ["", "50.0 %"]);
    }

    #[test]
    fn a_phase_without_samples_is_shown_empty() {
        let mut timeline = attack();
        timeline.phase("late", 4.0, 5.0, Tone::Safe);
        assert_eq!(timeline.rates(), ["1.50 k/s", "750 /s", ""]);
        assert!(timeline.figure().as_str().contains("late"));
    }

    #[test]
    fn almost_all_is_not_all() {
        assert_eq!(attack().shares(), ["", "99.9 %"]);
        assert!(attack().figure().as_str().contains(">99.9 %<"));
        assert_eq!(percent(1.0, 0.0), "-");
        assert_eq!(percent(0.0, 1.0), "0 %");
    }
}
