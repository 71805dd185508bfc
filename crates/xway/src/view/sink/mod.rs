//! What a sink answers: a row for each stream, and what else arrived.

mod live;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::sink::{SinkReport, StreamReport};
use traffic::{Expect, Histogram};

pub use live::{Arriving, Sample};

use super::{Paint, View};

/// What arrived. Serialises to the contract for scripts: `streams` with `id`, `received`, `lost`,
/// `reordered`, `duplicated`, `corrupted`, `latency_ns`.
#[derive(Clone, Debug, Serialize)]
pub struct Received {
    pub streams: Vec<Stream>,
    pub received: u64,
    pub lost: u64,
    /// Frames that met another fate than expected.
    pub wrong: u64,
    pub seconds: f64,
    /// Frames without a stamp.
    pub foreign: u64,
    pub foreign_bytes: u64,
    pub damaged: u64,
    pub beyond: u64,
    pub missed: u64,
    pub judgement: Judgement,
}

/// One stream.
#[derive(Clone, Debug, Serialize)]
pub struct Stream {
    pub id: u16,
    pub name: Option<String>,
    pub expect: &'static str,
    pub received: u64,
    pub lost: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    pub latency_ns: Times,
    pub jitter_ns: Times,
    /// How many there were; nothing when the sender's end did not arrive.
    pub sent: Option<u64>,
    pub late: u64,
    pub wrong: u64,
    pub bytes: u64,
    pub sources: u32,
}

/// A histogram in short, ns; `null` where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    pub min: Option<u32>,
    pub mean: Option<f64>,
    pub p50: Option<u32>,
    pub p90: Option<u32>,
    pub p99: Option<u32>,
    pub p999: Option<u32>,
    pub max: Option<u32>,
}

/// Whether everything met the fate that was expected of it, and what did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub good: bool,
    pub reasons: Vec<String>,
}

impl Received {
    /// `names` are those of streams whose sender is known here.
    pub fn new(report: &SinkReport, names: &[(u16, String)]) -> Self {
        let name = |id: u16| names.iter().find(|(of, _)| *of == id).map(|(_, name)| name.clone());
        let streams = report.streams.iter().map(|stream| Stream::new(stream, name(stream.id)));
        Self {
            streams: streams.collect(),
            received: report.received(),
            lost: report.lost(),
            wrong: report.wrong(),
            seconds: report.elapsed.as_secs_f64(),
            foreign: report.foreign,
            foreign_bytes: report.foreign_bytes,
            damaged: report.damaged,
            beyond: report.beyond,
            missed: report.missed,
            judgement: Judgement::of(report),
        }
    }

    fn table(&self) -> Table {
        let numbers = ["received", "lost", "reordered", "dup", "corrupt", "p50", "p99", "max"];
        let columns = [Column::text("stream"), Column::text("expect")];
        let mut table = Table::new(columns.into_iter().chain(numbers.map(Column::number)));
        for stream in &self.streams {
            table.row(stream.row());
        }
        table
    }

    /// What is no stream.
    fn others(&self) -> Vec<String> {
        let lines = [
            (self.foreign, "frames without a stamp went on to the stack"),
            (self.damaged, "frames had a damaged stamp: their stream is not known"),
            (self.beyond, "frames were of more streams or senders than there is room for"),
            (self.missed, "frames came faster than they were read: the lost ones may be these"),
        ];
        let told = lines.into_iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} {what}")).collect()
    }
}

impl View for Received {
    fn text(&self, paint: Paint) -> String {
        if self.streams.is_empty() {
            let lines = [vec!["no stamped frame arrived".to_owned()], self.others()].concat();
            return lines.join("\n") + "\n";
        }
        let mut text = format!("{}{}", self.table(), self.unknown_ends());
        for line in self.others() {
            text.push_str(&format!("{line}\n"));
        }
        let verdict = match self.judgement.good {
            true => paint.good("every frame met the fate that was expected of it"),
            false => paint.bad(&self.judgement.reasons.join("; ")),
        };
        text + &verdict + "\n"
    }
}

impl Received {
    /// Which losses may be more than is told.
    fn unknown_ends(&self) -> String {
        let open = self.streams.iter().filter(|stream| stream.sent.is_none());
        let ids: Vec<_> = open.map(|stream| stream.id.to_string()).collect();
        if ids.is_empty() {
            return String::new();
        }
        format!(
            "the sender's end did not arrive for stream {}: losses behind the last frame are \
             not counted\n",
            ids.join(", ")
        )
    }
}

impl Stream {
    fn new(report: &StreamReport, name: Option<String>) -> Self {
        Self {
            id: report.id,
            name,
            expect: word(report.expect),
            received: report.received,
            lost: report.lost,
            reordered: report.reordered,
            duplicated: report.duplicated,
            corrupted: report.corrupted,
            latency_ns: Times::of(&report.latency_ns),
            jitter_ns: Times::of(&report.jitter_ns),
            sent: report.sent,
            late: report.late,
            wrong: report.wrong(),
            bytes: report.bytes,
            sources: report.sources,
        }
    }

    fn row(&self) -> [String; 10] {
        let name = match &self.name {
            Some(name) => format!("{} {name}", self.id),
            None => self.id.to_string(),
        };
        let Times { p50, p99, max, .. } = self.latency_ns;
        [
            name,
            self.expect.to_owned(),
            self.received.to_string(),
            self.lost.to_string(),
            self.reordered.to_string(),
            self.duplicated.to_string(),
            self.corrupted.to_string(),
            time(p50),
            time(p99),
            time(max),
        ]
    }
}

impl Times {
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            min: histogram.min(),
            mean: histogram.mean(),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            p999: histogram.quantile(0.999),
            max: histogram.max(),
        }
    }
}

impl Judgement {
    /// Frames in another order are the network's right; what is lost, let through, damaged or
    /// doubled is not.
    pub fn of(report: &SinkReport) -> Self {
        let mut reasons = Vec::new();
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                reasons.push(format!("{count} {what}"));
            }
        };
        let sum = |expect, field: fn(&StreamReport) -> u64| -> u64 {
            report.streams.iter().filter(|one| one.expect == expect).map(field).sum()
        };
        tell(sum(Expect::Pass, |one| one.lost), "frames lost that should have arrived");
        tell(sum(Expect::Drop, StreamReport::wrong), "frames arrived that should not have");
        tell(sum(Expect::Pass, |one| one.corrupted) + report.damaged, "frames corrupted");
        tell(sum(Expect::Pass, |one| one.duplicated), "frames twice");
        tell(report.beyond, "frames of streams without room");
        if report.streams.is_empty() {
            reasons.push("no stamped frame arrived".to_owned());
        }
        Self { good: reasons.is_empty(), reasons }
    }
}

fn word(expect: Expect) -> &'static str {
    match expect {
        Expect::Pass => "pass",
        Expect::Drop => "drop",
    }
}

/// Of ns, for people.
pub fn time(ns: Option<u32>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| human(f64::from(ns), "ns"))
}

#[cfg(test)]
mod tests;
