//! Calls between functions: local calls, exits and tail calls.

use super::{Leave, Registers, locate};
use crate::code::{self, Program};
use crate::fault::{Cause, Fault};
use crate::limits;
use crate::memory::{POISON, RegionId, offset};
use crate::processor::{Caller, Exhausted, Processor};

/// Calls the function at slot `callee` of the same program from the slot before `back`.
pub(super) fn call(
    processor: &mut Processor,
    program: &Program,
    (back, callee): (usize, usize),
    r: &mut Registers,
) -> Result<(), Box<Fault>> {
    let frames = &mut processor.frames;
    frames.spend_until(back).map_err(Exhausted::fault)?;
    frames.save(Caller {
        program: program.number(),
        slot: back,
        registers: [r[6], r[7], r[8], r[9]],
        turns: frames.turns,
        chain: frames.chain,
    });
    r[10] = processor.enter_frame()?;
    processor.frames.start = callee;
    r[6..10].fill(POISON);
    r[0] = POISON;
    Ok(())
}

/// Leaves a function by the exit before slot `end`. Returns program and slot where its caller
/// continues, `None` when the outermost function has returned.
pub(super) fn exit(
    processor: &mut Processor,
    end: usize,
    r: &mut Registers,
    base: usize,
) -> Option<(usize, usize)> {
    let caller = processor.frames.leave(end, base)?;
    r[6..10].copy_from_slice(&caller.registers);
    let place = (caller.program, caller.slot);
    r[1..6].fill(POISON);
    r[10] = processor.frames.stack_end();
    Some(place)
}

/// The slot in the same program of a function's address.
pub(super) fn callee_at(program: &Program, address: u64) -> Option<usize> {
    let (number, slot) = code::function_at(address)?;
    (number == program.number() && slot < program.ops().len()).then_some(slot)
}

/// Replaces the running function by a program of an array. `None` if the array has no program at
/// that index, or if there were too many tail calls: the running program continues.
pub(super) fn tail_call(
    processor: &mut Processor,
    program: &Program,
    slot: usize,
    r: &mut Registers,
) -> Result<Option<Leave>, Box<Fault>> {
    let refuse = |cause| Err(locate(Fault::new(cause), program, slot, None));
    let spent = processor.frames.spend_until(slot + 1);
    spent.map_err(|spent| locate(spent.fault(), program, slot, None))?;
    processor.frames.start = slot + 1;
    if processor.frames.callbacks != 0 {
        return refuse(Cause::TailCallInCallback);
    }
    let (context, index) = (r[1], r[3] as u32);
    let is_map = RegionId::of(r[2]) == RegionId::MAPS;
    let map = processor.maps.get(offset(r[2]) as usize).filter(|_| is_map);
    let Some(map) = map else {
        let (function, why) = ("bpf_tail_call".to_owned(), "not a map pointer".to_owned());
        return refuse(Cause::Argument { function, argument: 2, why });
    };
    r[0..6].fill(POISON);
    if processor.frames.tail_calls >= limits::TAIL_CALLS {
        return Ok(None);
    }
    let Some(number) = map.program_at(index) else { return Ok(None) };
    if number >= processor.programs.len() {
        processor.refresh();
    }
    let frames = &mut processor.frames;
    frames.tail_calls += 1;
    frames.chain = frames.depth - 1;
    frames.start = 0;
    r[6..10].fill(POISON);
    r[1] = context;
    r[10] = processor.clear_frame();
    Ok(Some(Leave::Go { program: number, slot: 0 }))
}
