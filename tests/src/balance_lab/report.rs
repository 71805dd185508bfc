//! What a campaign found.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::Options;
use super::clients::Checked;

#[derive(Clone, Debug)]
pub struct Report {
    pub options: Options,
    pub seconds: f64,
    /// Answers of backends over all rounds.
    pub answered: usize,
    /// Connections that ended with a backend that was set down.
    pub ended_at_down: usize,
    /// What happened to connections that should have continued.
    pub broken: Vec<String>,
    /// Changes that were killed before their end.
    pub kills: usize,
    /// The slowest command that changed backends.
    pub slowest_change: Duration,
    /// Packets of the flood.
    pub flood: u64,
    /// What the memory of flows did.
    pub events: Value,
}

impl Report {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            seconds: 0.0,
            answered: 0,
            ended_at_down: 0,
            broken: Vec::new(),
            kills: 0,
            slowest_change: Duration::ZERO,
            flood: 0,
            events: Value::Null,
        }
    }

    pub(super) fn count(&mut self, checked: &Checked) {
        self.answered += checked.answered;
        self.ended_at_down += checked.ended_at_down;
        self.broken.extend(checked.broken.iter().cloned());
    }

    /// Whether all connections continued that should have.
    pub fn is_whole(&self) -> bool {
        self.broken.is_empty()
    }

    pub fn json(&self) -> Value {
        let Options { seed, connections, changes, backends, flood_pps } = self.options;
        json!({
            "seed": seed, "connections": connections, "changes": changes, "backends": backends,
            "flood_pps": flood_pps, "seconds": self.seconds, "answered": self.answered,
            "ended_at_down": self.ended_at_down, "broken": self.broken, "kills": self.kills,
            "slowest_change_ms": self.slowest_change.as_secs_f64() * 1000.0,
            "flood": self.flood, "events": self.events,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { seed, connections, changes, backends, .. } = self.options;
        let seconds = self.seconds;
        writeln!(f, "seed {seed}: {connections} connections, {backends} backends, {seconds:.1} s")?;
        writeln!(f, "{changes} changes, {} of them killed before", self.kills)?;
        writeln!(f, "slowest change: {:.1} ms", self.slowest_change.as_secs_f64() * 1000.0)?;
        let rate = self.flood as f64 / seconds.max(f64::MIN_POSITIVE);
        writeln!(f, "flood: {} SYNs, {rate:.0} a second", self.flood)?;
        writeln!(f, "{} answers, each of the backend of its connection", self.answered)?;
        writeln!(f, "{} connections ended with a backend that was set down", self.ended_at_down)?;
        writeln!(f, "memory of flows: {}", self.events)?;
        write!(f, "{} connections broken", self.broken.len())?;
        for one in self.broken.iter().take(LISTED) {
            write!(f, "\n  {one}")?;
        }
        Ok(())
    }
}

/// Broken connections that are listed.
const LISTED: usize = 20;
