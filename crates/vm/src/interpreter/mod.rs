//! Executes decoded programs, checking every access.
//!
//! Rule: a program's registers are this call's own, so a callback cannot disturb whoever called
//! it; what must outlast a call (depth, budget, tail calls) is in the worker's [`Frames`].
//! Budget is spent where a program can run in circles (jumps back, calls, tail calls, callbacks),
//! by the number of instructions since; and where a helper has much to do for one call.

mod alu;
mod atomic;
mod budget;
mod changes;
mod coverage;
mod frames;
mod hook;
mod look;
mod steps;
mod tell;
mod trace;

use std::sync::Arc;

use crate::code::{self, Op, Program, Reg};
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::memory::POISON;
use crate::worker::Worker;

pub use changes::{ChangedElements, Changes};
pub use coverage::{BranchCoverage, Coverage, FunctionCoverage, LineCoverage, ProgramCoverage};
pub(crate) use frames::{Frames, install_stack};
pub use hook::{Called, Hook, Step, Written};
pub use look::Pointee;
pub use trace::{Event, Trace};

/// r0 to r10; sixteen, so that a masked number needs no check.
type Registers = [u64; 16];

/// How a program is left.
enum Leave {
    /// The function that was started has returned.
    Done,
    /// Execution goes on at a slot of another program.
    Go { program: usize, slot: usize },
}

/// Runs a program from its entry with r1 and r2 set and a full budget; r0 at its end.
pub(crate) fn run(
    worker: &mut Worker,
    program: &Program,
    arguments: (u64, u64),
) -> Result<u64, Box<Fault>> {
    worker.frames.budget().refill();
    run_on(worker, program, arguments)
}

/// Runs a program as [`run`] does, on what is left of the budget.
pub(crate) fn run_on(
    worker: &mut Worker,
    program: &Program,
    (r1, r2): (u64, u64),
) -> Result<u64, Box<Fault>> {
    worker.frames.reset();
    let mut r = [POISON; 16];
    (r[1], r[2]) = (r1, r2);
    let result = start(worker, program, 0, r);
    if let Some(hook) = &mut worker.frames.hook.0 {
        hook.end(result.as_ref().map(|r0| *r0).map_err(|fault| &**fault));
    }
    result
}

impl Worker {
    /// Calls a BPF function by its address (a callback) with r1 to r5; r0 at its end. It spends
    /// the budget of what calls it.
    pub(crate) fn call_back(&mut self, function: u64, args: [u64; 5]) -> Result<u64, Box<Fault>> {
        let place = code::function_at(function);
        let place = place.and_then(|(number, slot)| Some((self.programs.get(number)?, slot)));
        let place = place.filter(|(program, slot)| *slot < program.ops().len());
        let Some((program, slot)) = place else {
            return Err(Fault::refused(format!("calls back {function:#x}, which is no function")));
        };
        let program = Arc::clone(program);
        let outermost = self.frames.is_idle();
        if outermost {
            self.frames.reset();
        }
        if self.frames.callbacks == limits::CALLBACKS {
            return Err(Fault::new(Cause::Depth));
        }
        self.frames.spend(1).map_err(budget::Spent::fault)?;
        let mut r = [POISON; 16];
        r[1..6].copy_from_slice(&args);
        self.frames.callbacks += 1;
        let caller = self.frames.start;
        let result = start(self, &program, slot, r);
        self.frames.start = caller;
        self.frames.callbacks -= 1;
        result
    }
}

/// Runs one function, and whatever it calls, to its end.
#[inline]
fn start(
    worker: &mut Worker,
    program: &Program,
    slot: usize,
    mut r: Registers,
) -> Result<u64, Box<Fault>> {
    let base = worker.frames.depth;
    worker.frames.start = slot;
    let result = drive(worker, program, slot, &mut r, base);
    worker.frames.unwind(base);
    result.map(|()| r[0])
}

fn drive(
    worker: &mut Worker,
    program: &Program,
    slot: usize,
    r: &mut Registers,
    base: usize,
) -> Result<(), Box<Fault>> {
    r[10] = frames::enter(worker).map_err(|fault| locate(fault, program, slot, None))?;
    let traced = worker.frames.hook.0.is_some();
    let steps = if traced { steps::steps::<true> } else { steps::steps::<false> };
    let mut leave = steps(worker, program, slot, r, base)?;
    while let Leave::Go { program, slot } = leave {
        let program = Arc::clone(&worker.programs[program]);
        leave = steps(worker, &program, slot, r, base)?;
    }
    Ok(())
}

#[inline(always)]
fn address(r: &Registers, base: Reg, op: &Op) -> u64 {
    r[base.index()].wrapping_add(op.off as i64 as u64)
}

/// Says where a fault happened, unless something inside it knew better.
#[cold]
fn locate(
    mut fault: Box<Fault>,
    program: &Program,
    slot: usize,
    register: Option<Reg>,
) -> Box<Fault> {
    fault.site.get_or_insert_with(|| program.site(slot, register.map(|reg| reg as u8)));
    fault
}
