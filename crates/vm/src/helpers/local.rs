//! What one worker's helpers remember between calls: clock, random numbers, locks held.
//!
//! Rule: whatever a run leaves behind (a lock, a disabled preemption) is undone when it ends,
//! and is a fault, as the kernel's verifier would have refused the program.

use std::sync::atomic::Ordering::Release;

use crate::fault::Fault;
use crate::worker::Worker;
use crate::world::World;

/// A worker's own state of helpers.
#[derive(Debug)]
pub(crate) struct Local {
    /// Nanoseconds since boot.
    pub clock_ns: u64,
    /// State of the random numbers.
    pub random: u64,
    /// Addresses of the locks held, in the order of taking them.
    pub locks: Vec<u64>,
    /// Preemption, interrupts and read sections that the program must close again.
    pub sections: Sections,
    /// What `bpf_throw` was given.
    pub thrown: Option<u64>,
    /// The number of the timer whose callback runs now, 0 for none.
    pub timer: u64,
    /// Bytes that a function on strings has looked at.
    pub looked: u64,
    /// Room for an argument's bytes that cannot be borrowed.
    pub buffer: Box<[u8; super::CHUNK]>,
}

/// How often each kind of section is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    pub preempt: u32,
    pub interrupts: u32,
    pub rcu: u32,
}

impl Local {
    pub fn new(world: &World, cpu: u32) -> Self {
        Self {
            clock_ns: world.clock.start_ns,
            random: super::processor::seed(world.seed, cpu),
            locks: Vec::with_capacity(super::lock::LOCKS),
            sections: Sections::default(),
            thrown: None,
            timer: 0,
            looked: 0,
            buffer: Box::new([0; super::CHUNK]),
        }
    }
}

impl Worker {
    /// Undoes what the run that just ended left behind. What it threw is its result; what it
    /// left behind after all is a fault.
    #[inline]
    pub(crate) fn end_run(&mut self, result: Result<u64, Box<Fault>>) -> Result<u64, Box<Fault>> {
        if self.left_nothing() { result } else { self.clean_up(result) }
    }

    fn left_nothing(&self) -> bool {
        let Local { locks, sections, thrown, .. } = &self.local;
        thrown.is_none()
            && locks.is_empty()
            && *sections == Sections::default()
            && !self.objects.is_used()
            && self.reservations.is_empty()
            && !self.shared.directory.has_orphans()
    }

    fn clean_up(&mut self, result: Result<u64, Box<Fault>>) -> Result<u64, Box<Fault>> {
        let thrown = self.local.thrown.take();
        let result = result.or_else(|fault| thrown.ok_or(fault));
        let mut left = self.reclaim();
        self.end_orphans();
        if self.discard_records() {
            left = Some("a record is reserved and neither submitted nor discarded".to_owned());
        }
        if let Some(address) = self.local.locks.first().copied() {
            left = Some(format!("{} is still locked", self.memory.describe(address)));
            self.unlock_all();
        }
        let sections = std::mem::take(&mut self.local.sections);
        if sections != Sections::default() {
            left = Some("a section with preemption, interrupts or RCU held is not left".to_owned());
        }
        match (result, left) {
            (Ok(_), Some(left)) if thrown.is_none() => {
                Err(Fault::refused(format!("at the end of the program {left}")))
            }
            (result, _) => result,
        }
    }

    fn unlock_all(&mut self) {
        while let Some(address) = self.local.locks.pop() {
            if let Ok(word) = self.memory.atomic32(address) {
                word.store(0, Release);
            }
        }
    }
}
