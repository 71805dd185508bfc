//! What `filter load`, `add`, `remove` and `flush` answer.

use serde::Serialize;

use crate::view::{Paint, View};

/// Rules are in force.
#[derive(Clone, Debug, Serialize)]
pub struct InForce {
    pub interface: String,
    pub mode: &'static str,
    /// `true` when they took the place of other rules, whose counters and state go on.
    pub updated: bool,
    pub default: &'static str,
    /// By name, in order.
    pub rules: Vec<String>,
}

impl View for InForce {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, mode, updated, default, rules } = self;
        let what = if *updated { "updated" } else { "attached" };
        let count = match rules.len() {
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        format!("{interface}: filter {what} in {mode} mode: {count}, default {default}")
    }
}
