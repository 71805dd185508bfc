//! What is shown while a generator sends.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{LineGauge, Paragraph, Sparkline};
use report::number::human;
use serde::Serialize;
use traffic::generator::Snapshot;

use super::NotSent;
use crate::view::live::Drawing;
use crate::view::{Paint, View, sink};

/// One line of `--interval`: totals, and rates since the line before.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub t: f64,
    pub sent: u64,
    pub not_sent: u64,
    pub pps: f64,
    pub bps: f64,
    /// Share of a processor that each thread used.
    pub cpu: Vec<f64>,
    pub faults: Vec<NotSent>,
    /// What arrived, where a sink runs along.
    pub sink: Option<sink::Sample>,
}

impl Sample {
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let per_second = |difference: f64| match seconds {
            none if none <= 0.0 => 0.0,
            seconds => difference / seconds,
        };
        let more = |old: u64, new: u64| new.saturating_sub(old) as f64;
        let threads = before.threads.iter().zip(&now.threads);
        let used = threads
            .map(|(old, new)| per_second(new.cpu_time.saturating_sub(old.cpu_time).as_secs_f64()));
        Self {
            t: now.elapsed.as_secs_f64(),
            sent: now.sent,
            not_sent: now.not_sent,
            pps: per_second(more(before.sent, now.sent)),
            bps: 8.0 * per_second(more(before.bytes, now.bytes)),
            cpu: used.collect(),
            faults: now.faults.iter().map(NotSent::of).collect(),
            sink: None,
        }
    }

    fn rates(&self) -> String {
        format!(
            "sent {} ({}, {}), not sent {}",
            human(self.sent as f64, ""),
            human(self.pps, "pps"),
            human(self.bps, "bit/s"),
            human(self.not_sent as f64, ""),
        )
    }

    fn cpus(&self) -> String {
        let shares: Vec<_> =
            self.cpu.iter().map(|share| format!("{:.0} %", 100.0 * share)).collect();
        format!("CPU of each thread {}", shares.join(" "))
    }
}

/// The state of `xway gen`.
#[derive(Clone, Debug, Serialize)]
pub struct Sending {
    #[serde(flatten)]
    pub sample: Sample,
    /// Share of the count or time that is done, 0 to 1; nothing when it has no end.
    #[serde(skip)]
    pub done: Option<f64>,
    /// Packets a second of the samples so far.
    #[serde(skip)]
    pub history: Vec<u64>,
}

impl Sending {
    pub const HEIGHT: u16 = 12;
    /// Samples that a picture has room for.
    pub const HISTORY: usize = 256;

    fn details(&self) -> Vec<String> {
        let sample = &self.sample;
        let faults = sample.faults.iter().map(NotSent::line);
        let sink = sample.sink.iter().map(sink::Sample::line);
        [sample.rates(), sample.cpus()].into_iter().chain(sink).chain(faults).collect()
    }
}

impl View for Sending {
    fn text(&self, _paint: Paint) -> String {
        self.line()
    }
}

impl Drawing for Sending {
    fn line(&self) -> String {
        let sink =
            self.sample.sink.as_ref().map_or(String::new(), |one| format!("; {}", one.line()));
        format!("{:>7.1} s  {}{sink}", self.sample.t, self.sample.rates())
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let heights = [Constraint::Length(1), Constraint::Min(5), Constraint::Length(3)];
        let rows = Layout::vertical(heights).split(frame.area());
        let label = format!("{:.1} s; Ctrl-C ends", self.sample.t);
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
