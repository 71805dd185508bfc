//! Where the frames ended.

use std::collections::BTreeMap;
use std::fmt;

use report::{Samples, Stats};
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
    /// Flaps that all routers had before the next one.
    pub followed: Vec<FollowedFlap>,
    /// Frames that the first router forwarded in XDP.
    pub in_xdp: u64,
    /// For each router, in their order.
    pub drops: Vec<Drops>,
    /// Processor time of each daemon, in seconds.
    pub cpu: Vec<(String, f64)>,
}

/// A flap that all routers had before the next one.
#[derive(Clone, Copy, Debug)]
pub struct FollowedFlap {
    /// Until no router had the route, and until all had it again.
    pub withdrawn_s: f64,
    pub announced_s: f64,
    /// Frames that were sent while all had it, and those of them that arrived.
    pub sent: u64,
    pub arrived: u64,
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

    /// Frames that were sent while all routers had the route, and those of them that arrived.
    pub fn while_all_had_it(&self) -> (u64, u64) {
        let sum = |of: fn(&FollowedFlap) -> u64| self.followed.iter().map(of).sum();
        (sum(|flap| flap.sent), sum(|flap| flap.arrived))
    }

    /// Minimum, median and maximum of a time of flaps.
    fn times(&self, of: fn(&FollowedFlap) -> f64) -> Option<Stats> {
        let values: Vec<f64> = self.followed.iter().map(of).collect();
        Samples::new(values).ok().map(|samples| samples.stats())
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
            "followed": {
                "flaps": self.followed.len(),
                "withdrawn_s": self.times(|flap| flap.withdrawn_s),
                "announced_s": self.times(|flap| flap.announced_s),
                "sent": self.while_all_had_it().0,
                "arrived": self.while_all_had_it().1,
            },
            "forwarded_in_xdp": self.in_xdp,
            "dropped": self.drops.iter().map(of).collect::<Vec<_>>(),
            "cpu_s": self.cpu.iter().cloned().collect::<BTreeMap<_, _>>(),
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
        let (sent, arrived) = self.while_all_had_it();
        writeln!(f, "{sent} sent while all routers had the route, {arrived} of them arrived")?;
        let times = [
            ("withdrawn", self.times(|flap| flap.withdrawn_s)),
            ("announced", self.times(|flap| flap.announced_s)),
        ];
        for (name, stats) in times {
            let Some(Stats { min, median, max, .. }) = stats else { continue };
            writeln!(f, "{name} everywhere after {min:.3} / {median:.3} / {max:.3} s")?;
        }
        for (name, seconds) in &self.cpu {
            let each = seconds * 1e6 / *updates as f64;
            writeln!(f, "{name}: {seconds:.2} s of CPU, {each:.1} us for each update")?;
        }
        for (number, drops) in (1..).zip(&self.drops) {
            for (name, count) in &drops.0 {
                writeln!(f, "r{number}: {count} {name}")?;
            }
        }
        write!(f, "{} missing, {} in excess", self.missing(), self.excess())
    }
}
