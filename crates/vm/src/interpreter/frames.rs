//! Functions that are active: who returns where, on which stack, and how much may still be done.

use std::sync::Arc;

use super::budget::{Budget, Spent};
use super::{Leave, Registers, locate};
use crate::code::{self, Program};
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::memory::{Layout, Memory, POISON, RegionId, Slab, offset};
use crate::worker::Worker;

/// Functions that are active now, and the run's counters.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Frames in use, those of outer runs included.
    pub depth: usize,
    /// Where the frames of the program that runs now begin: a tail call begins new ones.
    chain: usize,
    saved: Box<[Saved; limits::FRAMES]>,
    pub callbacks: u32,
    tail_calls: u32,
    budget: Budget,
    /// Slot where the running function began, or where its last call returned to.
    pub start: usize,
    /// Turns that the current function's `may_goto` loops have left.
    pub turns: u32,
    pub(super) hook: super::hook::Slot,
}

/// A caller, while the function that it called runs.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    program: usize,
    slot: usize,
    registers: [u64; 4],
    turns: u32,
    chain: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            depth: 0,
            chain: 0,
            saved: Box::new([Saved::default(); limits::FRAMES]),
            callbacks: 0,
            tail_calls: 0,
            budget: Budget::default(),
            start: 0,
            turns: limits::TURNS,
            hook: super::hook::Slot::default(),
        }
    }
}

impl Frames {
    /// Before a run that nothing surrounds.
    pub fn reset(&mut self) {
        self.depth = 0;
        self.chain = 0;
        self.callbacks = 0;
        self.tail_calls = 0;
    }

    /// How many instructions each run may execute.
    pub fn set_budget(&mut self, budget: u64) {
        self.budget.set(budget);
    }

    pub(super) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Whether nothing runs.
    pub fn is_idle(&self) -> bool {
        self.depth == 0
    }

    /// Back to what was there before a run, however it ended.
    pub fn unwind(&mut self, base: usize) {
        self.depth = base;
    }

    /// Counts the work of a helper: see [`Worker::charge`].
    #[inline]
    pub fn charge(&mut self, work: u64) -> Result<(), Box<Fault>> {
        self.spend(work / limits::WORK_A_STEP).map_err(Spent::fault)
    }

    /// Counts instructions: those of a loop at its jump back, others at calls.
    #[inline(always)]
    pub(super) fn spend(&mut self, instructions: u64) -> Result<(), Spent> {
        self.budget.spend(instructions)
    }

    /// Takes a turn of the function's `may_goto` loops; `false` when none is left.
    #[inline(always)]
    pub(super) fn take_turn(&mut self) -> bool {
        let left = self.turns.checked_sub(1);
        self.turns = left.unwrap_or(0);
        left.is_some()
    }

    /// Counts what the running function executed since it began or since its last call, loops
    /// excepted, before it calls at slot `back - 1`.
    #[inline]
    fn spend_until(&mut self, back: usize) -> Result<(), Spent> {
        self.spend(back.saturating_sub(self.start).max(1) as u64)
    }
}

impl Worker {
    /// Counts the work of a helper that is no small piece: bytes, elements, buckets.
    pub(crate) fn charge(&mut self, work: u64) -> Result<(), Box<Fault>> {
        self.frames.charge(work)
    }
}

/// Takes a frame with a zeroed stack; its end is the new r10.
pub(super) fn enter(worker: &mut Worker) -> Result<u64, Box<Fault>> {
    let frames = &mut worker.frames;
    if frames.depth - frames.chain == limits::CHAIN || frames.depth == limits::FRAMES {
        return Err(Fault::new(Cause::Depth));
    }
    frames.depth += 1;
    Ok(clear(worker))
}

/// Gives a worker's memory the stacks of all frames.
pub(crate) fn install_stack(memory: &mut Memory) {
    let slab = Slab::new(LAYOUT.elements * LAYOUT.stride).expect("stacks are small");
    memory.install(RegionId::STACK, Arc::new(slab), LAYOUT);
}

