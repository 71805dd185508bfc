//! The view of sockets while they work.

use bench::load::Interval;
use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;

use crate::view::live::Drawing;
use crate::view::{Paint, View};

/// Rows of a terminal that the state of `xway xsk bench` takes.
pub const HEIGHT: u16 = 2;

impl View for Interval {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Interval {
    fn line(&self) -> String {
        let Self { t, sent, received, missing, sent_pps, received_pps } = *self;
        if sent + received == 0 {
            return "no packet has arrived yet".to_owned();
        }
        let counted = |count: u64, pps: f64, what: &str| {
            format!("{what} {} ({})", human(count as f64, ""), human(pps, "pps"))
        };
        let mut parts = Vec::new();
        if sent > 0 {
            parts.push(counted(sent, sent_pps, "sent"));
        }
        if received > 0 {
            parts.push(counted(received, received_pps, "received"));
            parts.push(format!("missing {missing}"));
        }
        format!("{t:>7.1} s  {}", parts.join(", "))
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let text = format!("{}\nCtrl-C ends", self.line());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
