//! The view of connections while they send.

use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use traffic::Quantiles;
use traffic::tcp::Interval;

use super::{Paint, View, flows_line, time};
use crate::view::live::Drawing;

/// Rows of a terminal that the state of `xway gen tcp` takes.
pub const HEIGHT: u16 = 5;

impl View for Interval {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Interval {
    fn line(&self) -> String {
        format!(
            "{:>7.1} s  goodput {}, {}, retransmitted {}",
            self.t,
            human(self.goodput_bps, "bit/s"),
            human(self.pps, "pps"),
            self.retransmissions
        )
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let Quantiles { p50, p99, max, .. } = self.rtt_ns;
        let [p50, p99, max] = [p50, p99, max].map(time);
        let text = format!(
            "{}\nround trips: p50 {p50}, p99 {p99}, max {max}\nconnections: {}\nCtrl-C ends",
            self.line(),
            flows_line(&self.flows),
        );
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
