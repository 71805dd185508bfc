//! Executes decoded programs, checking every access.
//!
//! Rule: the registers of a program are local to a call of this module, so a callback cannot
//! change its caller's. State that outlasts a call (depth, budget, tail calls) is in the
//! processor's [`Frames`](crate::processor::Frames). Budget is spent where a program can repeat
//! instructions (backward jumps, calls, tail calls, callbacks), by the number of instructions
//! since; and where a helper does much work in one call.
//! Not here: the helpers; a program's call is a function pointer of its
//! [`Executable`](crate::processor::Executable).

mod alu;
mod atomic;
mod frames;
mod report;
mod steps;

use std::sync::Arc;

use crate::code::{self, Op, Program, Reg};
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::memory::POISON;
use crate::processor::{Executable, Exhausted, Processor};

/// r0 to r10; sixteen, so that a masked number needs no check.
type Registers = [u64; 16];

/// How a program is left.
enum Leave {
    /// The function that was started has returned.
    Done,
    /// Execution continues at a slot of another program.
    Go { program: usize, slot: usize },
}

/// Runs a program from its entry with r1 and r2 set, on the rest of the budget. Returns r0.
pub(crate) fn run(
    processor: &mut Processor,
    executable: &Executable,
    (r1, r2): (u64, u64),
) -> Result<u64, Box<Fault>> {
    processor.frames.reset();
    let mut r = [POISON; 16];
    (r[1], r[2]) = (r1, r2);
    let result = start(processor, executable, 0, r);
    if let Some(hook) = &mut processor.hook.0 {
        hook.end(result.as_ref().map(|r0| *r0).map_err(|fault| &**fault));
    }
    result
}

/// Calls a BPF function by its address (a callback) with r1 to r5. Returns r0. The callback
/// spends the budget of its caller.
pub(crate) fn call_back(
    processor: &mut Processor,
    function: u64,
    args: [u64; 5],
) -> Result<u64, Box<Fault>> {
    let place = code::function_at(function);
    let place = place.and_then(|(number, slot)| Some((processor.programs.get(number)?, slot)));
    let place = place.filter(|(executable, slot)| *slot < executable.program.ops().len());
    let Some((executable, slot)) = place else {
        return Err(Fault::new(Cause::CallbackTarget { address: function }));
    };
    let executable = Arc::clone(executable);
    let outermost = processor.frames.is_idle();
    if outermost {
        processor.frames.reset();
    }
    if processor.frames.callbacks == limits::CALLBACKS {
        return Err(Fault::new(Cause::Depth));
    }
    processor.frames.spend(1).map_err(Exhausted::fault)?;
    let mut r = [POISON; 16];
    r[1..6].copy_from_slice(&args);
    processor.frames.callbacks += 1;
    let caller = processor.frames.start;
    let result = start(processor, &executable, slot, r);
    processor.frames.start = caller;
    processor.frames.callbacks -= 1;
    result
}

/// Runs one function, and all functions that it calls, to its end.
#[inline]
fn start(
    processor: &mut Processor,
    executable: &Executable,
    slot: usize,
    mut r: Registers,
) -> Result<u64, Box<Fault>> {
    let base = processor.frames.depth;
    processor.frames.start = slot;
    let result = drive(processor, executable, slot, &mut r, base);
    processor.frames.unwind(base);
    result.map(|()| r[0])
}

fn drive(
    processor: &mut Processor,
    executable: &Executable,
    slot: usize,
    r: &mut Registers,
    base: usize,
) -> Result<(), Box<Fault>> {
    let entered = processor.enter_frame();
    r[10] = entered.map_err(|fault| locate(fault, &executable.program, slot, None))?;
    let traced = processor.hook.0.is_some();
    let steps = if traced { steps::steps::<true> } else { steps::steps::<false> };
    let mut leave = steps(processor, executable, slot, r, base)?;
    while let Leave::Go { program, slot } = leave {
        let executable = Arc::clone(&processor.programs[program]);
        leave = steps(processor, &executable, slot, r, base)?;
    }
    Ok(())
}

/// Address of a memory operand.
#[inline(always)]
fn address(r: &Registers, base: Reg, op: Op) -> u64 {
    r[base.index()].wrapping_add(op.off as i64 as u64)
}

/// Adds the instruction to a fault that has none yet.
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
