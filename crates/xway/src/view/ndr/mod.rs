//! Text of `gen ndr`: a row for each size, figures and a page.

mod figure;

use std::path::PathBuf;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::Quantiles;
use traffic::ndr::{Binding, NdrReport, Purpose, Row, Totals, Trial};

pub use figure::{latency, loss, page, throughput};

use super::sink::time;
use super::{Paint, View};

/// The result of `gen ndr`: the measurement, and the files that it was written to.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    #[serde(flatten)]
    pub totals: Totals,
    #[serde(flatten)]
    pub report: NdrReport,
    /// Files that were written, with `--out`.
    pub files: Vec<PathBuf>,
}

impl Measured {
    pub fn new(report: NdrReport) -> Self {
        Self { totals: report.totals(), report, files: Vec::new() }
    }

    pub fn table(&self) -> Table {
        let numbers = ["rate", "bits", "loss", "bound by", "burst"].map(Column::number);
        let shares = self.shares();
        let latencies = shares
            .iter()
            .map(|share| Column::number(&format!("p50/p99 at {:.0} %", 100.0 * share)));
        let columns = [Column::number("frame")].into_iter().chain(numbers).chain(latencies);
        let mut table = Table::new(columns);
        for row in &self.report.rows {
            table.row(cells(row, &shares));
        }
        table
    }

    /// Shares of the rate at which latency was measured.
    fn shares(&self) -> Vec<f64> {
        let longest = self.report.rows.iter().max_by_key(|row| row.latencies.len());
        longest.map_or_else(Vec::new, |row| row.latencies.iter().map(|one| one.share).collect())
    }
}

impl View for Measured {
    fn text(&self, _paint: Paint) -> String {
        let mut text = format!(
            "highest rate with a loss of at most {} %, to {} %\n\n{}",
            100.0 * self.report.loss,
            100.0 * self.report.resolution,
            self.table()
        );
        let unsteady =
            self.report.rows.iter().filter(|row| !row.steady).map(|row| row.size.to_string());
        let unsteady: Vec<_> = unsteady.collect();
        if !unsteady.is_empty() {
            text.push_str(&format!(
                "trials of {} contradict each other: repeat them, or set a longer --trial\n",
                unsteady.join(", ")
            ));
        }
        if self.report.stopped {
            text.push_str("stopped: sizes that are missing were not measured\n");
        }
        for file in &self.files {
            text.push_str(&format!("{}\n", file.display()));
        }
        text
    }
}

/// The row of a size, with latencies at these shares of the rate.
fn cells(row: &Row, shares: &[f64]) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let burst = row.burst.map(|burst| {
        let at_least = if burst.binding == Binding::Ceiling { "≥ " } else { "" };
        burst.frames.map_or_else(|| "0".to_owned(), |frames| format!("{at_least}{frames}"))
    });
    let mut cells = vec![
        row.size.to_string(),
        or_dash(row.pps.map(|pps| human(pps, "pps"))),
        or_dash(row.gbit_per_second.map(|gbit| human(gbit * 1e9, "bit/s"))),
        or_dash(row.loss.map(|loss| format!("{:.3} %", 100.0 * loss))),
        word(row.binding).to_owned(),
        or_dash(burst),
    ];
    for share in shares {
        let found = row.latencies.iter().find(|one| one.share == *share);
        let quantiles = found.map(|one| one.latency_ns.quantiles());
        let text =
            quantiles.map(|Quantiles { p50, p99, .. }| format!("{} / {}", time(p50), time(p99)));
        cells.push(or_dash(text));
    }
    cells
}

/// One trial in a line, while a measurement runs.
pub fn line(trial: &Trial) -> String {
    let Trial { purpose, offered_pps, loss, passed, not_sent, .. } = *trial;
    let purpose = match purpose {
        Purpose::Rate => "rate",
        Purpose::Burst => "burst",
        Purpose::Latency => "latency",
    };
    let passed = if passed { "passed" } else { "failed" };
    let mut line = format!(
        "{purpose:>8}  {:>10}  loss {:.4} %  {passed}",
        human(offered_pps, "pps"),
        100.0 * loss
    );
    if not_sent > 0 {
        line.push_str(&format!("  (the interface did not accept {not_sent})"));
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
