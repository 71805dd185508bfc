//! An entry function as a stretch of another one: no call, no return, one stack frame.
//!
//! Where returns go through a thunk (AMD Zen with its mitigations), a BPF call costs more than the
//! counting does, and is comparable to many a whole program. So main inlines the entry functions:
//! their exits become jumps, and their stack moves down to leave room for main's own few bytes at
//! its top.
//!
//! Rule: what cannot be moved for certain is not; then it is called. Every instruction keeps its
//! distance to the others of its function.

use std::collections::BTreeSet;

use crate::asm::Helper;
use crate::disasm::slots;
use crate::insn::{
    ADD, CALL, CLASS_ALU64, CLASS_JMP, CLASS_JMP32, CLASS_LDX, CLASS_ST, CLASS_STX, EXIT, FROM_REG,
    Insn, JA, LOAD_ACQUIRE, MODE_ATOMIC, MOV, PSEUDO_FUNC,
};
use crate::model::Program;

const FRAME: u8 = 10;
const MOV_REG: u8 = CLASS_ALU64 | MOV | FROM_REG;
const ADD_IMM: u8 = CLASS_ALU64 | ADD;
const GOTOL: u8 = CLASS_JMP32 | JA;

/// Slots that a 16-bit jump surely spans, with main's own code around.
pub const LONGEST: usize = 32_000;

/// Where the entry function ends and the others begin.
pub fn entry_end(program: &Program) -> usize {
    let starts = program.functions.iter().map(|function| function.slot);
    starts.filter(|slot| *slot > 0).min().unwrap_or(program.insns.len()).min(program.insns.len())
}

/// The entry function with its stack `reserve` bytes lower, or `None` when it must be called:
/// tail calls return from main, callbacks and calls want a function, and a frame pointer that is
/// more than a base or `r10 + constant` cannot be followed.
pub fn body(program: &Program, reserve: i16) -> Option<Vec<Insn>> {
    let end = entry_end(program);
    if end > LONGEST || calls_entry(program) {
        return None;
    }
    lowered(&program.insns[..end], reserve)
}

/// A function's code with its stack `reserve` bytes lower.
pub fn lowered(code: &[Insn], reserve: i16) -> Option<Vec<Insn>> {
    let mut body = code.to_vec();
    let targets = jump_targets(&body)?;
    let starts: Vec<usize> = slots(&body).collect();
    for slot in starts {
        match moved(body[slot], reserve)? {
            Moved::Same => {}
            Moved::To(insn) => body[slot] = insn,
            Moved::Address => {
                let off = address(&body, slot, &targets)?;
                body[slot + 1].imm = off.checked_sub(reserve.into())?;
            }
        }
    }
    Some(body)
}

/// How far below the frame pointer a function may reach, as a multiple of eight, or `None` when
/// that cannot be followed.
pub fn depth(body: &[Insn]) -> Option<i16> {
    let targets = jump_targets(body)?;
    let (mut deepest, mut below) = (0, 0);
    for slot in slots(body) {
        let insn = body[slot];
        match moved(insn, 0)? {
            Moved::Address => deepest = deepest.min(address(body, slot, &targets)?),
            Moved::To(insn) => deepest = deepest.min(insn.off.into()),
            // It may go through an address of the frame.
            Moved::Same if matches!(insn.class(), CLASS_LDX | CLASS_ST | CLASS_STX) => {
                below = below.min(i32::from(insn.off));
            }
            Moved::Same => {}
        }
    }
    let depth = u16::try_from(-(deepest + below)).ok()?.checked_next_multiple_of(8)?;
    i16::try_from(depth).ok()
}

/// The constant of `rX = r10; rX += constant`, where `slot` is the first of both.
fn address(body: &[Insn], slot: usize, targets: &BTreeSet<usize>) -> Option<i32> {
    let next = body.get(slot + 1).filter(|_| !targets.contains(&(slot + 1)))?;
    (next.code == ADD_IMM && next.dst == body[slot].dst).then_some(next.imm)
}

/// Whether the immediate is the distance from the next slot to a function of this program.
pub fn refers_to_function(insn: Insn) -> bool {
    insn.is_local_call() || (insn.is_wide() && insn.src == PSEUDO_FUNC)
}

fn calls_entry(program: &Program) -> bool {
    let to_entry = |slot: usize| {
        let insn = program.insns[slot];
        refers_to_function(insn) && slot as i64 + 1 + i64::from(insn.imm) == 0
    };
    slots(&program.insns).any(to_entry)
}

/// The effect of a moved frame on an instruction.
enum Moved {
    Same,
    To(Insn),
    /// `rX = r10`, which the next instruction must complete.
    Address,
}

fn moved(insn: Insn, reserve: i16) -> Option<Moved> {
    let (dst, src) = (insn.dst == FRAME, insn.src == FRAME);
    let lower = || Some(Moved::To(Insn { off: insn.off.checked_sub(reserve)?, ..insn }));
    let acquires = insn.code & 0xe0 == MODE_ATOMIC && insn.imm == LOAD_ACQUIRE;
    match insn.class() {
        _ if !dst && !src => (!is_tail_call(insn)).then_some(Moved::Same),
        CLASS_LDX if !dst => lower(),
        CLASS_STX if acquires && !dst => lower(),
        CLASS_ST | CLASS_STX if !src && !acquires => lower(),
        CLASS_ALU64 if insn.code == MOV_REG && insn.off == 0 && !dst => Some(Moved::Address),
        _ => None,
    }
}

fn is_tail_call(insn: Insn) -> bool {
    helper(insn) == Some(Helper::TAIL_CALL)
}

/// The helper that an instruction calls.
pub fn helper(insn: Insn) -> Option<Helper> {
    (insn.is_call() && insn.src == 0).then(|| Helper(insn.imm.cast_unsigned()))
}

/// Slots of the function that jumps go to; `None` when one leaves it.
pub fn jump_targets(body: &[Insn]) -> Option<BTreeSet<usize>> {
    let mut targets = BTreeSet::new();
    for slot in slots(body) {
        if let Some(distance) = distance(body[slot]) {
            let target = usize::try_from(slot as i64 + 1 + distance).ok()?;
            if target >= body.len() {
                return None;
            }
            targets.insert(target);
        }
    }
    Some(targets)
}

/// How far a jump goes, from the next slot on.
pub fn distance(insn: Insn) -> Option<i64> {
    match (insn.class(), insn.code) {
        (_, CALL | EXIT) => None,
        (_, GOTOL) => Some(insn.imm.into()),
        (CLASS_JMP | CLASS_JMP32, _) => Some(insn.off.into()),
        _ => None,
    }
}

/// The jump with another distance; `None` if that does not fit.
pub fn with_distance(insn: Insn, distance: i64) -> Option<Insn> {
    if insn.code == GOTOL {
        return Some(Insn { imm: i32::try_from(distance).ok()?, ..insn });
    }
    Some(Insn { off: i16::try_from(distance).ok()?, ..insn })
}
