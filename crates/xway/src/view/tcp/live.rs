//! What is shown while connections send.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;
use traffic::tcp::Snapshot;

use super::super::live::Drawing;
use super::{Flows, Paint, Times, View, time};

/// One line of `--interval`: totals, and rates since the line before.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub t: f64,
    pub acked_bytes: u64,
    pub goodput_bps: f64,
    pub segments: u64,
    pub pps: f64,
    pub retransmissions: u64,
    pub flows: Flows,
    /// Of the round trips since the line before.
    pub rtt_ns: Times,
}

impl Sample {
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let per_second = |old: u64, new: u64| match seconds {
            none if none <= 0.0 => 0.0,
            seconds => new.saturating_sub(old) as f64 / seconds,
        };
        Self {
            t: now.elapsed.as_secs_f64(),
            acked_bytes: now.acked_bytes,
            goodput_bps: 8.0 * per_second(before.acked_bytes, now.acked_bytes),
            segments: now.segments,
            pps: per_second(before.segments, now.segments),
            retransmissions: now.fast_retransmissions + now.timeout_retransmissions,
            flows: Flows::of(now),
            rtt_ns: Times::of(&now.rtt_ns.since(&before.rtt_ns)),
        }
    }
}

/// The state of `xway gen tcp`.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Talking(pub Sample);

impl Talking {
    pub const HEIGHT: u16 = 5;
}

impl View for Talking {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Talking {
    fn line(&self) -> String {
        let sample = &self.0;
        format!(
            "{:>7.1} s  goodput {}, {}, sent again {}",
            sample.t,
            human(sample.goodput_bps, "bit/s"),
            human(sample.pps, "pps"),
            sample.retransmissions
        )
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let Times { p50, p99, max, .. } = self.0.rtt_ns;
        let [p50, p99, max] = [p50, p99, max].map(time);
        let text = format!(
            "{}\nround trips: p50 {p50}, p99 {p99}, max {max}\nconnections: {}\nCtrl-C ends",
            self.line(),
            self.0.flows.line(),
        );
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
