//! Reports to a hook, called from the loop once before each operation.
//!
//! Rule: the loop passes only its position; what the previous operation did is read from
//! registers and memory here, so that the loop without a hook contains none of this.

use std::sync::Arc;

use super::{Registers, address};
use crate::code::{Kind, Op, Program};
use crate::memory::Memory;
use crate::processor::{CallEvent, Executable, Hook, Processor, Step, WriteEvent};

/// The operation that ran last.
pub(super) struct Last {
    slot: usize,
    registers: [u64; 11],
    /// Address and number of the bytes that it writes.
    target: Option<(u64, usize)>,
}

/// Reports what the last operation did, and that the operation at `slot` comes next.
#[cold]
#[inline(never)]
pub(super) fn report(
    processor: &mut Processor,
    executable: &Executable,
    slot: usize,
    r: &Registers,
    last: &mut Option<Last>,
) {
    let Some(mut hook) = processor.hook.0.take() else { return };
    let registers = first_eleven(r);
    let depth = processor.frames.depth;
    let program = Arc::clone(&executable.program);
    let step = Step {
        program: &program,
        slot,
        depth,
        registers: &registers,
        memory: &processor.memory,
        frame: &processor.frame,
    };
    if let Some(last) = last {
        report_done(&mut *hook, &Step { slot: last.slot, ..step }, last, slot);
    }
    hook.step(&step);
    let op = program.ops()[slot];
    let target = op.kind.stored_len().map(|len| (address(r, op.dst, op), len));
    *last = Some(Last { slot, registers, target });
    processor.hook.0 = Some(hook);
}

fn report_done(hook: &mut dyn Hook, step: &Step<'_>, last: &Last, next: usize) {
    let op = step.program.ops()[last.slot];
    if op.kind.is_branch() {
        hook.branch(step, next != last.slot + 1);
    }
    if let Some((address, len)) = last.target
        && let Some(value) = value(step.memory, address, len)
    {
        hook.write(step, &WriteEvent { address, len, value });
    }
    if let Some(name) = callee(step.program, &op) {
        let mut args = [0; 5];
        args.copy_from_slice(&last.registers[1..6]);
        hook.call(step, &CallEvent { name, args, result: step.registers[0] });
    }
}

/// Name of the helper or kfunc that an operation called.
fn callee<'a>(program: &'a Program, op: &Op) -> Option<&'a str> {
    match op.kind {
        Kind::Call => Some(program.callee(op.imm)),
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
