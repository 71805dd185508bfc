//! The instructions that one run may still execute, counted in slices.
//!
//! Rule: every sequence of instructions is paid for by its length in slots when it ends: at a
//! backward jump (the distance of the jump), a call, a tail call or an exit. Between backward
//! jumps control only moves forward, so the instructions executed never exceed what was spent by
//! more than the length of the program. A slice is short enough that an interrupt is noticed
//! within milliseconds.

use crate::fault::{Cause, Fault};
use crate::limits;

/// The budget of one run.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Rest of the current slice.
    slice: u64,
    /// Rest after the current slice.
    reserve: u64,
    /// Budget at the start of each run.
    full: u64,
    interrupt: Interrupt,
}

/// Called once per slice: whether the run must stop.
pub(crate) type InterruptCheck = Box<dyn FnMut() -> bool + Send>;

#[derive(Default)]
struct Interrupt(Option<InterruptCheck>);

impl Budget {
    /// A full budget of `full` instructions.
    pub fn new(full: u64) -> Self {
        let mut budget = Self { slice: 0, reserve: 0, full, interrupt: Interrupt::default() };
        budget.refill();
        budget
    }

    /// Restores the full budget before a run.
    pub fn refill(&mut self) {
        self.divide(self.full);
    }

    /// Sets or removes the check for an interrupt.
    pub fn set_interrupt(&mut self, is_interrupted: Option<InterruptCheck>) {
        self.interrupt.0 = is_interrupted;
    }

    /// Spends instructions.
    #[inline(always)]
    pub fn spend(&mut self, instructions: u64) -> Result<(), Exhausted> {
        match self.slice.checked_sub(instructions) {
            Some(left) => self.slice = left,
            None => return self.next_slice(instructions),
        }
        Ok(())
    }

    /// Spends instructions where a run cannot be stopped: a deficit is noticed at the next
    /// opportunity.
    #[inline(always)]
    pub fn spend_unchecked(&mut self, instructions: u64) {
        self.slice = self.slice.saturating_sub(instructions);
    }

    #[cold]
    #[inline(never)]
    fn next_slice(&mut self, instructions: u64) -> Result<(), Exhausted> {
        if self.interrupt.0.as_mut().is_some_and(|is_interrupted| is_interrupted()) {
            return Err(Exhausted::Interrupted);
        }
        let left = (self.slice + self.reserve).checked_sub(instructions);
        self.divide(left.unwrap_or(0));
        left.map(drop).ok_or(Exhausted::Budget { budget: self.full })
    }

    fn divide(&mut self, left: u64) {
        self.slice = left.min(limits::SLICE);
        self.reserve = left - self.slice;
    }
}

/// Why a run must end.
pub(crate) enum Exhausted {
    Budget { budget: u64 },
    Interrupted,
}

impl Exhausted {
    /// The fault that stops the run.
    #[cold]
    pub fn fault(self) -> Box<Fault> {
        Fault::new(match self {
            Self::Budget { budget } => Cause::Endless { budget },
            Self::Interrupted => Cause::Interrupted,
        })
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "an interrupt check" } else { "no interrupt check" })
    }
}
