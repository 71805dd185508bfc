//! `Plan`: what all workers of a run share, and what they tell while they work.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::packet::Template;
use crate::args::RoleArg;

#[derive(Debug)]
pub struct Plan {
    pub role: RoleArg,
    /// Packets at a time.
    pub batch: usize,
    /// For roles that make packets.
    pub template: Option<Template>,
    /// From the first packet of any worker on.
    pub time: Duration,
    /// Whether somebody is sure to send: then it is an end if nothing comes.
    pub is_timed: bool,
    /// Packets of all workers.
    pub count: Option<u64>,
    /// Nanoseconds between two packets of one worker; 0 without pacing.
    pub gap_ns: f64,
    pub begin: OnceLock<Instant>,
    pub lives: Vec<Live>,
}

/// What one worker has done so far, for those who look on. A processor's cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Live {
    pub sent: AtomicU64,
    pub received: AtomicU64,
    pub missing: AtomicU64,
}

/// The same of all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub elapsed: Duration,
    pub sent: u64,
    pub received: u64,
    pub missing: u64,
}

impl Plan {
    pub fn progress(&self) -> Progress {
        let sum = |field: fn(&Live) -> &AtomicU64| -> u64 {
            self.lives.iter().map(|live| field(live).load(Ordering::Relaxed)).sum()
        };
        Progress {
            elapsed: self.begin.get().map(Instant::elapsed).unwrap_or_default(),
            sent: sum(|live| &live.sent),
            received: sum(|live| &live.received),
            missing: sum(|live| &live.missing),
        }
    }

    /// Packets that this worker sends at most, where it begins to send by itself.
    pub fn share(&self, worker: usize) -> u64 {
        let Some(count) = self.count.filter(|_| self.is_asking()) else { return u64::MAX };
        let workers = self.lives.len() as u64;
        count / workers + u64::from((worker as u64) < count % workers)
    }

    /// Whether all workers together have received what was asked for.
    pub fn has_enough(&self) -> bool {
        let count = self.count.filter(|_| !self.is_asking());
        count.is_some_and(|count| self.progress().received >= count)
    }

    /// Whether the role sends without being sent to.
    pub fn is_asking(&self) -> bool {
        matches!(self.role, RoleArg::Tx | RoleArg::Rtt)
    }
}
