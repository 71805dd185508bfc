//! What one run may still execute: counted in instructions, in slices.
//!
//! Rule: every stretch of instructions is paid for by its length in slots when it ends: at a jump
//! back (the distance of the jump), a call, a tail call or an exit. Between jumps back control only
//! moves forward, so the instructions executed never exceed what was spent by more than the
//! length of the program. A slice is short enough that an interrupt is noticed within milliseconds.

use crate::fault::{Cause, Fault};
use crate::limits;
use crate::worker::Worker;

#[derive(Debug)]
pub(super) struct Budget {
    /// Left of the current slice.
    slice: u64,
    /// Left after it.
    reserve: u64,
    /// What each run starts with.
    full: u64,
    interrupt: Interrupt,
}

/// Asked once per slice whether the run must stop.
#[derive(Default)]
struct Interrupt(Option<Box<dyn FnMut() -> bool + Send>>);

impl Default for Budget {
    fn default() -> Self {
        let mut budget =
            Self { slice: 0, reserve: 0, full: limits::STEPS, interrupt: Interrupt::default() };
        budget.refill();
        budget
    }
}

impl Budget {
    /// Before a run.
    pub fn refill(&mut self) {
        self.divide(self.full);
    }

    pub fn set(&mut self, full: u64) {
        self.full = full;
    }

    #[inline(always)]
    pub fn spend(&mut self, instructions: u64) -> Result<(), Spent> {
        match self.slice.checked_sub(instructions) {
            Some(left) => self.slice = left,
            None => return self.next_slice(instructions),
        }
        Ok(())
    }

    /// Spends where a run cannot be stopped; what lacks is missed at the next opportunity.
    #[inline(always)]
    pub fn spend_unchecked(&mut self, instructions: u64) {
        self.slice = self.slice.saturating_sub(instructions);
    }

    #[cold]
    #[inline(never)]
    fn next_slice(&mut self, instructions: u64) -> Result<(), Spent> {
        if self.interrupt.0.as_mut().is_some_and(|is_interrupted| is_interrupted()) {
            return Err(Spent::Interrupted);
        }
        let left = (self.slice + self.reserve).checked_sub(instructions);
        self.divide(left.unwrap_or(0));
        left.map(drop).ok_or(Spent::All { budget: self.full })
    }

    fn divide(&mut self, left: u64) {
        self.slice = left.min(limits::SLICE);
        self.reserve = left - self.slice;
    }
}

/// Why a run must end.
pub(super) enum Spent {
    All { budget: u64 },
    Interrupted,
}

impl Spent {
    #[cold]
    pub fn fault(self) -> Box<Fault> {
        Fault::new(match self {
            Self::All { budget } => Cause::Endless { budget },
            Self::Interrupted => Cause::Interrupted,
        })
    }
}

impl Worker {
    /// Before callbacks that no program calls; all of them together spend one budget.
    pub(crate) fn refill_budget(&mut self) {
        self.frames.budget().refill();
    }

    /// From now on `is_interrupted` is asked during each run, after every
    /// [`limits::SLICE`] instructions at the latest. A run that it stops ends with
    /// [`Cause::Interrupted`].
    pub fn set_interrupt(&mut self, is_interrupted: Option<Box<dyn FnMut() -> bool + Send>>) {
        self.frames.budget().interrupt.0 = is_interrupted;
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "an interrupt" } else { "no interrupt" })
    }
}
