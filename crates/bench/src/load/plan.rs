//! `Plan`: what all workers of a run share, and the progress that they publish while they work.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::packet::Template;

/// What a worker does with its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends numbered packets.
    Tx,
    /// Counts numbered packets.
    Rx,
    /// Sends packets back with exchanged Ethernet addresses.
    Echo,
    /// Forwards packets from one socket to another.
    Forward,
    /// Sends one packet at a time and waits for its echo.
    Rtt,
}

impl Role {
    /// Whether the role sends packets without receiving any first.
    pub fn initiates(self) -> bool {
        matches!(self, Self::Tx | Self::Rtt)
    }
}

/// The parameters of a run.
#[derive(Debug)]
pub struct Plan {
    /// What each worker does with packets.
    pub role: Role,
    /// Packets per batch.
    pub batch: usize,
    /// The packet to send; required by roles that initiate.
    pub template: Option<Template>,
    /// Duration, counted from the first packet of any worker.
    pub time: Duration,
    /// Whether the run also ends if no first packet arrives in time.
    pub is_timed: bool,
    /// Maximum number of packets of all workers.
    pub count: Option<u64>,
    /// Nanoseconds between two packets of one worker; 0 without pacing.
    pub gap_ns: f64,
    pub(super) begin: OnceLock<Instant>,
    pub(super) counters: Vec<Counters>,
}

/// What one worker has done so far, readable by other threads, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Counters {
    /// Packets that all workers sent.
    pub sent: AtomicU64,
    /// Packets that all workers received.
    pub received: AtomicU64,
    /// Numbers that have not arrived.
    pub missing: AtomicU64,
}

/// What all workers have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the first packet.
    pub elapsed: Duration,
    /// Packets that all workers sent.
    pub sent: u64,
    /// Packets that all workers received.
    pub received: u64,
    /// Numbers that have not arrived.
    pub missing: u64,
}

impl Plan {
    /// A plan without pacing or an end.
    pub fn new(role: Role, workers: usize) -> Self {
        Self {
            role,
            batch: BATCH,
            template: None,
            time: Duration::MAX,
            is_timed: false,
            count: None,
            gap_ns: 0.0,
            begin: OnceLock::new(),
            counters: (0..workers).map(|_| Counters::default()).collect(),
        }
    }

    /// The totals of all workers so far.
    pub fn progress(&self) -> Progress {
        let sum = |field: fn(&Counters) -> &AtomicU64| -> u64 {
            self.counters.iter().map(|one| field(one).load(Ordering::Relaxed)).sum()
        };
        Progress {
            elapsed: self.begin.get().map(Instant::elapsed).unwrap_or_default(),
            sent: sum(|one| &one.sent),
            received: sum(|one| &one.received),
            missing: sum(|one| &one.missing),
        }
    }

    /// The maximum number of packets that this worker sends, where its role initiates.
    pub(super) fn share(&self, worker: usize) -> u64 {
        let Some(count) = self.count.filter(|_| self.role.initiates()) else { return u64::MAX };
        let workers = self.counters.len() as u64;
        count / workers + u64::from((worker as u64) < count % workers)
    }

    /// Whether all workers together have received the requested number of packets.
    pub(super) fn has_enough(&self) -> bool {
        let count = self.count.filter(|_| !self.role.initiates());
        count.is_some_and(|count| self.progress().received >= count)
    }
}

/// Packets per batch unless the caller sets another number.
const BATCH: usize = 64;
