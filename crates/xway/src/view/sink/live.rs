//! The view of a sink while it listens.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;
use traffic::Quantiles;
use traffic::sink::{Interval, SinkReport};

use super::{table, time};
use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// Counters and rates in a line, without the time.
pub fn interval_line(interval: &Interval) -> String {
    let Quantiles { p50, p99, max, .. } = interval.latency_ns;
    let mut line = format!(
        "received {} ({}, {}), lost {}",
        human(interval.received as f64, ""),
        human(interval.pps, "pps"),
        human(interval.bps, "bit/s"),
        interval.lost
    );
    for (count, what) in [
        (interval.reordered, "reordered"),
        (interval.duplicated, "twice"),
        (interval.corrupted, "corrupted"),
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

/// The state of `xway sink`: the interval as a line, with the streams on a terminal.
#[derive(Clone, Debug, Serialize)]
pub struct Arriving {
    #[serde(flatten)]
    pub interval: Interval,
    #[serde(skip)]
    pub totals: SinkReport,
}

impl View for Arriving {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Arriving {
    fn line(&self) -> String {
        format!("{:>7.1} s  {}", self.interval.t, interval_line(&self.interval))
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let head = self.line();
        let table = table(&self.totals);
        let text = format!("{head}\n\n{table}\nCtrl-C ends");
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
