//! What is shown while sockets work.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use serde::Serialize;

use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// Totals at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since the first packet.
    pub t: f64,
    pub sent: u64,
    pub received: u64,
    pub missing: u64,
}

/// The state of `xway xsk bench`: totals, and rates since the state before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Playing {
    #[serde(flatten)]
    pub now: Sample,
    pub sent_pps: f64,
    pub received_pps: f64,
}

impl Playing {
    pub const HEIGHT: u16 = 2;

    pub fn between(before: Sample, now: Sample) -> Self {
        let seconds = now.t - before.t;
        let rate = |old: u64, new: u64| {
            if seconds > 0.0 { new.saturating_sub(old) as f64 / seconds } else { 0.0 }
        };
        Self {
            now,
            sent_pps: rate(before.sent, now.sent),
            received_pps: rate(before.received, now.received),
        }
    }
}

impl View for Playing {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Playing {
    fn line(&self) -> String {
        let Sample { t, sent, received, missing } = self.now;
        if sent + received == 0 {
            return "no packet has come yet".to_owned();
        }
        let told = |count: u64, pps: f64, what: &str| {
            format!("{what} {} ({})", human(count as f64, ""), human(pps, "pps"))
        };
        let mut parts = Vec::new();
        if sent > 0 {
            parts.push(told(sent, self.sent_pps, "sent"));
        }
        if received > 0 {
            parts.push(told(received, self.received_pps, "received"));
            parts.push(format!("missing {missing}"));
        }
        format!("{t:>7.1} s  {}", parts.join(", "))
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let text = format!("{}\nCtrl-C ends", self.line());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