/// Zeroes the newest frame's stack.
fn clear(worker: &mut Worker) -> u64 {
    let number = worker.frames.depth - 1;
    worker.frames.turns = limits::TURNS;
    let stack = worker.memory.private_mut(RegionId::STACK);
    stack[number * LAYOUT.stride as usize..][..limits::STACK_BYTES].fill(0);
    end_of(number)
}

/// What r10 is in a frame.
fn end_of(frame: usize) -> u64 {
    RegionId::STACK.at(LAYOUT.offset_of(frame as u64) + limits::STACK_BYTES as u64)
}

/// As many stacks as a power of two, so that access to them is fast.
const LAYOUT: Layout =
    Layout::straight(limits::FRAMES.next_power_of_two() as u64, limits::STACK_BYTES as u64);

/// Calls the function at slot `callee` of the same program from the slot before `back`.
pub(super) fn call(
    worker: &mut Worker,
    program: &Program,
    (back, callee): (usize, usize),
    r: &mut Registers,
) -> Result<(), Box<Fault>> {
    worker.frames.spend_until(back).map_err(Spent::fault)?;
    let frames = &mut worker.frames;
    let caller = frames.depth - 1;
    frames.saved[caller] = Saved {
        program: program.number(),
        slot: back,
        registers: [r[6], r[7], r[8], r[9]],
        turns: frames.turns,
        chain: frames.chain,
    };
    r[10] = enter(worker)?;
    worker.frames.start = callee;
    r[6..10].fill(POISON);
    r[0] = POISON;
    Ok(())
}

/// Leaves a function by the exit before slot `end`: program and slot where its caller continues,
/// `None` when the outermost is done.
pub(super) fn exit(
    worker: &mut Worker,
    end: usize,
    r: &mut Registers,
    base: usize,
) -> Option<(usize, usize)> {
    let frames = &mut worker.frames;
    frames.budget.spend_unchecked(end.saturating_sub(frames.start) as u64);
    frames.depth -= 1;
    if frames.depth == base {
        return None;
    }
    let caller = frames.depth - 1;
    let saved = &frames.saved[caller];
    r[6..10].copy_from_slice(&saved.registers);
    r[1..6].fill(POISON);
    r[10] = end_of(caller);
    frames.turns = saved.turns;
    frames.chain = saved.chain;
    frames.start = saved.slot;
    Some((saved.program, saved.slot))
}

/// The slot in the same program of a function that a register names.
pub(super) fn callee_at(program: &Program, address: u64) -> Option<usize> {
    let (number, slot) = code::function_at(address)?;
    (number == program.number() && slot < program.ops().len()).then_some(slot)
}

/// Replaces the running function by a program of an array. `None`: the array has none there, or
/// there were too many, and the program goes on.
pub(super) fn tail_call(
    worker: &mut Worker,
    program: &Program,
    slot: usize,
    r: &mut Registers,
) -> Result<Option<Leave>, Box<Fault>> {
    let refuse = |why: &str| Err(locate(Fault::refused(why), program, slot, None));
    let spent = worker.frames.spend_until(slot + 1);
    spent.map_err(|spent| locate(spent.fault(), program, slot, None))?;
    worker.frames.start = slot + 1;
    if worker.frames.callbacks != 0 {
        return refuse("a callback makes no tail calls");
    }
    let (context, index) = (r[1], r[3] as u32);
    let is_map = RegionId::of(r[2]) == RegionId::MAPS;
    let map = worker.maps.get(offset(r[2]) as usize).filter(|_| is_map);
    let Some(map) = map else {
        return refuse("argument 2 of bpf_tail_call is not a map pointer");
    };
    r[0..6].fill(POISON);
    if worker.frames.tail_calls >= limits::TAIL_CALLS {
        return Ok(None);
    }
    let Some(number) = map.program_at(index) else { return Ok(None) };
    if number >= worker.programs.len() {
        worker.meet();
    }
    worker.frames.tail_calls += 1;
    worker.frames.chain = worker.frames.depth - 1;
    worker.frames.start = 0;
    r[6..10].fill(POISON);
    r[1] = context;
    r[10] = clear(worker);
    Ok(Some(Leave::Go { program: number, slot: 0 }))
}
