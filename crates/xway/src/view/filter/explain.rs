//! Why a packet fares as it does.
//!
//! Field names are promised in `docs/json.md`.

use std::fmt::Write;

use serde::Serialize;

use crate::view::{Paint, View};

/// Rules that text names before it only counts them.
const TOLD: usize = 8;

#[derive(Debug, Serialize)]
pub struct Explained {
    /// From 1 on, as capture tools count.
    pub n: u64,
    pub verdict: &'static str,
    /// The rule that decided; of a later fragment, the one that decided its first.
    pub rule: Option<String>,
    pub reason: &'static str,
    /// Packets inside of each other, as far as they were judged; the outermost first.
    pub layers: Vec<Layer>,
    /// Which of them decided, from 0 on.
    pub decided: Option<usize>,
}

/// A packet that arrived while somebody looked.
#[derive(Debug, Serialize)]
pub struct Arrived {
    #[serde(flatten)]
    pub explained: Explained,
    /// Seconds since the beginning, when it was read.
    pub t: f64,
    pub summary: String,
    /// Of the frame.
    pub length: u32,
    pub queue: u32,
}

#[derive(Debug, Serialize)]
pub struct Layer {
    /// What rules see of it.
    pub packet: String,
    pub odd: Vec<&'static str>,
    /// The first that matches and decides.
    pub rule: Option<String>,
    /// Those before it that matched and went on.
    pub matched: Vec<String>,
    /// Those before it that did not match.
    pub before: Vec<Before>,
}

#[derive(Debug, Serialize)]
pub struct Before {
    pub rule: String,
    pub why: String,
}

impl Explained {
    fn head(&self, style: Paint) -> String {
        let verdict = match self.verdict {
            "drop" | "aborted" => style.bad(self.verdict),
            _ => style.good(self.verdict),
        };
        let by = match &self.rule {
            Some(rule) => format!("{rule} ({})", self.reason),
            None => self.reason.to_owned(),
        };
        format!("{:>6}  {verdict}  {}\n", self.n, style.bold(&by))
    }

    fn write_layers(&self, text: &mut String, style: Paint) {
        for layer in &self.layers {
            layer.write(text, style);
        }
    }
}

impl View for Explained {
    fn text(&self, style: Paint) -> String {
        let mut text = self.head(style);
        self.write_layers(&mut text, style);
        text
    }
}

impl View for Arrived {
    fn text(&self, style: Paint) -> String {
        let mut text = format!("{}        {}\n", self.explained.head(style), self.summary);
        self.explained.write_layers(&mut text, style);
        text
    }
}

impl Layer {
    fn write(&self, text: &mut String, style: Paint) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "        {}", style.dim(&self.packet));
        if !self.odd.is_empty() {
            let _ = writeln!(text, "        malformed: {}", self.odd.join(", "));
        }
        for Before { rule, why } in self.before.iter().take(TOLD) {
            let _ = writeln!(text, "          not {rule}: {why}");
        }
        if let Some(more) = self.before.len().checked_sub(TOLD).filter(|more| *more > 0) {
            let _ = writeln!(text, "          nor {more} more (all with --json)");
        }
        for rule in &self.matched {
            let _ = writeln!(text, "          {rule} matched and went on");
        }
        if let Some(rule) = &self.rule {
            let _ = writeln!(text, "          {rule} matched");
        }
    }
}
