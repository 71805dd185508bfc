//! Helpers that call the program back: `bpf_loop`, `bpf_for_each_map_elem`; and `bpf_throw`.

use spec::asm::Helper;

use super::{HelperRow, KfuncRow, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::limits;
use crate::worker::Worker;

pub(super) const HELPERS: &[HelperRow] = &[helper_row(Helper::LOOP, repeat)];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_throw", throw),
    kfunc_row("__bpf_trap", trap),
    kfunc_row("bpf_modify_return_test_tp", |_, args| Ok(args[0] & 0xffff_ffff)),
];

fn repeat(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [count, callback, context, flags, _] = *args;
    let count = u64::from(count as u32);
    if flags != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    if count > limits::LOOPS {
        // The kernel's verifier turns such a call into a loop, which answers in 32 bits.
        return Ok(int(Errno::E2BIG));
    }
    for turn in 0..count {
        if worker.call_back(callback, [turn, context, 0, 0, 0])? != 0 {
            return Ok(turn + 1);
        }
    }
    Ok(count)
}

/// Ends the program at once with this result; [`Worker::end_run`] catches it.
fn throw(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    worker.local.thrown = Some(args[0]);
    Err(Fault::refused("bpf_throw"))
}

/// Compilers put it where no program should come to.
fn trap(_: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Err(Fault::refused("__bpf_trap: an uninitialised variable or a missing return"))
}
