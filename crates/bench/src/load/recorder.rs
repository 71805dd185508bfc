//! `Recorder`: one worker's counters, and whether it continues.
//!
//! Rule: the clock is read once in [`TURNS`] batches, and starts with the first packet.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sys::thread::Spent;
use traffic::Histogram;
use xsk::{Stats, Stop};

use super::plan::{Counters, Plan};
use super::tracker::Tracker;

/// One worker's counters and clock while it runs.
#[derive(Debug)]
pub struct Recorder<'a> {
    /// The plan that the worker executes.
    pub plan: &'a Plan,
    published: &'a Counters,
    stop: &'a Stop,
    /// When the worker started.
    started: Instant,
    /// Time and processor time at this worker's first packet.
    begin: Option<(Instant, Spent)>,
    /// When the clock was last read and packets had come since the reading before.
    last: Instant,
    /// Packets counted when the clock was last read.
    seen: u64,
    /// Maximum number of packets to send.
    pub share: u64,
    /// The result so far.
    pub tally: Tally,
}

/// The result of one worker.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Packets that the worker sent.
    pub sent: u64,
    /// Packets sent whose completion arrived in time.
    pub completed: u64,
    /// Numbers that the worker received.
    pub tracker: Tracker,
    /// All packets received, also those without a number of this run.
    pub came: u64,
    /// Packets received and not forwarded because the transmit ring was full.
    pub refused: u64,
    /// Round trips whose reply did not arrive in time.
    pub unanswered: u64,
    /// Times of round trips, in nanoseconds.
    pub round_trips_ns: Histogram,
    /// From the first packet to the last.
    pub time: Duration,
    /// Processor time since the first packet.
    pub spent: Spent,
    /// Statistics of the sockets.
    pub stats: Stats,
}

impl<'a> Recorder<'a> {
    /// Starts the record of a worker.
    pub fn start(plan: &'a Plan, worker: usize, stop: &'a Stop) -> Self {
        let now = Instant::now();
        Self {
            plan,
            published: &plan.counters[worker],
            stop,
            started: now,
            begin: None,
            last: now,
            seen: 0,
            share: plan.share(worker),
            tally: Tally::default(),
        }
    }

    /// Batches until the clock is read.
    pub fn turns(&self) -> usize {
        if self.begin.is_some() { TURNS } else { 1 }
    }

    /// Starts the clock now, for roles that initiate.
    pub fn begin(&mut self) {
        let now = Instant::now();
        self.begin = Some((*self.plan.begin.get_or_init(|| now), Spent::now()));
    }

    /// Publishes the counters and reads the clock; returns `false` when the run is over.
    pub fn continues(&mut self) -> bool {
        let now = Instant::now();
        self.publish();
        let done = self.tally.sent + self.tally.came;
        if done > self.seen {
            (self.last, self.seen) = (now, done);
            if self.begin.is_none() {
                self.plan.begin.get_or_init(|| now);
                self.begin = Some((now, Spent::now()));
            }
        }
        !self.stop.is_set() && !self.is_over(now)
    }

    /// Stops the clock and returns the result.
    pub fn end(mut self, stats: Stats) -> Tally {
        self.publish();
        if let Some((begin, spent)) = self.begin {
            self.tally.time = self.last.saturating_duration_since(begin);
            self.tally.spent = Spent::now().since(spent);
        }
        self.tally.stats = stats;
        self.tally
    }

    fn publish(&self) {
        let arrived = self.tally.tracker.arrived();
        self.published.sent.store(self.tally.sent, Ordering::Relaxed);
        self.published.received.store(arrived.received, Ordering::Relaxed);
        self.published.missing.store(arrived.missing, Ordering::Relaxed);
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.tally.sent >= self.share {
            return true;
        }
        match self.plan.begin.get() {
            Some(begin) => {
                now.saturating_duration_since(*begin) >= self.plan.time || self.plan.has_enough()
            }
            None => self.plan.is_timed && now - self.started >= FIRST,
        }
    }
}

/// Batches between two readings of the clock.
const TURNS: usize = 16;
/// How long a timed run waits for its first packet.
const FIRST: Duration = Duration::from_secs(20);
