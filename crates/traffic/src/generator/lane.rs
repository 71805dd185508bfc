//! `Lane`: what a sending thread shares with those who watch it.
//!
//! Rule: counters belong to the program and are only read here; the rest says what the thread
//! shall do next, and is read between two live runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use kernel::Map;
use spec::Map as _;
use sys::mmap::Mapping;
use sys::thread::Interruptible;

use super::builder::{Built, Engine};
use crate::error::Result;
use crate::histogram::Histogram;
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
    state: RwLock<State>,
    /// Those that the next program goes on with.
    kept: Vec<Map>,
    next: Mutex<Option<Built>>,
    over: AtomicBool,
    /// Processor time at the end, ns.
    spent: AtomicU64,
}

/// The counters of the program that runs.
#[derive(Debug)]
struct State {
    memory: Mapping,
    /// Bytes that the program has there.
    len: usize,
}

impl Lane {
    /// With the thread's first program.
    pub fn new(cpu: Option<usize>, limit: u64, built: Built, go: bool) -> Result<Self> {
        let kept = KEPT.map(|name| Ok(built.map(name)?.duplicate()?));
        let lane = Self {
            cpu,
            limit,
            thread: OnceLock::new(),
            at_rest: AtomicBool::new(false),
            outcome: OnceLock::new(),
            control: built.map(abi::CONTROL)?.mapping(true)?,
            state: RwLock::new(State::of(&built)?),
            kept: kept.into_iter().collect::<Result<_>>()?,
            next: Mutex::new(Some(built)),
            over: AtomicBool::new(false),
            spent: AtomicU64::new(0),
        };
        lane.control.store_u64(control::LIMIT, limit);
        lane.set_go(go);
        Ok(lane)
    }

    /// What the thread's next program shares with its last.
    pub fn kept(&self) -> Result<Vec<Map>> {
        Ok(self.kept.iter().map(Map::duplicate).collect::<kernel::Result<_>>()?)
    }

    /// Another program for the thread.
    pub fn give(&self, built: Built) {
        *self.next() = Some(built);
    }

    /// By the thread, between two live runs: the program to go on with, where there is another
    /// one. It knows all that its predecessor counted; its own part of the state it keeps when
    /// it has a place for the same.
    pub fn take(&self) -> Result<Option<Engine>> {
        let Some(built) = self.next().take() else { return Ok(None) };
        let fresh = State::of(&built)?;
        let mut old = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let end = if old.len == fresh.len { fresh.len } else { state::OWN };
        for at in (0..end).step_by(8) {
            fresh.memory.store_u64(at, old.memory.load_u64(at));
        }
        *old = fresh;
        Ok(Some(built.engine))
    }

    /// Whether the thread has yet to take the program that it was given.
    pub fn is_waiting(&self) -> bool {
        self.next().is_some()
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

    /// The group that is waited for is not due later than at this pace, so that a low rate ends at
    /// once. (The program only reads when that is, unless the group leaves at this moment.)
    pub fn set_pace(&self, pace: &Pace) {
        self.control.store_u64(control::INTERVAL, pace.interval);
        let due = sys::thread::monotonic_ns() + pace.interval_ns() as u64;
        if self.word(state::NEXT) > due {
            self.state().memory.store_u64(state::NEXT, due);
        }
    }

    /// Before each live run.
    pub fn begin(&self) {
        self.state().memory.store_u64(state::RUNS, 0);
    }

    /// From now on stamps that tell how many there were are sent, instead of data.
    pub fn begin_end(&self) {
        self.control.store_u64(control::END, 1);
        self.set_go(true);
    }

    pub fn sent(&self) -> u64 {
        self.word(state::SENT)
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.sent())
    }

    pub fn bytes(&self) -> u64 {
        self.word(state::BYTES)
    }

    pub fn stream(&self, index: usize) -> u64 {
        self.word(state::STREAMS + index * 8)
    }

    pub fn slipped(&self) -> u64 {
        self.word(state::SLIPPED)
    }

    /// When the first frame left, by the monotonic clock, ns.
    pub fn first(&self) -> Option<u64> {
        Some(self.word(state::FIRST)).filter(|time| *time > 0)
    }

    /// When the last did, as far as the program knows.
    pub fn last(&self) -> Option<u64> {
        Some(self.word(state::LAST)).filter(|time| *time > 0)
    }

    /// How late groups left, ns; empty without pacing.
    pub fn late(&self) -> Result<Histogram> {
        let Some(map) = self.kept.iter().find(|map| map.name() == abi::LATE) else {
            return Ok(Histogram::default());
        };
        let value = map.lookup(&0u32.to_ne_bytes())?.unwrap_or_default();
        let words = value.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        Ok(Histogram::from_counts(words))
    }

    pub fn cpu_time(&self) -> Duration {
        let now = self.thread.get().and_then(|thread| thread.cpu_ns());
        Duration::from_nanos(now.unwrap_or_else(|| self.spent.load(Ordering::Acquire)))
    }

    /// By the thread itself, at its end.
    pub fn note_cpu_time(&self) {
        self.spent.store(sys::thread::cpu_ns(), Ordering::Release);
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn word(&self, at: usize) -> u64 {
        self.state().memory.load_u64(at)
    }

    fn next(&self) -> MutexGuard<'_, Option<Built>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(built: &Built) -> Result<Self> {
        let map = built.map(abi::STATE)?;
        Ok(Self { memory: map.mapping(true)?, len: map.info().value_size as usize })
    }
}

/// Maps that are the same for all programs of a lane.
const KEPT: [&str; 2] = [abi::CONTROL, abi::LATE];
