//! `Book`: one worker's counts, and whether it goes on.
//!
//! Rule: the clock is looked at once in [`TURNS`] batches, and starts with the first packet.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sys::thread::Spent;
use traffic::Histogram;
use xsk::{Stats, Stop};

use super::plan::{Live, Plan};
use super::tracker::Tracker;

/// Looks at the clock, and what is counted until then.
#[derive(Debug)]
pub struct Book<'a> {
    pub plan: &'a Plan,
    live: &'a Live,
    stop: &'a Stop,
    /// When it was opened.
    opened: Instant,
    /// Of this worker's first packet.
    begin: Option<(Instant, Spent)>,
    /// Of its last one, about.
    last: Instant,
    /// Packets until the clock was last looked at.
    seen: u64,
    /// Packets that it sends at most.
    pub share: u64,
    pub tally: Tally,
}

/// What one worker did.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub sent: u64,
    /// Of these, done in time.
    pub completed: u64,
    pub tracker: Tracker,
    /// Packets that came, whosesoever.
    pub came: u64,
    /// Packets that came and found no room to be sent on.
    pub refused: u64,
    /// Round trips whose answer did not come in time.
    pub unanswered: u64,
    pub round_trips_ns: Histogram,
    pub time: Duration,
    pub spent: Spent,
    pub stats: Stats,
}

impl<'a> Book<'a> {
    pub fn open(plan: &'a Plan, worker: usize, stop: &'a Stop) -> Self {
        let now = Instant::now();
        Self {
            plan,
            live: &plan.lives[worker],
            stop,
            opened: now,
            begin: None,
            last: now,
            seen: 0,
            share: plan.share(worker),
            tally: Tally::default(),
        }
    }

    /// Batches until the clock is looked at.
    pub fn turns(&self) -> usize {
        if self.begin.is_some() { TURNS } else { 1 }
    }

    /// For roles that wait for nobody.
    pub fn begin(&mut self) {
        let now = Instant::now();
        self.begin = Some((*self.plan.begin.get_or_init(|| now), Spent::now()));
    }

    /// Tells those who look on; `false` when it is over.
    pub fn goes_on(&mut self) -> bool {
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

    /// Closes it.
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
        self.live.sent.store(self.tally.sent, Ordering::Relaxed);
        self.live.received.store(arrived.received, Ordering::Relaxed);
        self.live.missing.store(arrived.missing, Ordering::Relaxed);
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.tally.sent >= self.share {
            return true;
        }
        match self.plan.begin.get() {
            Some(begin) => {
                now.saturating_duration_since(*begin) >= self.plan.time || self.plan.has_enough()
            }
            None => self.plan.is_timed && now - self.opened >= FIRST,
        }
    }
}

/// Batches between two looks at the clock.
const TURNS: usize = 16;
/// The first packet comes this soon, where an end was set.
const FIRST: Duration = Duration::from_secs(20);
