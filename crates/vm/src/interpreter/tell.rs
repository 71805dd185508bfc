//! Telling a hook what happens, from outside the loop: once before each operation.
//!
//! Rule: the loop says only where it is; what the operation before did is read off registers
//! and memory here, so that the untraced loop has not a line of this.

use std::sync::Arc;

use super::hook::{Called, Hook, Step, Written};
use super::{Registers, address};
use crate::code::{Kind, Op, Program};
use crate::memory::Memory;
use crate::worker::Worker;

/// What is known of the operation that ran last.
pub(super) struct Last {
    slot: usize,
    registers: [u64; 11],
    /// Where it was going to write, and how much.
    place: Option<(u64, usize)>,
}

/// Tells what the last operation did, and that the one at `slot` comes next.
#[cold]
#[inline(never)]
pub(super) fn tell(
    worker: &mut Worker,
    program: &Program,
    slot: usize,
    r: &Registers,
    last: &mut Option<Last>,
) {
    let Some(mut hook) = worker.frames.hook.0.take() else { return };
    let registers = first_eleven(r);
    let depth = worker.frames.depth;
    let program = Arc::clone(&worker.programs[program.number()]);
    let step =
        Step { program: &program, slot, depth, registers: &registers, memory: &worker.memory };
    if let Some(last) = last {
        tell_done(&mut *hook, &Step { slot: last.slot, ..step }, last, slot);
    }
    hook.step(&step);
    let op = program.ops()[slot];
    let place = op.kind.stored_len().map(|len| (address(r, op.dst, &op), len));
    *last = Some(Last { slot, registers, place });
    worker.frames.hook.0 = Some(hook);
}

fn tell_done(hook: &mut dyn Hook, step: &Step<'_>, last: &Last, next: usize) {
    let op = step.program.ops()[last.slot];
    if op.kind.is_branch() {
        hook.branch(step, next != last.slot + 1);
    }
    if let Some((address, len)) = last.place
        && let Some(value) = value(step.memory, address, len)
    {
        hook.write(step, &Written { address, len, value });
    }
    if let Some(name) = callee(step.program, &op) {
        let mut args = [0; 5];
        args.copy_from_slice(&last.registers[1..6]);
        hook.call(step, &Called { name, args, result: step.registers[0] });
    }
}

/// The function of the host's side that an operation called.
fn callee<'a>(program: &'a Program, op: &Op) -> Option<&'a str> {
    match op.kind {
        Kind::Call => Some(&program.callee(op.imm).name),
        Kind::TailCall => Some("bpf_tail_call"),
        _ => None,
    }
}

fn value(memory: &Memory, address: u64, len: usize) -> Option<u64> {
    let loaded = match len {
        1 => memory.load8(address),
        2 => memory.load16(address),
        4 => memory.load32(address),
        _ => memory.load64(address),
    };
    loaded.ok()
}

fn first_eleven(r: &Registers) -> [u64; 11] {
    let mut registers = [0; 11];
    registers.copy_from_slice(&r[..11]);
    registers
}
