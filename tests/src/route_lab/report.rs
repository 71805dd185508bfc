//! Where the frames ended.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::routing::Drops;

/// Result of the campaign.
#[derive(Clone, Debug)]
pub struct Report {
    pub flaps: usize,
    /// Routes that were withdrawn or announced, at their origin.
    pub updates: u64,
    pub seconds: f64,
    pub sent: u64,
    pub arrived: u64,
    /// Frames that the first router forwarded in XDP.
    pub in_xdp: u64,
    /// For each router, in their order.
    pub drops: Vec<Drops>,
}

impl Report {
    pub fn dropped(&self) -> u64 {
        self.drops.iter().map(Drops::total).sum()
    }

    /// Frames that neither arrived nor were counted.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.arrived + self.dropped())
    }

    /// Counted ends beyond the frames that were sent.
    pub fn excess(&self) -> u64 {
        (self.arrived + self.dropped()).saturating_sub(self.sent)
    }

    /// Whether each frame is accounted for, exactly.
    pub fn is_balanced(&self) -> bool {
        self.missing() == 0 && self.excess() == 0
    }

    pub fn json(&self) -> Value {
        let of = |drops: &Drops| -> Value {
            let each = drops.0.iter().map(|(name, count)| (name.clone(), Value::from(*count)));
            each.collect::<Map<_, _>>().into()
        };
        json!({
            "flaps": self.flaps,
            "updates": self.updates,
            "seconds": self.seconds,
            "sent": self.sent,
            "arrived": self.arrived,
            "forwarded_in_xdp": self.in_xdp,
            "dropped": self.drops.iter().map(of).collect::<Vec<_>>(),
            "missing": self.missing(),
            "excess": self.excess(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.updates as f64 / self.seconds;
        let Self { flaps, updates, sent, arrived, in_xdp, .. } = self;
        writeln!(f, "{flaps} flaps, {updates} updates of routes ({rate:.0} a second)")?;
        writeln!(f, "{sent} frames sent, {arrived} arrived; {in_xdp} forwarded in XDP by r1")?;
        for (number, drops) in (1..).zip(&self.drops) {
            for (name, count) in &drops.0 {
                writeln!(f, "r{number}: {count} {name}")?;
            }
        }
        write!(f, "{} missing, {} in excess", self.missing(), self.excess())
    }
}
