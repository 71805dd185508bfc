//! Text of `filter show`: rules in order with their counters, and the other reasons for verdicts.

use control::filter::report::{Bans, Event, FilterReport, RuleReport, Set};
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use super::limits;
use crate::view::status::rate_cells;
use crate::view::{Paint, View};

/// The loaded rules as a file, which `show --toml` composes.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// Name of the interface.
    pub interface: String,
    /// The rules as a file.
    pub file: String,
}

/// Rows of rules, and of the default verdict.
pub fn decisions(report: &FilterReport, rows: impl Iterator<Item = usize>) -> Table {
    let texts = ["", "rule", "what"].map(Column::text);
    let numbers = ["packets", "rate", "bits"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for rule in rows.filter_map(|row| report.rules.get(row)) {
        let [packets, pps, bps] = rate_cells(&rule.rate);
        let number = (rule.number + 1).to_string();
        table.row([number, rule.name.clone(), what(rule), packets, pps, bps]);
    }
    let [packets, pps, bps] = rate_cells(&report.default.rate);
    let verdict = report.default.verdict.to_owned();
    table.row([String::new(), "(default)".to_owned(), verdict, packets, pps, bps]);
    table
}

/// Packets by reason.
pub fn why(report: &FilterReport) -> Table {
    let texts = ["reason", "verdict"].map(Column::text);
    let numbers = ["packets", "rate", "bits"].map(Column::number);
    let mut table = Table::new(texts.into_iter().chain(numbers));
    for one in &report.reasons {
        let [packets, pps, bps] = rate_cells(&one.rate);
        table.row([one.reason.clone(), one.verdict.to_owned(), packets, pps, bps]);
    }
    table
}

/// Events that were counted, in a line.
fn events(report: &FilterReport) -> Option<String> {
    let seen = report.events.iter().filter(|one| one.count > 0);
    let words = seen.map(|Event { name, count, pps }| {
        format!("{name} {} ({})", human(*count as f64, ""), human(*pps, "pps"))
    });
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| format!("events: {}", words.join(", ")))
}

fn policies(report: &FilterReport) -> String {
    let words = report.anomalies.iter().map(|one| format!("{} {}", one.name, one.policy));
    words.collect::<Vec<_>>().join(", ")
}

/// The rule's text, and its remaining time.
pub fn what(rule: &RuleReport) -> String {
    match rule.left_s {
        None => rule.text.clone(),
        Some(0.0) => format!("{} (over)", rule.text),
        Some(left) => format!("{} ({left:.0} s left)", rule.text),
    }
}

impl View for FilterReport {
    fn text(&self, paint: Paint) -> String {
        let Self { interface, mode, program_id, .. } = self;
        let mut text =
            paint.bold(&format!("{interface}: filter in {mode} mode, program {program_id}"));
        text.push('\n');
        text.push_str(&decisions(self, 0..self.rules.len()).to_string());
        if self.gone.packets > 0 {
            let [packets, ..] = rate_cells(&self.gone);
            text.push_str(&format!("{packets} packets were counted by rules that are gone\n"));
        }
        if !self.reasons.is_empty() {
            text.push_str(&format!("\n{}", why(self)));
        }
        if !self.limits.is_empty() {
            text.push_str(&format!("\n{}", limits::table(&self.limits)));
        }
        if let Some(events) = events(self) {
            text.push_str(&format!("\n{events}"));
        }
        if self.bans.number > 0 {
            let Bans { number, most } = self.bans;
            text.push_str(&format!("\n{number} sources are banned, of {most} at most"));
        }
        for Set { name, v4_ranges, v6_ranges } in &self.sets {
            text.push_str(&format!(
                "\nset {name}: {v4_ranges} ranges of IPv4, {v6_ranges} of IPv6"
            ));
        }
        let policies =
            crate::view::wrapped(&format!("malformed packets: {}", policies(self)), WIDTH);
        text.push_str(&format!("\n{policies}"));
        text
    }
}

impl View for File {
    fn text(&self, _paint: Paint) -> String {
        self.file.clone()
    }
}

const WIDTH: usize = 100;
