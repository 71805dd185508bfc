//! What a campaign found.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::Options;
use super::clients::Checked;
use super::processors::Shares;

#[derive(Clone, Debug)]
pub struct Report {
    pub options: Options,
    pub seconds: f64,
    /// Answers of backends over all rounds.
    pub answered: usize,
    /// Connections that ended with a backend that was set down.
    pub ended_at_down: usize,
    /// What happened to connections that began in the last interval before a balancer died or
    /// returned, so that the other one did not know them.
    pub unsynced: Vec<String>,
    /// What happened to connections that should have continued.
    pub broken: Vec<String>,
    /// Changes that were killed before their end.
    pub kills: usize,
    /// The slowest commands that changed backends, on all balancers together.
    pub slowest_change: Duration,
    /// SYNs of the flood that were sent.
    pub flood: u64,
    /// SYNs that balancers delivered to backends.
    pub arrived: u64,
    pub processors: Shares,
    /// What the memory of flows of each balancer did.
    pub events: Vec<Value>,
}

impl Report {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            seconds: 0.0,
            answered: 0,
            ended_at_down: 0,
            unsynced: Vec::new(),
            broken: Vec::new(),
            kills: 0,
            slowest_change: Duration::ZERO,
            flood: 0,
            arrived: 0,
            processors: Shares::default(),
            events: Vec::new(),
        }
    }

    pub(super) fn count(&mut self, checked: &Checked) {
        self.answered += checked.answered;
        self.ended_at_down += checked.ended_at_down;
        self.unsynced.extend(checked.unsynced.iter().cloned());
        self.broken.extend(checked.broken.iter().cloned());
    }

    /// Whether all connections continued that should have.
    pub fn is_whole(&self) -> bool {
        self.broken.is_empty()
    }

    pub fn json(&self) -> Value {
        let Options { seed, connections, changes, deaths, backends, flood_pps, .. } = self.options;
        let Shares { user, system, interrupts, idle } = self.processors;
        json!({
            "seed": seed, "connections": connections, "changes": changes, "deaths": deaths,
            "backends": backends, "delivery": self.options.delivery.label(),
            "flood_pps": flood_pps, "seconds": self.seconds, "answered": self.answered,
            "ended_at_down": self.ended_at_down, "unsynced": self.unsynced,
            "broken": self.broken, "kills": self.kills,
            "slowest_change_ms": self.slowest_change.as_secs_f64() * 1000.0,
            "flood": self.flood, "arrived": self.arrived, "events": self.events,
            "processors": {
                "user": user, "system": system, "interrupts": interrupts, "idle": idle,
            },
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { seed, connections, changes, deaths, backends, delivery, .. } = self.options;
        let (seconds, delivery) = (self.seconds, delivery.label());
        write!(f, "seed {seed}: {connections} connections, {backends} backends by {delivery}, ")?;
        writeln!(f, "{seconds:.1} s")?;
        writeln!(f, "{changes} changes, {} of them killed before; {deaths} deaths", self.kills)?;
        writeln!(f, "slowest change: {:.1} ms", self.slowest_change.as_secs_f64() * 1000.0)?;
        let rate = |packets: u64| packets as f64 / seconds.max(f64::MIN_POSITIVE);
        let (sent, arrived) = (rate(self.flood), rate(self.arrived));
        writeln!(f, "flood: {} SYNs, {sent:.0} a second; {arrived:.0} arrived", self.flood)?;
        let Shares { user, system, interrupts, idle } = self.processors;
        let percent = |share: f64| 100.0 * share;
        writeln!(
            f,
            "processors: {:.0} % packets, {:.0} % system, {:.0} % user, {:.0} % idle",
            percent(interrupts),
            percent(system),
            percent(user),
            percent(idle)
        )?;
        writeln!(f, "{} answers, each of the backend of its connection", self.answered)?;
        writeln!(f, "{} connections ended with a backend that was set down", self.ended_at_down)?;
        for events in &self.events {
            writeln!(f, "memory of flows: {events}")?;
        }
        writeln!(f, "{} connections unknown to the other balancer", self.unsynced.len())?;
        for one in self.unsynced.iter().take(LISTED) {
            writeln!(f, "  {one}")?;
        }
        write!(f, "{} connections broken", self.broken.len())?;
        for one in self.broken.iter().take(LISTED) {
            write!(f, "\n  {one}")?;
        }
        Ok(())
    }
}

/// Connections that are listed.
const LISTED: usize = 20;
