//! Text of `demo`, and its live view.

use std::path::PathBuf;

use control::filter::report::RuleReport;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::widgets::{LineGauge, Sparkline};
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use super::live::Drawing;
use super::{Paint, View};

/// The result of the demo, which exists in this command alone.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Phases in order.
    pub phases: Vec<Row>,
    /// Requested frames per second of the attacker, each from another of 10,000,000 addresses.
    pub rate_pps: u64,
    /// Rules of the filter in the native phase, with their counters.
    pub rules: Vec<RuleReport>,
    /// Path of the report.
    pub report: PathBuf,
    /// Path of the figure.
    pub figure: PathBuf,
}

/// One phase.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the phase.
    pub name: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    /// TCP requests answered per second, mean over the phase.
    pub tps: f64,
    /// Frames per second that the attacker sent on the server's link.
    pub offered_pps: f64,
    /// Frames per second that the filter dropped; 0 when it is not attached.
    pub dropped_pps: f64,
    /// Share of one processor that the server's receive thread used, 0 to 1.
    pub cpu: f64,
    /// Connections that the client replaced after a second without an answer.
    pub reconnects: u64,
}

impl Answer {
    /// Native XDP keeps the service available: at least 0.7 of the transactions of the quiet phase,
    /// and at least twice those of the unprotected flood.
    pub fn kept(&self) -> bool {
        let native = self.tps("flood-native");
        native > 0.0 && native >= 0.7 * self.tps("quiet") && native >= 2.0 * self.tps("flood")
    }

    /// Transactions of a phase as a share of those in the quiet phase.
    pub fn share(&self, phase: &str) -> f64 {
        let quiet = self.tps("quiet");
        if quiet > 0.0 { self.tps(phase) / quiet } else { 0.0 }
    }

    /// Frames dropped per second in a phase.
    pub fn rate(&self, phase: &str) -> f64 {
        self.row(phase).map_or(0.0, |row| row.dropped_pps)
    }

    pub fn table(&self) -> Table {
        let numbers = ["transactions", "of quiet", "offered", "dropped", "CPU"];
        let columns = numbers.map(Column::number);
        let mut table = Table::new([Column::text("phase")].into_iter().chain(columns));
        for row in &self.phases {
            table.row([
                row.title.to_owned(),
                human(row.tps, "/s"),
                format!("{:.1} %", 100.0 * self.share(row.name)),
                human(row.offered_pps, "pps"),
                human(row.dropped_pps, "pps"),
                format!("{:.0} %", 100.0 * row.cpu),
            ]);
        }
        table
    }

    fn tps(&self, phase: &str) -> f64 {
        self.row(phase).map_or(0.0, |row| row.tps)
    }

    fn row(&self, phase: &str) -> Option<&Row> {
        self.phases.iter().find(|row| row.name == phase)
    }
}

impl View for Answer {
    fn text(&self, paint: Paint) -> String {
        let native = format!("{:.0} %", 100.0 * self.share("flood-native"));
        let without = format!("{:.1} %", 100.0 * self.share("flood"));
        let slow = self.phases.iter().filter(|row| row.offered_pps > 0.0);
        let slow = slow.fold(f64::INFINITY, |least, row| least.min(row.offered_pps));
        let verdict = if self.kept() {
            paint.good(&format!(
                "Under the flood the service keeps {native} of its transactions with native XDP, \
                 {without} without."
            ))
        } else {
            paint.bad(&format!(
                "Native XDP kept {native} of the quiet transactions, {without} were left without: \
                 the result is negative. The attacker sent at least {} of {} requested; if these \
                 differ widely, or other work runs here, repeat on an idle machine.",
                human(slow, "pps"),
                human(self.rate_pps as f64, "pps"),
            ))
        };
        let report = self.report.display();
        format!("\n{}\n{verdict}\nreport: {report}\n", self.table())
    }
}

/// The state that the live view shows.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Share of the whole run that is done, 0 to 1.
    pub done: f64,
    pub seconds_left: f64,
    pub title: &'static str,
    pub tps: f64,
    pub offered_pps: f64,
    pub dropped_pps: f64,
    /// Transactions per second of all samples so far.
    pub history: Vec<u64>,
}

impl Progress {
    pub const HEIGHT: u16 = 7;
}

impl Drawing for Progress {
    fn line(&self) -> String {
        format!("{} …", self.title)
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Layout::vertical([1, 1, 1, 4].map(Constraint::Length)).split(frame.area());
        let left = format!("{} — {:.0} s left", self.title, self.seconds_left);
        let gauge = LineGauge::default()
            .ratio(self.done.clamp(0.0, 1.0))
            .label(left)
            .filled_style(Style::new().fg(Color::Blue));
        frame.render_widget(gauge, rows[0]);
        let numbers = format!(
            "transactions {:>12}   offered {:>10}   dropped by XDP {:>10}",
            human(self.tps, "/s"),
            human(self.offered_pps, "pps"),
            human(self.dropped_pps, "pps"),
        );
        frame.render_widget(numbers, rows[2]);
        let width = usize::from(rows[3].width);
        let recent = &self.history[self.history.len().saturating_sub(width)..];
        let chart = Sparkline::default().data(recent).style(Style::new().fg(Color::Cyan));
        frame.render_widget(chart, rows[3]);
    }
}
