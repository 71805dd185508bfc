//! What `filter ban`, `unban` and `bans` answer: the bans in force.

use std::net::IpAddr;

use filter::runtime::bans;
use report::number::human;
use report::table::{Column, Table};
use serde::Serialize;

use crate::view::{Paint, View};

#[derive(Clone, Debug, Serialize)]
pub struct Banned {
    pub interface: String,
    /// Sorted by address.
    pub bans: Vec<Ban>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Ban {
    pub source: IpAddr,
    /// `null`: until it is taken back.
    pub left_s: Option<f64>,
    /// Dropped so far.
    pub packets: u64,
}

impl From<&bans::Ban> for Ban {
    fn from(ban: &bans::Ban) -> Self {
        let left_s = ban.left.map(|left| left.as_secs_f64());
        Self { source: ban.source, left_s, packets: ban.packets }
    }
}

impl View for Banned {
    fn text(&self, paint: Paint) -> String {
        if self.bans.is_empty() {
            return paint.dim(&format!("{}: no source is banned", self.interface));
        }
        let columns = [Column::text("source"), Column::number("left"), Column::number("packets")];
        let mut table = Table::new(columns);
        for Ban { source, left_s, packets } in &self.bans {
            let left = left_s.map_or_else(|| "for ever".to_owned(), |left| format!("{left:.0} s"));
            table.row([source.to_string(), left, human(*packets as f64, "")]);
        }
        table.to_string()
    }
}
