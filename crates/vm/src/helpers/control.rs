//! Helpers that call the program back or end it: `bpf_loop`, `bpf_throw`.

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::{Cause, Fault};
use crate::interpreter;
use crate::limits;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[helper_row(Helper::LOOP, repeat)];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_throw", throw),
    kfunc_row("__bpf_trap", trap),
    kfunc_row("bpf_modify_return_test_tp", |_, args| Ok(args[0] & 0xffff_ffff)),
];

fn repeat(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [count, callback, context, flags, _] = *args;
    let count = u64::from(count as u32);
    if flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    if count > limits::LOOPS {
        // The kernel's verifier turns such a call into a loop, whose result has 32 bits.
        return Ok(int(Errno::E2BIG));
    }
    for turn in 0..count {
        if interpreter::call_back(processor, callback, [turn, context, 0, 0, 0])? != 0 {
            return Ok(turn + 1);
        }
    }
    Ok(count)
}

/// Ends the program immediately with this result; `end_run` makes it the result of the run.
fn throw(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    processor.local.thrown = Some(args[0]);
    Err(Fault::new(Cause::Thrown))
}

/// Compilers place it where they consider code unreachable.
fn trap(_: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Err(Fault::new(Cause::Unreachable))
}
