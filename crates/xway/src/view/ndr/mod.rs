//! What a measurement of throughput found: a row for each size, figures, a page.

mod figure;

use std::path::PathBuf;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::ndr::{self, Binding, NdrReport, Purpose};

pub use figure::{loss, page, throughput};

use super::sink::{Times, time};
use super::{Paint, View};

/// Serialises to the contract for scripts too: totals of all trials.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub sent: u64,
    pub not_sent: u64,
    pub seconds: f64,
    pub pps: f64,
    /// Accepted, 0 to 1.
    pub loss: f64,
    pub resolution: f64,
    pub rows: Vec<Row>,
    pub stopped: bool,
    pub files: Vec<PathBuf>,
}

/// One size.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// With the Ethernet checksum, or `imix`.
    pub size: String,
    /// Without it; the mean of a mix.
    pub bytes: f64,
    /// `null` when even the lowest rate lost too much.
    pub pps: Option<f64>,
    pub gbit_per_second: Option<f64>,
    pub loss: Option<f64>,
    /// The lowest rate above it that lost too much.
    pub above_pps: Option<f64>,
    pub above_loss: Option<f64>,
    /// `device`, `generator` or `ceiling`.
    pub binding: &'static str,
    pub steady: bool,
    pub burst: Option<Burst>,
    pub latencies: Vec<Latency>,
    pub trials: Vec<Trial>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Burst {
    pub frames: Option<u64>,
    pub binding: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// Of the rate that was found, 0 to 1.
    pub share: f64,
    pub pps: f64,
    pub lost: u64,
    pub latency_ns: Times,
    pub jitter_ns: Times,
}

#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// `rate`, `burst` or `latency`.
    pub purpose: &'static str,
    pub asked_pps: Option<f64>,
    /// Of a burst.
    pub asked_frames: Option<u64>,
    pub offered_pps: f64,
    pub seconds: f64,
    pub sent: u64,
    pub not_sent: u64,
    pub received: u64,
    pub lost: u64,
    pub loss: f64,
    pub passed: bool,
}

impl Measured {
    pub fn new(report: &NdrReport) -> Self {
        let trials = || report.rows.iter().flat_map(|row| &row.trials);
        let sent = trials().map(|trial| trial.sent).sum();
        let seconds = trials().map(|trial| trial.seconds).sum();
        Self {
            sent,
            not_sent: trials().map(|trial| trial.not_sent).sum(),
            seconds,
            pps: if seconds > 0.0 { sent as f64 / seconds } else { 0.0 },
            loss: report.loss,
            resolution: report.resolution,
            rows: report.rows.iter().map(Row::of).collect(),
            stopped: report.stopped,
            files: Vec::new(),
        }
    }

    pub fn table(&self) -> Table {
        let numbers = ["rate", "bits", "loss", "bound by", "burst"].map(Column::number);
        let shares = self.shares();
        let latencies = shares
            .iter()
            .map(|share| Column::number(&format!("p50/p99 at {:.0} %", 100.0 * share)));
        let columns = [Column::number("frame")].into_iter().chain(numbers).chain(latencies);
        let mut table = Table::new(columns);
        for row in &self.rows {
            table.row(row.cells(&shares));
        }
        table
    }

    /// At which latency was taken.
    fn shares(&self) -> Vec<f64> {
        let longest = self.rows.iter().max_by_key(|row| row.latencies.len());
        longest.map_or_else(Vec::new, |row| row.latencies.iter().map(|one| one.share).collect())
    }
}

