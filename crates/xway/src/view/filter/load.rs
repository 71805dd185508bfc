//! What `filter load`, `add`, `remove` and `flush` answer.

use serde::Serialize;

use super::memory::{Memory, amount};
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
    /// Of maps that were made for them.
    pub memory: Memory,
    pub took: Took,
}

/// Seconds of each part of a change, in the form of the program that the kernel took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Took {
    /// Rules and their sets are read, what runs is found; other writers are waited for.
    pub read_s: f64,
    /// From rules to a program.
    pub compile_s: f64,
    /// The kernel makes maps, verifies and translates.
    pub load_s: f64,
    /// Limits, bans and times of the rules in force are handed over.
    pub carry_s: f64,
    /// The interface's link is changed, the old program's last run waited for, its counts added.
    pub swap_s: f64,
}

impl View for InForce {
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
