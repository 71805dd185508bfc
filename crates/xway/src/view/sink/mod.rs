//! Text of `sink`: a row for each stream, and what else arrived.

mod live;

use report::number::human;
use report::table::{Column, Table};
use traffic::sink::{Judgement, SinkReport, StreamReport};
use traffic::{Expect, Histogram, Quantiles};

pub use live::{Arriving, interval_line};

use super::{Paint, View, latency};

fn table(report: &SinkReport) -> Table {
    let numbers = ["received", "lost", "reordered", "dup", "corrupt", "p50", "p99", "max"];
    let columns = [Column::text("stream"), Column::text("expect")];
    let mut table = Table::new(columns.into_iter().chain(numbers.map(Column::number)));
    for stream in &report.streams {
        table.row(row(stream));
    }
    table
}

fn row(stream: &StreamReport) -> [String; 10] {
    let name = match &stream.name {
        Some(name) => format!("{} {name}", stream.id),
        None => stream.id.to_string(),
    };
    let expect = match stream.expect {
        Expect::Pass => "pass",
        Expect::Drop => "drop",
    };
    let Quantiles { p50, p99, max, .. } = stream.latency_ns.quantiles();
    [
        name,
        expect.to_owned(),
        stream.received.to_string(),
        stream.lost.to_string(),
        stream.reordered.to_string(),
        stream.duplicated.to_string(),
        stream.corrupted.to_string(),
        time(p50),
        time(p99),
        time(max),
    ]
}

/// Frames that belong to no stream, a line for each kind.
fn others(report: &SinkReport) -> Vec<String> {
    let lines = [
        (report.foreign, "frames without a stamp were left to the stack"),
        (report.damaged, "frames had a damaged stamp: their stream is unknown"),
        (report.beyond, "frames were of more streams or senders than there is room for"),
        (report.missed, "frames arrived faster than they were read: some of the lost ones"),
    ];
    let counted = lines.into_iter().filter(|(count, _)| *count > 0);
    counted.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Streams of which more may have been lost than was counted.
fn unknown_ends(report: &SinkReport) -> String {
    let open = report.streams.iter().filter(|stream| stream.sent.is_none());
    let ids: Vec<_> = open.map(|stream| stream.id.to_string()).collect();
    if ids.is_empty() {
        return String::new();
    }
    format!(
        "the sender's end did not arrive for stream {}: losses after the last frame are not \
         counted\n",
        ids.join(", ")
    )
}

impl View for SinkReport {
    fn text(&self, paint: Paint) -> String {
        if self.streams.is_empty() {
            let lines = [vec!["no stamped frame arrived".to_owned()], others(self)].concat();
            return lines.join("\n") + "\n";
        }
        let mut text = format!("{}{}", table(self), unknown_ends(self));
        for line in others(self) {
            text.push_str(&format!("{line}\n"));
        }
        let mut latency = Histogram::default();
        self.streams.iter().for_each(|stream| latency.add(&stream.latency_ns));
        if !latency.is_empty() {
            text.push_str(&format!("latency\n{}", latency::picture(&latency)));
        }
        let Judgement { good, reasons } = Judgement::of(self);
        let verdict = match good {
            true => paint.good("PASS: all frames behaved as expected"),
            false => paint.bad(&format!("FAIL: {}", reasons.join("; "))),
        };
        text + &verdict + "\n"
    }
}

/// A time in nanoseconds, for people.
pub fn time(ns: Option<u32>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| human(f64::from(ns), "ns"))
}

#[cfg(test)]
mod tests;
