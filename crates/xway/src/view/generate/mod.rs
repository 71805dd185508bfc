//! Text of `gen`: how much was sent, how evenly, and why not more.

mod live;

use std::collections::BTreeMap;
use std::path::PathBuf;

use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;
use traffic::Quantiles;
use traffic::generator::{Fault, Pacing, StreamFrames, Summary};
use traffic::sink::SinkReport;

pub use live::Sending;

use super::sink::time;
use super::{Paint, View};

/// The answer of `gen`: what was sent, the file of the first frames, and what arrived.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    #[serde(flatten)]
    pub summary: Summary,
    /// Speed of the interface's link in bits per second; `null` if the driver does not report it.
    pub link_bps: Option<f64>,
    /// File of the first frames, with `--write`.
    pub capture: Option<PathBuf>,
    /// What arrived, with `--sink`.
    pub sink: Option<SinkReport>,
    /// Packets of the capture to which an Ethernet header was added, by link type; absent for
    /// other frames than those of a capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framed: Option<BTreeMap<String, u64>>,
}

impl Sent {
    fn head(&self) -> String {
        let summary = &self.summary;
        if summary.seconds == 0.0 && summary.sent == 0 && summary.not_sent == 0 {
            return "nothing was sent\n".to_owned();
        }
        let mut text = format!(
            "{} frames sent in {} ({}, {})",
            summary.sent,
            human(summary.seconds, "s"),
            human(summary.pps, "pps"),
            human(summary.bps, "bit/s"),
        );
        if summary.stopped {
            text.push_str(", stopped");
        }
        text + "\n" + &self.target() + &self.line_rate()
    }

    /// The target rate, and the share that was not reached.
    fn target(&self) -> String {
        let Summary { target_pps: Some(target), missed: Some(missed), .. } = self.summary else {
            return String::new();
        };
        let target = human(target, "pps");
        match (missed * 1000.0).round() / 10.0 {
            0.0 => format!("target: {target}, reached\n"),
            percent => format!("target: {target}, missed by {percent} %\n"),
        }
    }

    /// The rate on layer 1, as a share of the link's.
    fn line_rate(&self) -> String {
        let l1_bps = self.summary.l1_bps;
        let share = self
            .link_bps
            .map(|link| format!(", {:.1} % of {}", 100.0 * l1_bps / link, human(link, "bit/s")));
        format!("layer 1: {}{}\n", human(l1_bps, "bit/s"), share.unwrap_or_default())
    }

    fn streams(&self) -> Option<Table> {
        let mut table =
            Table::new([Column::number("stream"), Column::text("name"), Column::number("frames")]);
        for stream in &self.summary.streams {
            let StreamFrames { id, name, frames } = stream;
            table.row([id.to_string(), name.clone(), frames.to_string()]);
        }
        (self.summary.streams.len() > 1).then_some(table)
    }

    fn threads(&self) -> Option<Table> {
        let columns = ["thread", "CPU", "frames", "bytes", "busy"].map(Column::number);
        let mut table = Table::new(columns);
        for (index, thread) in self.summary.threads.iter().enumerate() {
            let busy = 100.0 * thread.cpu_time.as_secs_f64() / self.summary.seconds;
            table.row([
                index.to_string(),
                thread.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string()),
                thread.sent.to_string(),
                thread.bytes.to_string(),
                if busy.is_finite() { format!("{busy:.0} %") } else { "-".to_owned() },
            ]);
        }
        (self.summary.threads.len() > 1).then_some(table)
    }
}

impl View for Sent {
    fn text(&self, paint: Paint) -> String {
        let Summary { faults, not_sent, blind, pacing, verdicts, .. } = &self.summary;
        let mut text = self.head();
        for fault in faults {
            text.push_str(&format!("{}\n", paint.bad(&fault_line(fault))));
        }
        if *not_sent > 0 && faults.is_empty() {
            text.push_str(&paint.bad(&format!("{not_sent} frames were not sent\n")));
        }
        if let Some(why) = blind {
            text.push_str(&format!("how many frames the interface took is unknown: {why}\n"));
        }
        if let Some(pacing) = pacing {
            text.push_str(&pacing_line(pacing));
        }
        for (verdict, count) in verdicts {
            text.push_str(&format!("verdict {verdict}: {count} frames\n"));
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

fn fault_line(fault: &Fault) -> String {
    format!("{} frames were not sent ({}): {}", fault.frames, fault.error(), fault.advice)
}

fn pacing_line(pacing: &Pacing) -> String {
    let Quantiles { p50, p99, max, .. } = pacing.error_ns.quantiles();
    let [p50, p99, max] = [p50, p99, max].map(time);
    let group = match pacing.group {
        1 => "no frames".to_owned(),
        group => format!("{group} frames"),
    };
    let slipped = match pacing.slipped {
        0 => String::new(),
        slipped => format!("; fell behind schedule {slipped} times, later frames were delayed"),
    };
    format!("off schedule: p50 {p50}, p99 {p99}, max {max}; {group} left together{slipped}\n")
}

#[cfg(test)]
mod tests;
