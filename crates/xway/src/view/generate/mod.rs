//! What a generator answers: how much it sent, how evenly, and why not more.

mod live;

use std::collections::BTreeMap;
use std::path::PathBuf;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::generator::{Fault, Pacing, Report, Snapshot, ThreadReport};

pub use live::{Sample, Sending};

use super::sink::{Received, Times, time};
use super::{Paint, View};

/// What was sent. Serialises to the contract for scripts: `sent`, `not_sent`, `seconds`, `pps`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    pub sent: u64,
    pub not_sent: u64,
    pub seconds: f64,
    pub pps: f64,
    /// Of the frames' own bytes.
    pub bps: f64,
    /// Of the frames that the interface was given.
    pub bytes: u64,
    /// Whether it was ended before its count or time.
    pub stopped: bool,
    pub pacing: Option<Pace>,
    pub streams: Vec<Stream>,
    pub threads: Vec<Thread>,
    pub faults: Vec<NotSent>,
    /// What the program said of the frames that it was given.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Why it is not known what the interface took, where it is not.
    pub blind: Option<String>,
    /// Of the first frames.
    pub capture: Option<PathBuf>,
    /// What arrived, where a sink ran along.
    pub sink: Option<Received>,
}

/// One stream of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    pub id: u16,
    pub name: String,
    /// Frames given to the interface.
    pub frames: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thread {
    pub cpu: Option<usize>,
    pub frames: u64,
    pub bytes: u64,
    pub cpu_s: f64,
}

/// Frames that were not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotSent {
    pub error: String,
    pub frames: u64,
    pub advice: String,
}

/// How well the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pace {
    pub error_ns: Times,
    /// Frames that leave together.
    pub group: u32,
    pub slipped: u64,
}

impl Sent {
    /// `streams` are ids and names in the order of the run.
    pub fn new(report: &Report, streams: &[(u16, String)]) -> Self {
        let Snapshot { sent, not_sent, bytes, ref verdicts, ref blind, .. } = report.totals;
        let given = sent + not_sent;
        let each = if given > 0 { bytes as f64 / given as f64 } else { 0.0 };
        let frames = report.totals.streams.iter().zip(streams);
        let stream = |(frames, (id, name)): (&u64, &(u16, String))| Stream {
            id: *id,
            name: name.clone(),
            frames: *frames,
        };
        Self {
            sent,
            not_sent,
            seconds: report.seconds,
            pps: report.pps,
            bps: report.pps * each * 8.0,
            bytes,
            stopped: report.stopped,
            pacing: report.pacing.as_ref().map(Pace::of),
            streams: frames.map(stream).collect(),
            threads: report.totals.threads.iter().map(Thread::of).collect(),
            faults: report.totals.faults.iter().map(NotSent::of).collect(),
            verdicts: verdicts.iter().map(|(verdict, count)| (verdict.name(), *count)).collect(),
            blind: blind.clone(),
            capture: None,
            sink: None,
        }
    }

    /// Of a dry run.
    pub fn nothing(capture: Option<PathBuf>) -> Self {
        Self { capture, ..Self::default() }
    }

    fn head(&self) -> String {
        if self.seconds == 0.0 && self.sent == 0 && self.not_sent == 0 {
            return "nothing was sent\n".to_owned();
        }
        let mut text = format!(
            "{} frames sent in {} ({}, {})",
            self.sent,
            human(self.seconds, "s"),
            human(self.pps, "pps"),
            human(self.bps, "bit/s"),
        );
        if self.stopped {
            text.push_str(", stopped");
        }
        text + "\n"
    }

    fn streams(&self) -> Option<Table> {
        let mut table =
            Table::new([Column::number("stream"), Column::text("name"), Column::number("frames")]);
        for stream in &self.streams {
            let Stream { id, name, frames } = stream;
            table.row([id.to_string(), name.clone(), frames.to_string()]);
        }
        (self.streams.len() > 1).then_some(table)
    }

    fn threads(&self) -> Option<Table> {
        let columns = ["thread", "CPU", "frames", "bytes", "busy"].map(Column::number);
        let mut table = Table::new(columns);
        for (index, thread) in self.threads.iter().enumerate() {
            let busy = 100.0 * thread.cpu_s / self.seconds;
            table.row([
                index.to_string(),
                thread.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string()),
                thread.frames.to_string(),
                thread.bytes.to_string(),
                if busy.is_finite() { format!("{busy:.0} %") } else { "-".to_owned() },
            ]);
        }
        (self.threads.len() > 1).then_some(table)
    }
}

impl View for Sent {
    fn text(&self, paint: Paint) -> String {
        let mut text = self.head();
        for fault in &self.faults {
            text.push_str(&format!("{}\n", paint.bad(&fault.line())));
        }
        if self.not_sent > 0 && self.faults.is_empty() {
            text.push_str(&paint.bad(&format!("{} frames were not sent\n", self.not_sent)));
        }
        if let Some(why) = &self.blind {
            text.push_str(&format!("what the interface took is not known: {why}\n"));
        }
        if let Some(pace) = &self.pacing {
            text.push_str(&pace.line());
        }
        for (verdict, count) in &self.verdicts {
            text.push_str(&format!("the program said {verdict} to {count} frames\n"));
        }
        for table in [self.streams(), self.threads()].into_iter().flatten() {
            text.push_str(&format!("\n{table}"));
        }
        if let Some(capture) = &self.capture {
            text.push_str(&format!("first frames: {}\n", capture.display()));
        }
        if let Some(sink) = &self.sink {
            text.push_str(&format!("\n{}", sink.text(paint)));
        }
        text
    }
}

impl Thread {
    fn of(report: &ThreadReport) -> Self {
        let cpu_s = report.cpu_time.as_secs_f64();
        Self { cpu: report.cpu, frames: report.sent, bytes: report.bytes, cpu_s }
    }
}

impl NotSent {
    pub fn of(fault: &Fault) -> Self {
        let error = control::metrics::error_name(fault.errno);
        Self { error, frames: fault.frames, advice: fault.advice.clone() }
    }

    fn line(&self) -> String {
        format!("{} frames were not sent ({}): {}", self.frames, self.error, self.advice)
    }
}

impl Pace {
    fn of(pacing: &Pacing) -> Self {
        let error_ns = Times::of(&pacing.error_ns);
        Self { error_ns, group: pacing.group, slipped: pacing.slipped }
    }

    fn line(&self) -> String {
        let Times { p50, p99, max, .. } = self.error_ns;
        let [p50, p99, max] = [p50, p99, max].map(time);
        let mut line = format!(
            "off schedule: p50 {p50}, p99 {p99}, max {max}; {} left together",
            match self.group {
                1 => "no frames".to_owned(),
                group => format!("{group} frames"),
            }
        );
        if self.slipped > 0 {
            line.push_str(&format!("; {} groups were so late that the rest moved", self.slipped));
        }
        line + "\n"
    }
}

#[cfg(test)]
mod tests;
