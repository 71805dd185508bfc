//! Text of `filter ban`, `unban` and `bans`: the active bans.

use control::filter::bans::BanReport;
use report::number::human;
use report::table::{Column, Table};

use crate::view::{Paint, View};

impl View for BanReport {
    fn text(&self, paint: Paint) -> String {
        if self.bans.is_empty() {
            return paint.dim(&format!("{}: no source is banned", self.interface));
        }
        let columns = [Column::text("source"), Column::number("left"), Column::number("packets")];
        let mut table = Table::new(columns);
        for ban in &self.bans {
            let left = ban.left.map(|left| format!("{:.0} s", left.as_secs_f64()));
            let left = left.unwrap_or_else(|| "forever".to_owned());
            table.row([ban.source.to_string(), left, human(ban.packets as f64, "")]);
        }
        table.to_string()
    }
}
