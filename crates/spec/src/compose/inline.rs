//! An entry function as a stretch of another one: no call, no return, one stack frame.
//!
//! Where returns go through a thunk (AMD Zen with its mitigations), a BPF call costs more than the
//! counting does and as much as many a program. So main takes the entry functions in: their exits
//! become jumps, and their stack moves down to leave room for main's own few bytes at its top.
//!
//! Rule: what cannot be moved for certain is not; then main calls it. Every instruction keeps its
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
const LONGEST: usize = 32_000;

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
    let mut body = program.insns[..end].to_vec();
    let targets = jump_targets(&body)?;
    let starts: Vec<usize> = slots(&body).collect();
    for slot in starts {
        match moved(body[slot], reserve)? {
            Moved::Same => {}
            Moved::To(insn) => body[slot] = insn,
            Moved::Address => {
                let next = body.get_mut(slot + 1).filter(|_| !targets.contains(&(slot + 1)))?;
                let copy = program.insns[slot].dst;
                if next.code != ADD_IMM || next.dst != copy {
                    return None;
                }
                next.imm = next.imm.checked_sub(reserve.into())?;
            }
        }
    }
    Some(body)
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

/// What becomes of an instruction when the frame moves.
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
    insn.code == CALL && insn.src == 0 && Helper(insn.imm.cast_unsigned()) == Helper::TAIL_CALL
}

/// Slots of the function that jumps go to; `None` when one leaves it.
fn jump_targets(body: &[Insn]) -> Option<BTreeSet<usize>> {
    let mut targets = BTreeSet::new();
    for slot in slots(body) {
        let insn = body[slot];
        let distance = match (insn.class(), insn.code) {
            (_, CALL | EXIT) => continue,
            (_, GOTOL) => i64::from(insn.imm),
            (CLASS_JMP | CLASS_JMP32, _) => i64::from(insn.off),
            _ => continue,
        };
        let target = usize::try_from(slot as i64 + 1 + distance).ok()?;
        if target >= body.len() {
            return None;
        }
        targets.insert(target);
    }
    Some(targets)
}
