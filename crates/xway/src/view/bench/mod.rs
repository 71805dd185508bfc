//! What `bench` answers.

mod live;
pub mod state;
#[cfg(test)]
mod tests;

use report::bench::Report;
use report::table::Column;
use report::{Comparison, Table};
use serde::Serialize;

use super::{Paint, View};

/// What can be measured.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct List(pub Vec<Item>);

#[derive(Debug, Serialize)]
pub struct Item {
    pub name: &'static str,
    /// `picture` or `part`.
    pub kind: &'static str,
    pub about: &'static str,
    /// How much is measured without other words: rounds that count, seconds of an arm in each.
    pub rounds: usize,
    pub seconds: f64,
}

/// One scenario.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Answer(pub Report);

/// Two runs.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Compared(pub Comparison);

impl View for List {
    fn text(&self, _: Paint) -> String {
        let columns = ["name", "kind", "rounds", "measures"].map(Column::text);
        let mut table = Table::new(columns);
        for item in &self.0 {
            let effort = format!("{} x {} s", item.rounds, item.seconds);
            table.row([item.name, item.kind, &effort, item.about]);
        }
        table.to_string()
    }
}

impl View for Answer {
    fn text(&self, style: Paint) -> String {
        let Self(report) = self;
        let mut text = format!("{}\n\n{}", style.bold(&report.scenario), report.table());
        if let Some(ratios) = report.ratio_table() {
            text.push_str(&format!("\n{ratios}"));
        }
        let notes = &report.notes;
        for gone in &notes.absent {
            text.push_str(&format!("\n{} is not here: {}", gone.name, gone.reason));
        }
        for mark in &notes.marks {
            text.push_str(&format!("\n{}: {}", mark.row, mark.text));
        }
        for line in notes.notes.iter().chain(&notes.cut) {
            text.push_str(&format!("\n{line}"));
        }
        text.push_str(&format!("\n{}\n", style.dim(&report.host.summary())));
        text
    }
}

impl View for Compared {
    fn text(&self, style: Paint) -> String {
        let Self(comparison) = self;
        let mut text = String::new();
        for compared in &comparison.scenarios {
            text.push_str(&format!("{}\n", compared.table()));
            if !compared.ratios.is_empty() || compared.greatest.is_some() {
                text.push_str(&format!("{}\n", compared.ratio_table()));
            }
        }
        for compared in &comparison.scenarios {
            text.push_str(&format!("{}\n", style.bold(&compared.sentence())));
        }
        for line in comparison.unpaired().iter().chain(&comparison.doubts) {
            text.push_str(&format!("{line}\n"));
        }
        text
    }
}
