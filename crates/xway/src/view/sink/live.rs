//! What is shown while a sink listens.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;
use traffic::Histogram;
use traffic::sink::SinkReport;

use super::{Received, Times, time};
use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// One line of `--interval`: totals, and rates since the line before.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub t: f64,
    pub received: u64,
    pub lost: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    pub pps: f64,
    pub bps: f64,
    /// Of the frames since the line before, all streams together.
    pub latency_ns: Times,
}

impl Sample {
    pub fn between(before: &SinkReport, now: &SinkReport) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let sum = |field: fn(&traffic::sink::StreamReport) -> u64| -> u64 {
            now.streams.iter().map(field).sum()
        };
        let bytes = |report: &SinkReport| report.streams.iter().map(|one| one.bytes).sum::<u64>();
        let per_second = |old: u64, new: u64| match seconds {
            none if none <= 0.0 => 0.0,
            seconds => new.saturating_sub(old) as f64 / seconds,
        };
        Self {
            t: now.elapsed.as_secs_f64(),
            received: now.received(),
            lost: now.lost(),
            reordered: sum(|one| one.reordered),
            duplicated: sum(|one| one.duplicated),
            corrupted: sum(|one| one.corrupted),
            pps: per_second(before.received(), now.received()),
            bps: 8.0 * per_second(bytes(before), bytes(now)),
            latency_ns: Times::of(&latency(now).since(&latency(before))),
        }
    }

    /// Without the time.
    pub fn line(&self) -> String {
        let Times { p50, p99, max, .. } = self.latency_ns;
        let mut line = format!(
            "received {} ({}, {}), lost {}",
            human(self.received as f64, ""),
            human(self.pps, "pps"),
            human(self.bps, "bit/s"),
            self.lost
        );
        for (count, what) in [
            (self.reordered, "reordered"),
            (self.duplicated, "twice"),
            (self.corrupted, "corrupted"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {what} {count}"));
            }
        }
        if p50.is_some() {
            let [p50, p99, max] = [p50, p99, max].map(time);
            line.push_str(&format!("; latency p50 {p50}, p99 {p99}, max {max}"));
        }
        line
    }
}

/// The state of `xway sink`: its sample as a line, with the streams on a terminal.
#[derive(Clone, Debug, Serialize)]
pub struct Arriving {
    #[serde(flatten)]
    pub sample: Sample,
    #[serde(skip)]
    pub totals: Received,
}

impl View for Arriving {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Arriving {
    fn line(&self) -> String {
        format!("{:>7.1} s  {}", self.sample.t, self.sample.line())
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let head = self.line();
        let table = self.totals.table();
        let text = format!("{head}\n\n{table}\nCtrl-C ends");
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}

/// Of all streams.
fn latency(report: &SinkReport) -> Histogram {
    let mut all = Histogram::default();
    report.streams.iter().for_each(|one| all.add(&one.latency_ns));
    all
}
