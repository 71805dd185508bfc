//! What `attach`, `detach`, `drop` and `forward` answer.

use serde::Serialize;

use super::{Paint, View};

/// A program is on an interface now.
#[derive(Clone, Debug, Serialize)]
pub struct Attached {
    pub interface: String,
    pub object: String,
    pub program: String,
    pub program_id: u32,
    pub mode: &'static str,
    /// Whether `status` can tell its verdicts.
    pub counted: bool,
}

/// Interfaces that a function runs on now, and what changed in its tables.
#[derive(Clone, Debug, Serialize)]
pub struct Configured {
    pub function: &'static str,
    pub interfaces: Vec<String>,
    pub mode: &'static str,
    /// `true` when the program was there already and only its tables changed.
    pub updated: bool,
    pub rules: Vec<String>,
}

/// A program is off an interface.
#[derive(Clone, Debug, Serialize)]
pub struct Detached {
    pub interface: String,
    /// What was attached, as its owner called it; several when modes were mixed.
    pub programs: Vec<String>,
}

impl View for Attached {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, object, program, mode, counted, .. } = self;
        let counted = if *counted { "" } else { ", verdicts not counted" };
        format!("{interface}: {program} of {object} attached in {mode} mode{counted}")
    }
}

impl View for Configured {
    fn text(&self, _paint: Paint) -> String {
        let Self { function, interfaces, mode, updated, rules } = self;
        let what = if *updated { "updated" } else { "attached" };
        let heads =
            interfaces.iter().map(|name| format!("{name}: {function} {what} in {mode} mode"));
        let rules = rules.iter().map(|rule| format!("  {rule}"));
        heads.chain(rules).collect::<Vec<_>>().join("\n")
    }
}

impl View for Detached {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, programs } = self;
        match programs.as_slice() {
            [] => format!("{interface}: nothing was attached"),
            some => format!("{interface}: {} detached", some.join(" and ")),
        }
    }
}