impl View for Measured {
    fn text(&self, _paint: Paint) -> String {
        let mut text = format!(
            "highest rate with a loss of at most {} %, to {} %\n\n{}",
            100.0 * self.loss,
            100.0 * self.resolution,
            self.table()
        );
        let unsteady = self.rows.iter().filter(|row| !row.steady).map(|row| row.size.as_str());
        let unsteady: Vec<_> = unsteady.collect();
        if !unsteady.is_empty() {
            text.push_str(&format!(
                "trials of {} disagreed: repeat them, or make them longer (--trial)\n",
                unsteady.join(", ")
            ));
        }
        if self.stopped {
            text.push_str("stopped: sizes that are missing were not measured\n");
        }
        for file in &self.files {
            text.push_str(&format!("{}\n", file.display()));
        }
        text
    }
}

impl Row {
    fn of(row: &ndr::Row) -> Self {
        Self {
            size: row.size.to_string(),
            bytes: row.bytes,
            pps: row.pps,
            gbit_per_second: row.gbit_per_second,
            loss: row.loss,
            above_pps: row.above.map(|(pps, _)| pps),
            above_loss: row.above.map(|(_, loss)| loss),
            binding: word(row.binding),
            steady: row.steady,
            burst: row
                .burst
                .map(|burst| Burst { frames: burst.frames, binding: word(burst.binding) }),
            latencies: row.latencies.iter().map(Latency::of).collect(),
            trials: row.trials.iter().map(Trial::of).collect(),
        }
    }

    fn cells(&self, shares: &[f64]) -> Vec<String> {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let burst = self.burst.map(|burst| {
            let at_least = if burst.binding == "ceiling" { "≥ " } else { "" };
            burst.frames.map_or_else(|| "0".to_owned(), |frames| format!("{at_least}{frames}"))
        });
        let mut cells = vec![
            self.size.clone(),
            or_dash(self.pps.map(|pps| human(pps, "pps"))),
            or_dash(self.gbit_per_second.map(|gbit| human(gbit * 1e9, "bit/s"))),
            or_dash(self.loss.map(|loss| format!("{:.3} %", 100.0 * loss))),
            self.binding.to_owned(),
            or_dash(burst),
        ];
        for share in shares {
            let found = self.latencies.iter().find(|one| one.share == *share);
            let quantiles = found.map(|one| (one.latency_ns.p50, one.latency_ns.p99));
            let text = quantiles.map(|(p50, p99)| format!("{} / {}", time(p50), time(p99)));
            cells.push(or_dash(text));
        }
        cells
    }
}

impl Latency {
    fn of(latency: &ndr::Latency) -> Self {
        Self {
            share: latency.share,
            pps: latency.pps,
            lost: latency.lost,
            latency_ns: Times::of(&latency.latency_ns),
            jitter_ns: Times::of(&latency.jitter_ns),
        }
    }
}

impl Trial {
    fn of(trial: &ndr::Trial) -> Self {
        Self {
            purpose: match trial.purpose {
                Purpose::Rate => "rate",
                Purpose::Burst => "burst",
                Purpose::Latency => "latency",
            },
            asked_pps: trial.asked_pps,
            asked_frames: trial.asked_frames,
            offered_pps: trial.offered_pps,
            seconds: trial.seconds,
            sent: trial.sent,
            not_sent: trial.not_sent,
            received: trial.received,
            lost: trial.lost,
            loss: trial.loss(),
            passed: trial.passed,
        }
    }
}

/// One trial as it is told while a measurement runs.
pub fn line(trial: &ndr::Trial) -> String {
    let Trial { purpose, offered_pps, loss, passed, not_sent, .. } = Trial::of(trial);
    let passed = if passed { "passed" } else { "lost too much" };
    let mut line = format!(
        "{purpose:>8}  {:>10}  loss {:.4} %  {passed}",
        human(offered_pps, "pps"),
        100.0 * loss
    );
    if not_sent > 0 {
        line.push_str(&format!("  (the interface did not take {not_sent})"));
    }
    line
}

fn word(binding: Binding) -> &'static str {
    match binding {
        Binding::Device => "device",
        Binding::Generator => "generator",
        Binding::Ceiling => "ceiling",
    }
}

#[cfg(test)]
mod tests;
