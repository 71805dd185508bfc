//! Which registers hold a value that is still read: inserted code must preserve them.
//!
//! Rule: the result may include registers that are not live, but never omits a live one.

use super::inline::distance;
use crate::disasm::slots;
use crate::insn::{
    CALL, CLASS_ALU, CLASS_ALU64, CLASS_JMP, CLASS_JMP32, CLASS_LD, CLASS_LDX, CLASS_ST, CLASS_STX,
    CMPXCHG, END, EXIT, FETCH, FROM_REG, Insn, JA, LOAD_ACQUIRE, MODE_ATOMIC, MOV, NEG,
};

/// A set of registers, by number.
pub type Registers = u16;

/// Registers that a call does not keep, and its result.
const SCRATCH: Registers = 0b11_1111;
const ARGUMENTS: Registers = 0b11_1110;

/// Registers that are read after `slot`, before anything else is written to them.
pub fn live_after(code: &[Insn], slot: usize) -> Registers {
    behind(code, &live_before(code), slot)
}

/// For each slot, the registers that it or what follows reads, before anything else is written to
/// them.
pub fn live_before(code: &[Insn]) -> Vec<Registers> {
    let starts: Vec<usize> = slots(code).collect();
    let mut live: Vec<Registers> = vec![0; code.len() + 2];
    loop {
        let mut changed = false;
        for slot in starts.iter().rev().copied() {
            let (reads, writes) = effect(code[slot]);
            let before = reads | (behind(code, &live, slot) & !writes);
            changed |= before != live[slot];
            live[slot] = before;
        }
        if !changed {
            return live;
        }
    }
}

/// Registers that some instruction writes.
pub fn written(code: &[Insn]) -> Registers {
    slots(code).fold(0, |all, slot| all | effect(code[slot]).1)
}

fn behind(code: &[Insn], live: &[Registers], slot: usize) -> Registers {
    let insn = code[slot];
    if insn.code == EXIT {
        return 0;
    }
    let next = slot + if insn.is_wide() { 2 } else { 1 };
    let always = insn.code & !FROM_REG & 0xf0 == JA && distance(insn).is_some();
    let target = distance(insn).and_then(|far| usize::try_from(slot as i64 + 1 + far).ok());
    let jumps = target.and_then(|target| live.get(target)).copied().unwrap_or_default();
    if always { jumps } else { jumps | live[next] }
}

/// What an instruction reads and writes.
fn effect(insn: Insn) -> (Registers, Registers) {
    let [dst, src] = [insn.dst, insn.src].map(|number| 1 << (number & 15));
    let second = if insn.code & FROM_REG != 0 { src } else { 0 };
    match insn.class() {
        CLASS_LD if insn.is_wide() => (0, dst),
        // Loads by the old way: the context is in R6.
        CLASS_LD => (1 << 6 | src, SCRATCH),
        CLASS_LDX => (src, dst),
        CLASS_ST => (dst, 0),
        CLASS_STX if insn.code & 0xe0 == MODE_ATOMIC => atomic(insn, dst, src),
        CLASS_STX => (dst | src, 0),
        CLASS_ALU | CLASS_ALU64 => match insn.code & 0xf0 {
            MOV => (second, dst),
            NEG | END => (dst, dst),
            _ => (dst | second, dst),
        },
        CLASS_JMP | CLASS_JMP32 if insn.code == CALL => (ARGUMENTS, SCRATCH),
        CLASS_JMP | CLASS_JMP32 if insn.code == EXIT => (1, 0),
        _ if insn.code & 0xf0 == JA => (0, 0),
        _ => (dst | second, 0),
    }
}

fn atomic(insn: Insn, dst: Registers, src: Registers) -> (Registers, Registers) {
    match insn.imm {
        LOAD_ACQUIRE => (src, dst),
        CMPXCHG => (dst | src | 1, 1),
        other if other & FETCH != 0 => (dst | src, src),
        _ => (dst | src, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::{Assembler, Atomic, Cond, Reg, Reg::*, Width};
    use crate::model::ProgramKind;

    /// Registers live after the first instruction.
    fn live(write: impl FnOnce(&mut Assembler)) -> Vec<Reg> {
        let mut a = Assembler::new("live", ProgramKind::XDP);
        a.mov(R0, 0);
        write(&mut a);
        a.exit();
        let live = live_after(&a.finish().unwrap().insns, 0);
        Reg::ALL.into_iter().filter(|reg| live & 1 << reg.number() != 0).collect()
    }

    #[test]
    fn what_is_read_before_it_is_written() {
        assert_eq!(live(|_| ()), [R0]);
        assert_eq!(live(|a| _ = a.mov(R0, R7)), [R7]);
        assert_eq!(live(|a| _ = a.add(R0, R7)), [R0, R7]);
        assert_eq!(live(|a| _ = a.mov(R7, 1).mov(R0, R7)), []);
        assert_eq!(live(|a| _ = a.load64(R8, R8.at(0)).store64(R9.at(0), R6)), [R0, R6, R8, R9]);
        assert_eq!(live(|a| _ = a.load_imm64(R9, 1).add(R0, R9).mov(R9, R9)), [R0]);
        assert_eq!(live(|a| _ = a.atomic(Atomic::Xchg, Width::W64, R6.at(0), R7)), [R0, R6, R7]);
        assert_eq!(live(|a| _ = a.atomic(Atomic::CmpXchg, Width::W64, R6.at(0), R7)), [R0, R6, R7]);
    }

    /// `BPF_LD | BPF_ABS` takes the context from R6 and destroys the registers that a call does.
    #[test]
    fn an_absolute_load_reads_the_context_in_r6() {
        let absolute = Insn::new(0x20, 0, 0, 0, 12);
        assert_eq!(live(|a| _ = a.raw(absolute).mov(R0, R7)), [R0, R6, R7]);
    }

    #[test]
    fn a_call_keeps_what_is_behind_the_arguments() {
        let called = live(|a| _ = a.call(crate::asm::Helper::KTIME_GET_NS).mov(R0, R6));
        assert_eq!(called, [R1, R2, R3, R4, R5, R6]);
    }

    #[test]
    fn either_way_of_a_branch_and_around_a_loop() {
        let branch = live(|a| {
            let other = a.label();
            a.jump_if(R1, Cond::Eq, 0, other).mov(R0, R7).exit();
            a.bind(other).mov(R0, R8);
        });
        assert_eq!(branch, [R1, R7, R8]);
        let around = live(|a| {
            let [head, end] = [a.label(), a.label()];
            a.bind(head).jump_if(R6, Cond::Eq, 0, end).sub(R6, 1).mov(R9, R8).jump(head);
            a.bind(end).mov(R0, 0);
        });
        assert_eq!(around, [R6, R8]);
    }
}
