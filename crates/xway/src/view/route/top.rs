//! The view of `route top`: a table of destination networks.

use control::route::RouteTop;
use report::number::human;

use crate::view::browser::{Browsable, Cell, Heading, Sheet};
use crate::view::{Paint, View};

impl View for RouteTop {
    fn text(&self, _paint: Paint) -> String {
        let table = sheet(self);
        let rows = if table.is_empty() { table.empty.clone() } else { table.table().to_string() };
        format!("{}\n{rows}", self.head())
    }
}

/// The table, for text and for the live view.
fn sheet(top: &RouteTop) -> Sheet {
    let numbers = ["packets", "rate", "bits", "share"].map(Heading::number);
    let mut sheet = Sheet::new("networks", [Heading::text("network")].into_iter().chain(numbers));
    for one in &top.networks {
        sheet.row([
            Cell::text(one.network.clone()),
            Cell::number(one.rate.packets as f64, ""),
            Cell::number(one.rate.pps, "pps"),
            Cell::number(one.rate.bps, "bit/s"),
            Cell::number(100.0 * one.share, "%"),
        ]);
    }
    sheet.empty = "no packet was sampled".to_owned();
    sheet
}

impl Browsable for RouteTop {
    fn line(&self) -> String {
        self.text(Paint { colour: false })
    }

    fn head(&self) -> String {
        let all: f64 = self.networks.iter().map(|one| one.rate.pps).sum();
        format!(
            "routed: {} to {} networks, of 1 sample in {} packets; rates over {:.1} s",
            human(all, "pps"),
            self.networks.len(),
            self.sampled_one_in,
            self.interval_s
        )
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![sheet(self)]
    }
}
