//! `Lane`: memory that a sending thread shares with the supervisor and the caller.
//!
//! Rule: counters belong to the program and are only read here; the other fields control the
//! thread, which reads them between two live runs.

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

/// The shared memory of one thread.
#[derive(Debug)]
pub(super) struct Lane {
    pub cpu: Option<usize>,
    /// Total number of frames to send.
    pub limit: u64,
    /// Set once the thread runs.
    pub thread: OnceLock<Interruptible>,
    /// Only stamps of the end are still sent, or nothing.
    pub at_rest: AtomicBool,
    /// The outcome of the frames, without these stamps.
    pub outcome: OnceLock<Outcome>,
    control: Mapping,
    state: RwLock<State>,
    /// Maps that the next program keeps.
    kept: Vec<Map>,
    next: Mutex<Option<Built>>,
    over: AtomicBool,
    /// Processor time at the end, ns.
    spent: AtomicU64,
}

/// The counters of the running program.
#[derive(Debug)]
struct State {
    memory: Mapping,
    /// Bytes of the counters.
    len: usize,
}

impl Lane {
    /// Creates the memory with the first program of the thread.
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

    /// Maps that the next program shares with the previous one.
    pub fn kept(&self) -> Result<Vec<Map>> {
        Ok(self.kept.iter().map(Map::duplicate).collect::<kernel::Result<_>>()?)
    }

    /// Passes another program to the thread.
    pub fn replace(&self, built: Built) {
        *self.next() = Some(built);
    }

    /// Takes the next program, if there is one; called by the thread between two live runs. The
    /// counters of the previous program are copied, and its private state if it has the same size.
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

    /// Whether the thread has not taken the next program yet.
    pub fn is_waiting(&self) -> bool {
        self.next().is_some()
    }

    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Sets the total number of frames of the thread at which the program holds.
    pub fn set_limit(&self, frames: u64) {
        self.control.store_u64(control::LIMIT, frames);
    }

    pub fn set_go(&self, go: bool) {
        self.control.store_u64(control::GO, u64::from(go));
    }

    pub fn is_held(&self) -> bool {
        self.control.load_u64(control::GO) == 0
    }

    /// Changes the pace. The group that is waited for becomes due at this pace at the latest, so
    /// that a low rate ends immediately. The program only reads this time, unless the group is sent
    /// just now.
    pub fn set_pace(&self, pace: &Pace) {
        self.control.store_u64(control::INTERVAL, pace.interval);
        let due = sys::thread::monotonic_ns() + pace.interval_ns() as u64;
        if self.word(state::NEXT) > due {
            self.state().memory.store_u64(state::NEXT, due);
        }
    }

    /// Resets the counter of runs; called before each live run.
    pub fn begin(&self) {
        self.state().memory.store_u64(state::RUNS, 0);
    }

    /// Sends stamps with the number of frames instead of data from now on.
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

    /// Time of the first frame in ns of the monotonic clock.
    pub fn first(&self) -> Option<u64> {
        Some(self.word(state::FIRST)).filter(|time| *time > 0)
    }

    /// Time of the last frame, as far as the program has recorded it.
    pub fn last(&self) -> Option<u64> {
        Some(self.word(state::LAST)).filter(|time| *time > 0)
    }

    /// Delays of groups in ns; empty without pacing.
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

    /// Records the processor time; called by the thread at its end.
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

/// Names of the maps that all programs of a lane share.
const KEPT: [&str; 2] = [abi::CONTROL, abi::LATE];
