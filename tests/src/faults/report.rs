//! What a campaign found, for people and for scripts.

use std::fmt;

use serde_json::{Value, json};

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub commands: Vec<Tally>,
}

/// One command's points and findings.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub command: &'static str,
    /// Counted calls of an undisturbed run.
    pub calls: usize,
    /// Faults that were injected.
    pub points: usize,
    /// Afterwards the old state was there, or the new one.
    pub old: usize,
    pub new: usize,
    /// Points at which the interface ran nothing until the next command, where the kernel has no
    /// atomic step.
    pub gaps: usize,
    pub broken: Vec<Finding>,
    pub leaks: Vec<Finding>,
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub command: &'static str,
    /// Which fault, and where.
    pub point: String,
    pub what: String,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.commands.iter().all(|one| one.broken.is_empty() && one.leaks.is_empty())
    }

    /// Sums over all commands.
    pub fn sum(&self, count: fn(&Tally) -> usize) -> usize {
        self.commands.iter().map(count).sum()
    }

    /// The contract of `cargo xtask faults --json`.
    pub fn json(&self) -> Value {
        let all = |of: fn(&Tally) -> &Vec<Finding>| -> Vec<Value> {
            self.commands.iter().flat_map(|one| of(one).iter().map(Finding::json)).collect()
        };
        json!({
            "commands": self.commands.len(),
            "points": self.sum(|one| one.points),
            "old": self.sum(|one| one.old),
            "new": self.sum(|one| one.new),
            "gaps": self.sum(|one| one.gaps),
            "broken": all(|one| &one.broken),
            "leaks": all(|one| &one.leaks),
        })
    }
}

impl Tally {
    /// What is wrong, as text; empty when nothing is.
    pub fn findings(&self) -> String {
        let broken = self.broken.iter().map(|finding| format!("broken: {finding}\n"));
        broken.chain(self.leaks.iter().map(|finding| format!("leak: {finding}\n"))).collect()
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({ "command": self.command, "point": self.point, "what": self.what })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.command, self.point, self.what.replace('\n', "\n    "))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, calls, points, old, new, gaps, broken, leaks } = self;
        let (broken, leaks) = (broken.len(), leaks.len());
        write!(
            f,
            "{command:20} {calls:>6} {points:>7} {old:>6} {new:>6} {gaps:>5} {broken:>7} {leaks:>6}"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:20} {:>6} {:>7} {:>6} {:>6} {:>5} {:>7} {:>6}",
            "command", "calls", "points", "old", "new", "gaps", "broken", "leaks"
        )?;
        for tally in &self.commands {
            writeln!(f, "{tally}")?;
        }
        for finding in self.commands.iter().map(Tally::findings) {
            write!(f, "{finding}")?;
        }
        let points = self.sum(|one| one.points);
        let (broken, leaks) = (self.sum(|one| one.broken.len()), self.sum(|one| one.leaks.len()));
        write!(f, "{points} fault points: {broken} lost states, {leaks} leaks")
    }
}
