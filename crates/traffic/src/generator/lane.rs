//! `Lane`: what a sending thread shares with those who watch it.
//!
//! Rule: counters belong to the program and are only read here; the rest says what the thread
//! shall do next, and is read between two live runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use kernel::Map;
use sys::mmap::Mapping;
use sys::thread::Interruptible;

use super::builder::{Built, Engine};
use crate::error::Result;
use crate::histogram::{BUCKETS, Histogram};
use crate::program::abi::{self, control, state};
use crate::rate::Pace;
use crate::transmit::Outcome;

/// One thread's.
#[derive(Debug)]
pub(super) struct Lane {
    pub cpu: Option<usize>,
    /// Frames to send in all.
    pub limit: u64,
    /// Set once the thread runs.
    pub thread: OnceLock<Interruptible>,
    /// Nothing but stamps of the end is sent any more, if even these.
    pub at_rest: AtomicBool,
    /// What became of the frames, but for those stamps.
    pub outcome: OnceLock<Outcome>,
    control: Mapping,
    state: Mapping,
    late: OnceLock<Mapping>,
    /// Of the program, by name: the next one goes on with them.
    maps: Mutex<Vec<Map>>,
    next: Mutex<Option<Engine>>,
    over: AtomicBool,
    /// Processor time at the end, ns.
    spent: AtomicU64,
}

impl Lane {
    /// With the thread's first program.
    pub fn new(cpu: Option<usize>, limit: u64, built: Built, go: bool) -> Result<Self> {
        let lane = Self {
            cpu,
            limit,
            thread: OnceLock::new(),
            at_rest: AtomicBool::new(false),
            outcome: OnceLock::new(),
            control: built.map(abi::CONTROL)?.mapping(true)?,
            state: built.map(abi::STATE)?.mapping(true)?,
            late: OnceLock::new(),
            maps: Mutex::default(),
            next: Mutex::default(),
            over: AtomicBool::new(false),
            spent: AtomicU64::new(0),
        };
        lane.set_limit(limit);
        lane.set_go(go);
        lane.give(built)?;
        Ok(lane)
    }

    /// Another program for the thread, which goes on where the one before stopped.
    pub fn give(&self, built: Built) -> Result<()> {
        let mut maps = lock(&self.maps);
        for map in built.maps {
            if map.name() == abi::LATE && self.late.get().is_none() {
                let _first = self.late.set(map.mapping(false)?);
            }
            if !maps.iter().any(|known| known.name() == map.name()) {
                maps.push(map);
            }
        }
        *lock(&self.next) = Some(built.engine);
        Ok(())
    }

    /// What the thread's next program has to share with its last.
    pub fn maps(&self) -> Result<Vec<Map>> {
        Ok(lock(&self.maps).iter().map(Map::duplicate).collect::<kernel::Result<_>>()?)
    }

    pub fn take(&self) -> Option<Engine> {
        lock(&self.next).take()
    }

    /// Whether the thread has yet to take the program that it was given.
    pub fn is_waiting(&self) -> bool {
        lock(&self.next).is_some()
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Frames after which the program holds, of all that the thread ever sent.
    pub fn set_limit(&self, frames: u64) {
        self.control.store_u64(control::LIMIT, frames);
    }

    pub fn set_go(&self, go: bool) {
        self.control.store_u64(control::GO, u64::from(go));
    }

    pub fn is_held(&self) -> bool {
        self.control.load_u64(control::GO) == 0
    }

    pub fn set_pace(&self, pace: &Pace) {
        self.control.store_u64(control::INTERVAL, pace.interval);
    }

    /// Before each live run.
    pub fn begin(&self) {
        self.state.store_u64(state::RUNS, 0);
    }

    /// From now on stamps that tell how many there were are sent, instead of data.
    pub fn begin_end(&self) {
        self.control.store_u64(control::END, 1);
        self.set_go(true);
    }

    pub fn sent(&self) -> u64 {
        self.state.load_u64(state::SENT)
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.sent())
    }

    pub fn bytes(&self) -> u64 {
        self.state.load_u64(state::BYTES)
    }

    pub fn stream(&self, index: usize) -> u64 {
        self.state.load_u64(state::STREAMS + index * 8)
    }

    pub fn slipped(&self) -> u64 {
        self.state.load_u64(state::SLIPPED)
    }

    /// When the first frame left, by the monotonic clock, ns.
    pub fn first(&self) -> Option<u64> {
        Some(self.state.load_u64(state::FIRST)).filter(|time| *time > 0)
    }

    /// When the last did, as far as the program knows.
    pub fn last(&self) -> Option<u64> {
        Some(self.state.load_u64(state::LAST)).filter(|time| *time > 0)
    }

    /// How late groups left, ns; empty without pacing.
    pub fn late(&self) -> Histogram {
        let words = self.late.get().map_or(0, |_| BUCKETS);
        let word = |index| self.late.get().map_or(0, |late| late.load_u64(index * 8));
        Histogram::from_counts((0..words).map(word))
    }

    pub fn cpu_time(&self) -> Duration {
        let now = self.thread.get().and_then(|thread| thread.cpu_ns());
        Duration::from_nanos(now.unwrap_or_else(|| self.spent.load(Ordering::Acquire)))
    }

    /// By the thread itself, at its end.
    pub fn note_cpu_time(&self) {
        self.spent.store(sys::thread::cpu_ns(), Ordering::Release);
    }
}

/// Nothing that is done under these locks can leave half a value.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
