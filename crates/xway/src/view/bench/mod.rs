//! Text of `bench`.

mod live;
pub mod state;
#[cfg(test)]
mod tests;

use bench::{Kind, Scenario};
use report::bench::Report;
use report::table::Column;
use report::{Comparison, Table};

use super::{Paint, View};

impl View for &[Scenario] {
    fn text(&self, _: Paint) -> String {
        let columns = ["name", "kind", "rounds", "measures"].map(Column::text);
        let mut table = Table::new(columns);
        for scenario in *self {
            let kind = match scenario.kind {
                Kind::Picture => "picture",
                Kind::Part => "part",
            };
            let effort = format!("{} x {} s", scenario.effort.rounds, scenario.effort.seconds);
            table.row([scenario.name, kind, &effort, scenario.about]);
        }
        table.to_string()
    }
}

impl View for Report {
    fn text(&self, style: Paint) -> String {
        let mut text = format!("{}\n\n{}", style.bold(&self.scenario), self.table());
        if let Some(ratios) = self.ratio_table() {
            text.push_str(&format!("\n{ratios}"));
        }
        let notes = &self.notes;
        for gone in &notes.absent {
            text.push_str(&format!("\n{} was not measured: {}", gone.name, gone.reason));
        }
        for mark in &notes.marks {
            text.push_str(&format!("\n{}: {}", mark.row, mark.text));
        }
        for line in notes.notes.iter().chain(&notes.cut) {
            text.push_str(&format!("\n{line}"));
        }
        text.push_str(&format!("\n{}\n", style.dim(&self.host.summary())));
        text
    }
}

impl View for Comparison {
    fn text(&self, style: Paint) -> String {
        let mut text = String::new();
        for compared in &self.scenarios {
            text.push_str(&format!("{}\n", compared.table()));
            if !compared.ratios.is_empty() || compared.greatest.is_some() {
                text.push_str(&format!("{}\n", compared.ratio_table()));
            }
        }
        for compared in &self.scenarios {
            text.push_str(&format!("{}\n", style.bold(&compared.sentence())));
        }
        for line in self.unpaired().iter().chain(&self.doubts) {
            text.push_str(&format!("{line}\n"));
        }
        text
    }
}
