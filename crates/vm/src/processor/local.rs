//! State that the helpers of one processor keep between calls: clock, random numbers, locks.

use super::{CHUNK, Processor, Random};
use crate::world::World;

/// A processor's own state of helpers.
#[derive(Debug)]
pub(crate) struct Local {
    /// Nanoseconds since boot.
    pub clock_ns: u64,
    /// The processor's random numbers.
    pub random: Random,
    /// Addresses of the locks held, in the order of acquisition.
    pub locks: Vec<u64>,
    /// Preemption, interrupts and read sections that the program must close again.
    pub sections: Sections,
    /// Argument of `bpf_throw`, after the call.
    pub thrown: Option<u64>,
    /// Number of the timer whose callback is running, 0 for none.
    pub timer: u64,
    /// Buffer for the bytes of an argument that cannot be borrowed.
    pub buffer: Box<[u8; CHUNK]>,
}

/// Number of open sections of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    pub preempt: u32,
    pub interrupts: u32,
    pub rcu: u32,
}

impl Local {
    /// The state before the first run of processor `cpu`.
    pub fn new(world: &World, cpu: u32) -> Self {
        Self {
            clock_ns: world.clock.start_ns,
            random: Random::new(world.seed, cpu),
            locks: Vec::with_capacity(LOCKS),
            sections: Sections::default(),
            thrown: None,
            timer: 0,
            buffer: Box::new([0; CHUNK]),
        }
    }
}

impl Processor {
    /// The processor's clock, nanoseconds since boot.
    pub fn now_ns(&self) -> u64 {
        self.local.clock_ns
    }

    /// Sets the processor's clock, which never runs backward: an earlier time is ignored.
    pub fn set_clock_ns(&mut self, now_ns: u64) {
        self.local.clock_ns = self.local.clock_ns.max(now_ns);
    }

    /// Reads the clock as a program does: each reading advances it by the environment's step.
    pub fn read_clock(&mut self) -> u64 {
        let now = self.local.clock_ns;
        self.local.clock_ns = now.saturating_add(self.shared.world.clock.step_ns);
        now
    }
}

/// Locks that a processor may hold at the same time; the limit of the kernel's resilient locks.
pub(crate) const LOCKS: usize = 31;
