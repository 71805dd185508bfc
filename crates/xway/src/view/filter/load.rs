//! Text of `filter load`, `add`, `remove` and `flush`.

use control::filter::LoadReport;
use control::filter::memory::amount;

use crate::view::{Paint, View};

impl View for LoadReport {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, mode, updated, default, rules, memory, .. } = self;
        let what = if *updated { "updated" } else { "attached" };
        let count = match rules.len() {
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        let memory = amount(memory.bytes);
        format!(
            "{interface}: filter {what} in {mode} mode: {count}, default {default}, \
             maps of {memory}"
        )
    }
}
