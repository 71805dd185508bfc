//! Active functions: where each returns to, its stack, and the budget of the run.

use std::sync::Arc;

use super::Processor;
use super::budget::{Budget, Exhausted};
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::memory::{Layout, Memory, RegionId, Slab};

/// The functions that are active and the counters of the run.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Frames in use, including those of interrupted runs.
    pub depth: usize,
    /// First frame of the program that is running; a tail call starts a new chain.
    pub chain: usize,
    callers: Box<[Caller; limits::FRAMES]>,
    /// Callbacks that are active.
    pub callbacks: u32,
    /// Tail calls of the run.
    pub tail_calls: u32,
    /// Instructions that the run may still execute.
    pub budget: Budget,
    /// Slot where the running function began, or where its last call returned to.
    pub start: usize,
    /// Iterations that the `may_goto` loops of the current function have left.
    pub turns: u32,
}

/// The state of a caller while the function that it called runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub program: usize,
    pub slot: usize,
    /// r6 to r9.
    pub registers: [u64; 4],
    pub turns: u32,
    pub chain: usize,
}

impl Frames {
    /// No active functions; each run may execute `budget` instructions.
    pub fn new(budget: u64) -> Self {
        Self {
            depth: 0,
            chain: 0,
            callers: Box::new([Caller::default(); limits::FRAMES]),
            callbacks: 0,
            tail_calls: 0,
            budget: Budget::new(budget),
            start: 0,
            turns: limits::TURNS,
        }
    }

    /// Prepares for a run that no other run surrounds.
    pub fn reset(&mut self) {
        self.depth = 0;
        self.chain = 0;
        self.callbacks = 0;
        self.tail_calls = 0;
    }

    /// Whether no function is active.
    pub fn is_idle(&self) -> bool {
        self.depth == 0
    }

    /// Leaves all functions above depth `base`, however their run ended.
    pub fn unwind(&mut self, base: usize) {
        self.depth = base;
    }

    /// Counts the work of a helper: see [`Processor::charge`].
    #[inline]
    pub fn charge(&mut self, work: u64) -> Result<(), Box<Fault>> {
        self.spend(work / limits::WORK_A_STEP).map_err(Exhausted::fault)
    }

    /// Counts instructions: those of a loop at its backward jump, others at calls.
    #[inline(always)]
    pub fn spend(&mut self, instructions: u64) -> Result<(), Exhausted> {
        self.budget.spend(instructions)
    }

    /// Counts the instructions of the running function since it began or since its last call,
    /// except loops, before the call at slot `back - 1`.
    #[inline]
    pub fn spend_until(&mut self, back: usize) -> Result<(), Exhausted> {
        self.spend(back.saturating_sub(self.start).max(1) as u64)
    }

    /// Takes an iteration of the function's `may_goto` loops; `false` when none is left.
    #[inline(always)]
    pub fn take_turn(&mut self) -> bool {
        let left = self.turns.checked_sub(1);
        self.turns = left.unwrap_or(0);
        left.is_some()
    }

    /// Stores the state of the running function before it calls another.
    #[inline]
    pub fn save(&mut self, caller: Caller) {
        self.callers[self.depth - 1] = caller;
    }

    /// Leaves the running function, which ends before slot `end`. Returns its caller, `None` at
    /// depth `base`.
    #[inline]
    pub fn leave(&mut self, end: usize, base: usize) -> Option<&Caller> {
        self.budget.spend_unchecked(end.saturating_sub(self.start) as u64);
        self.depth -= 1;
        if self.depth == base {
            return None;
        }
        let caller = &self.callers[self.depth - 1];
        self.turns = caller.turns;
        self.chain = caller.chain;
        self.start = caller.slot;
        Some(caller)
    }

    /// Value of r10 in the running function.
    #[inline]
    pub fn stack_end(&self) -> u64 {
        let frame = (self.depth - 1) as u64;
        RegionId::STACK.at(LAYOUT.offset_of(frame) + limits::STACK_BYTES as u64)
    }
}

impl Processor {
    /// Counts the work of a helper that is proportional to its input: bytes, elements, buckets.
    pub fn charge(&mut self, work: u64) -> Result<(), Box<Fault>> {
        self.frames.charge(work)
    }

    /// Takes a frame with a zeroed stack; returns the new r10.
    #[inline]
    pub fn enter_frame(&mut self) -> Result<u64, Box<Fault>> {
        let frames = &mut self.frames;
        if frames.depth - frames.chain == limits::CHAIN || frames.depth == limits::FRAMES {
            return Err(Fault::new(Cause::Depth));
        }
        frames.depth += 1;
        Ok(self.clear_frame())
    }

    /// Zeroes the stack of the newest frame; returns r10.
    #[inline]
    pub fn clear_frame(&mut self) -> u64 {
        let number = self.frames.depth - 1;
        self.frames.turns = limits::TURNS;
        let stack = self.memory.private_mut(RegionId::STACK);
        stack[number * LAYOUT.stride as usize..][..limits::STACK_BYTES].fill(0);
        self.frames.stack_end()
    }
}

/// Adds the stacks of all frames to a processor's memory.
pub(super) fn install_stack(memory: &mut Memory) {
    let slab = Slab::new(LAYOUT.elements * LAYOUT.stride).expect("stacks are small");
    memory.install(RegionId::STACK, Arc::new(slab), LAYOUT);
}

/// The number of stacks is a power of two, which makes access to them fast.
const LAYOUT: Layout =
    Layout::straight(limits::FRAMES.next_power_of_two() as u64, limits::STACK_BYTES as u64);
