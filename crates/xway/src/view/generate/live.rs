//! The view of a generator while it sends.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{LineGauge, Paragraph, Sparkline};
use report::number::human;
use serde::Serialize;
use traffic::generator::Interval;
use traffic::sink;

use super::fault_line;
use crate::view::live::Drawing;
use crate::view::sink::interval_line;
use crate::view::{Paint, View};

/// The state of `xway gen`.
#[derive(Clone, Debug, Serialize)]
pub struct Sending {
    #[serde(flatten)]
    pub interval: Interval,
    /// What arrived, with `--sink`; else `null`.
    pub sink: Option<sink::Interval>,
    /// Share of the count or time that is done, 0 to 1; `None` without an end.
    #[serde(skip)]
    pub done: Option<f64>,
    /// Packets per second of the intervals so far.
    #[serde(skip)]
    pub history: Vec<u64>,
}

impl Sending {
    pub const HEIGHT: u16 = 12;
    /// Intervals that a picture has room for.
    pub const HISTORY: usize = 256;

    fn details(&self) -> Vec<String> {
        let shares = self.interval.cpu.iter().map(|share| format!("{:.0} %", 100.0 * share));
        let cpus = format!("CPU of each thread {}", shares.collect::<Vec<_>>().join(" "));
        let faults = self.interval.faults.iter().map(fault_line);
        let sink = self.sink.iter().map(interval_line);
        [self.rates(), cpus].into_iter().chain(sink).chain(faults).collect()
    }

    fn rates(&self) -> String {
        format!(
            "sent {} ({}, {}), not sent {}",
            human(self.interval.sent as f64, ""),
            human(self.interval.pps, "pps"),
            human(self.interval.bps, "bit/s"),
            human(self.interval.not_sent as f64, ""),
        )
    }
}

impl View for Sending {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Sending {
    fn line(&self) -> String {
        let sink = self.sink.as_ref().map(|one| format!("; {}", interval_line(one)));
        format!("{:>7.1} s  {}{}", self.interval.t, self.rates(), sink.unwrap_or_default())
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let heights = [Constraint::Length(1), Constraint::Min(5), Constraint::Length(3)];
        let rows = Layout::vertical(heights).split(frame.area());
        let label = format!("{:.1} s; Ctrl-C ends", self.interval.t);
        match self.done {
            Some(done) => {
                let gauge = LineGauge::default().ratio(done.clamp(0.0, 1.0)).label(label);
                frame.render_widget(gauge.filled_style(Style::new().fg(Color::Blue)), rows[0]);
            }
            None => frame.render_widget(label, rows[0]),
        }
        let text: Text<'_> = self.details().into_iter().map(Line::from).collect();
        frame.render_widget(Paragraph::new(text), rows[1]);
        let width = usize::from(rows[2].width);
        let recent = &self.history[self.history.len().saturating_sub(width)..];
        let chart = Sparkline::default().data(recent).style(Style::new().fg(Color::Cyan));
        frame.render_widget(chart, rows[2]);
    }
}
