//! The view of `balance top`: a table of backends.

use control::balance::BalanceTop;
use report::number::human;

use crate::view::browser::{Browsable, Cell, Heading, Sheet};
use crate::view::{Paint, View};

impl View for BalanceTop {
    fn text(&self, _paint: Paint) -> String {
        let table = sheet(self);
        let rows = if table.is_empty() { table.empty.clone() } else { table.table().to_string() };
        format!("{}\n{rows}", self.head())
    }
}

/// The table, for text and for the live view.
fn sheet(top: &BalanceTop) -> Sheet {
    let texts = ["interface", "service", "backend", "state"].map(Heading::text);
    let numbers = ["packets", "rate", "bits", "share", "flows"].map(Heading::number);
    let mut sheet = Sheet::new("backends", texts.into_iter().chain(numbers));
    for one in &top.backends {
        sheet.row([
            Cell::text(one.interface.clone()),
            Cell::text(one.service.clone()),
            Cell::text(one.address.to_string()),
            Cell::text(one.state.to_owned()),
            Cell::number(one.rate.packets as f64, ""),
            Cell::number(one.rate.pps, "pps"),
            Cell::number(one.rate.bps, "bit/s"),
            Cell::number(100.0 * one.share, "%"),
            Cell::number(one.flows as f64, ""),
        ]);
    }
    sheet.empty = "no balancer runs in this network namespace".to_owned();
    sheet
}

impl Browsable for BalanceTop {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn head(&self) -> String {
        let all: f64 = self.backends.iter().map(|one| one.rate.pps).sum();
        let backends = self.backends.len();
        format!(
            "balanced: {} to {backends} backends; rates over {:.1} s",
            human(all, "pps"),
            self.interval_s
        )
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![sheet(self)]
    }
}
