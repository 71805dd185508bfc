//! Text of `status`: interfaces, programs, rates by verdict.

use control::rates::Rate;
use control::status::{Running, Status};
use ratatui::Frame;
use ratatui::widgets::Paragraph;
use report::number::human;
use report::table::{Column, Table};

use super::live::Drawing;
use super::{Paint, View};

/// Packets, packets per second, bits per second.
pub fn rate_cells(rate: &Rate) -> [String; 3] {
    [human(rate.packets as f64, ""), human(rate.pps, "pps"), human(rate.bps, "bit/s")]
}

/// One row for each interface, and one for each further program.
fn overview(status: &Status) -> Table {
    let columns = ["interface", "state", "mode", "program", "owner"];
    let mut table = Table::new(columns.map(Column::text));
    for one in &status.interfaces {
        let state = if one.up { "up" } else { "down" };
        if one.programs.is_empty() {
            table.row([one.name.as_str(), state, "-", "-", ""]);
        }
        for running in &one.programs {
            let program = format!("{} {}", running.id, name(running));
            let owner = running.owner.as_deref().unwrap_or("unknown");
            table.row([one.name.as_str(), state, running.mode, &program, owner]);
        }
    }
    table
}

/// Counters of the programs that count, by verdict and reason.
fn rates(status: &Status) -> Option<Table> {
    let texts = ["interface", "program", "verdict", "reason"].map(Column::text);
    let numbers = ["packets", "rate", "bits"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    let mut count = 0;
    for one in &status.interfaces {
        for running in &one.programs {
            for [verdict, reason, packets, pps, bps] in rows(running) {
                let (interface, program) = (one.name.clone(), name(running).to_owned());
                table.row([interface, program, verdict, reason, packets, pps, bps]);
                count += 1;
            }
        }
    }
    (count > 0).then_some(table)
}

fn name(running: &Running) -> &str {
    running.name.as_deref().unwrap_or("(not permitted)")
}

fn rows(running: &Running) -> Vec<[String; 5]> {
    let Some(rates) = &running.rates else { return Vec::new() };
    let row = |verdict: &str, reason: &str, rate: &Rate| {
        let [packets, pps, bps] = rate_cells(rate);
        [verdict.to_owned(), reason.to_owned(), packets, pps, bps]
    };
    if !rates.reasons.is_empty() {
        return rates.reasons.iter().map(|one| row(one.verdict, &one.reason, &one.rate)).collect();
    }
    let seen = rates.verdicts.iter().filter(|(_, rate)| rate.packets > 0);
    let mut rows: Vec<_> = seen.map(|(verdict, rate)| row(verdict, "", rate)).collect();
    if rates.invalid.packets > 0 {
        rows.push(row("no verdict", "", &rates.invalid));
    }
    rows
}

impl View for Status {
    fn text(&self, _paint: Paint) -> String {
        let mut text = overview(self).to_string();
        if let Some(rates) = rates(self) {
            text.push_str(&format!("\n{rates}"));
        }
        if self.interfaces.iter().flat_map(|one| &one.programs).any(|one| !one.permitted) {
            text.push_str(NOT_PERMITTED);
        }
        text
    }
}

/// Advice for programs that may not be read.
const NOT_PERMITTED: &str = "\nnot permitted: the program is not one that xway keeps in this state \
                             directory, and reading others takes CAP_SYS_ADMIN; run as root\n";

impl Drawing for Status {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let foot = format!("rates over {:.1} s; Ctrl-C ends", self.interval_s);
        let text = format!("{}\n{foot}", self.line());
        frame.render_widget(Paragraph::new(text), frame.area());
    }
}
