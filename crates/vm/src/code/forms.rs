//! Tables of instruction forms: the kind of operation that each instruction code stands for.
//!
//! Reserved fields must be zero, as in the kernel, and r10 is never written.

use spec::insn::{self, Insn};

use super::op::{Kind, Kind::*, Op, Reg};
use crate::error::InvalidInsn;

/// An operation, or why the instruction is invalid.
type Decoded = Result<Op, InvalidInsn>;

/// Refuses instructions that write r10.
fn check_written(register: u8) -> Result<(), InvalidInsn> {
    if register == 10 { Err(InvalidInsn::FramePointer) } else { Ok(()) }
}

fn op(kind: Kind, insn: Insn) -> Op {
    Op {
        kind,
        dst: Reg::of(insn.dst),
        src: Reg::of(insn.src),
        off: insn.off.into(),
        imm: insn.imm as i64 as u64,
    }
}

pub(super) fn wide(insn: Insn, value: u64) -> Decoded {
    check_written(insn.dst)?;
    if !insn.is_wide() || insn.off != 0 {
        return Err(InvalidInsn::Reserved);
    }
    Ok(Op { dst: Reg::of(insn.dst), imm: value, ..Op::new(Wide) })
}

// ---- arithmetic ---------------------------------------------------------------------------------

/// Code, offset, and the kinds: 64 bits with immediate and register, then 32 bits.
type AluRow = (u8, i16, [Kind; 4]);

#[rustfmt::skip]
const ALU: &[AluRow] = &[
    (insn::ADD,  0, [Add64K, Add64X, Add32K, Add32X]),
    (insn::SUB,  0, [Sub64K, Sub64X, Sub32K, Sub32X]),
    (insn::MUL,  0, [Mul64K, Mul64X, Mul32K, Mul32X]),
    (insn::DIV,  0, [Div64K, Div64X, Div32K, Div32X]),
    (insn::DIV,  1, [Sdiv64K, Sdiv64X, Sdiv32K, Sdiv32X]),
    (insn::OR,   0, [Or64K, Or64X, Or32K, Or32X]),
    (insn::AND,  0, [And64K, And64X, And32K, And32X]),
    (insn::LSH,  0, [Lsh64K, Lsh64X, Lsh32K, Lsh32X]),
    (insn::RSH,  0, [Rsh64K, Rsh64X, Rsh32K, Rsh32X]),
    (insn::MOD,  0, [Mod64K, Mod64X, Mod32K, Mod32X]),
    (insn::MOD,  1, [Smod64K, Smod64X, Smod32K, Smod32X]),
    (insn::XOR,  0, [Xor64K, Xor64X, Xor32K, Xor32X]),
    (insn::MOV,  0, [Mov64K, Mov64X, Mov32K, Mov32X]),
    (insn::ARSH, 0, [Arsh64K, Arsh64X, Arsh32K, Arsh32X]),
];

/// Moves from a register with sign extension: offset, kind for 64 bits, kind for 32 bits.
const EXTENDING: &[(i16, Option<Kind>, Option<Kind>)] = &[
    (8, Some(Extend8To64), Some(Extend8To32)),
    (16, Some(Extend16To64), Some(Extend16To32)),
    (32, Some(Extend32To64), None),
];

pub(super) fn alu(insn: Insn) -> Decoded {
    check_written(insn.dst)?;
    let code = insn.code & 0xf0;
    match code {
        insn::NEG => return negation(insn),
        insn::END => return byte_order(insn),
        _ => {}
    }
    let is_64 = insn.class() == insn::CLASS_ALU64;
    let from_reg = insn.code & insn::FROM_REG != 0;
    if if from_reg { insn.imm != 0 } else { insn.src != 0 } {
        return Err(InvalidInsn::Reserved);
    }
    if code == insn::MOV && from_reg && insn.off != 0 {
        let row = EXTENDING.iter().find(|row| row.0 == insn.off);
        let kind = row.and_then(|row| if is_64 { row.1 } else { row.2 });
        return kind.map(|kind| op(kind, insn)).ok_or(InvalidInsn::Unknown);
    }
    let row =
        ALU.iter().find(|row| row.0 == code && row.1 == insn.off).ok_or(InvalidInsn::Unknown)?;
    Ok(op(row.2[usize::from(!is_64) * 2 + usize::from(from_reg)], insn))
}

fn negation(insn: Insn) -> Decoded {
    if insn.code & insn::FROM_REG != 0 || insn.src != 0 || insn.off != 0 || insn.imm != 0 {
        return Err(InvalidInsn::Reserved);
    }
    Ok(op(if insn.class() == insn::CLASS_ALU64 { Neg64 } else { Neg32 }, insn))
}

/// Conversions of byte order, for a little-endian machine.
fn byte_order(insn: Insn) -> Decoded {
    if insn.src != 0 || insn.off != 0 {
        return Err(InvalidInsn::Reserved);
    }
    let kind = match (insn.class(), insn.code & insn::FROM_REG != 0, insn.imm) {
        (insn::CLASS_ALU, false, 16) => Low16,
        (insn::CLASS_ALU, false, 32) => Low32,
        (insn::CLASS_ALU, false, 64) => Low64,
        (insn::CLASS_ALU, true, 16) | (insn::CLASS_ALU64, false, 16) => Swap16,
        (insn::CLASS_ALU, true, 32) | (insn::CLASS_ALU64, false, 32) => Swap32,
        (insn::CLASS_ALU, true, 64) | (insn::CLASS_ALU64, false, 64) => Swap64,
        _ => return Err(InvalidInsn::Unknown),
    };
    Ok(op(kind, insn))
}

// ---- branches -----------------------------------------------------------------------------------

/// Code, and the kinds: 64 bits with immediate (forward, back) and register, then 32 bits.
type BranchRow = (u8, [Kind; 8]);

#[rustfmt::skip]
const BRANCHES: &[BranchRow] = &[
    (insn::JEQ, [Jeq64K, Jeq64KBack, Jeq64X, Jeq64XBack,
        Jeq32K, Jeq32KBack, Jeq32X, Jeq32XBack]),
    (insn::JNE, [Jne64K, Jne64KBack, Jne64X, Jne64XBack,
        Jne32K, Jne32KBack, Jne32X, Jne32XBack]),
    (insn::JGT, [Jgt64K, Jgt64KBack, Jgt64X, Jgt64XBack,
        Jgt32K, Jgt32KBack, Jgt32X, Jgt32XBack]),
    (insn::JGE, [Jge64K, Jge64KBack, Jge64X, Jge64XBack,
        Jge32K, Jge32KBack, Jge32X, Jge32XBack]),
    (insn::JLT, [Jlt64K, Jlt64KBack, Jlt64X, Jlt64XBack,
        Jlt32K, Jlt32KBack, Jlt32X, Jlt32XBack]),
    (insn::JLE, [Jle64K, Jle64KBack, Jle64X, Jle64XBack,
        Jle32K, Jle32KBack, Jle32X, Jle32XBack]),
    (insn::JSET, [Jset64K, Jset64KBack, Jset64X, Jset64XBack,
        Jset32K, Jset32KBack, Jset32X, Jset32XBack]),
    (insn::JSGT, [Jsgt64K, Jsgt64KBack, Jsgt64X, Jsgt64XBack,
        Jsgt32K, Jsgt32KBack, Jsgt32X, Jsgt32XBack]),
    (insn::JSGE, [Jsge64K, Jsge64KBack, Jsge64X, Jsge64XBack,
        Jsge32K, Jsge32KBack, Jsge32X, Jsge32XBack]),
    (insn::JSLT, [Jslt64K, Jslt64KBack, Jslt64X, Jslt64XBack,
        Jslt32K, Jslt32KBack, Jslt32X, Jslt32XBack]),
    (insn::JSLE, [Jsle64K, Jsle64KBack, Jsle64X, Jsle64XBack,
        Jsle32K, Jsle32KBack, Jsle32X, Jsle32XBack]),
];

pub(super) fn branch(insn: Insn, target: i32, back: bool) -> Decoded {
    let from_reg = insn.code & insn::FROM_REG != 0;
    let row = BRANCHES.iter().find(|row| row.0 == insn.code & 0xf0).ok_or(InvalidInsn::Unknown)?;
    if if from_reg { insn.imm != 0 } else { insn.src != 0 } {
        return Err(InvalidInsn::Reserved);
    }
    let is_32 = insn.class() == insn::CLASS_JMP32;
    let column = usize::from(is_32) * 4 + usize::from(from_reg) * 2 + usize::from(back);
    Ok(Op { off: target, ..op(row.1[column], insn) })
}

// ---- memory -------------------------------------------------------------------------------------

/// Column of the instruction's size in the tables below.
fn width(insn: Insn) -> usize {
    match insn.code & 0x18 {
        insn::SIZE_B => 0,
        insn::SIZE_H => 1,
        insn::SIZE_W => 2,
        _ => 3,
    }
}

fn mode(insn: Insn) -> u8 {
    insn.code & 0xe0
}

pub(super) fn load(insn: Insn) -> Decoded {
    check_written(insn.dst)?;
    if insn.imm != 0 {
        return Err(InvalidInsn::Reserved);
    }
    let kind = match (mode(insn), width(insn)) {
        (insn::MODE_MEM, width) => [Load8, Load16, Load32, Load64][width],
        (insn::MODE_MEMSX, width @ 0..3) => [LoadSigned8, LoadSigned16, LoadSigned32][width],
        _ => return Err(InvalidInsn::Unknown),
    };
    Ok(op(kind, insn))
}

pub(super) fn store_imm(insn: Insn) -> Decoded {
    match mode(insn) {
        insn::MODE_MEM if insn.src == 0 => {
            Ok(op([StoreImm8, StoreImm16, StoreImm32, StoreImm64][width(insn)], insn))
        }
        insn::MODE_MEM => Err(InvalidInsn::Reserved),
        _ => Err(InvalidInsn::Unknown),
    }
}

pub(super) fn store(insn: Insn) -> Decoded {
    match mode(insn) {
        insn::MODE_MEM if insn.imm == 0 => {
            Ok(op([Store8, Store16, Store32, Store64][width(insn)], insn))
        }
        insn::MODE_MEM => Err(InvalidInsn::Reserved),
        insn::MODE_ATOMIC => atomic(insn),
        _ => Err(InvalidInsn::Unknown),
    }
}

fn atomic(insn: Insn) -> Decoded {
    const ADD: i32 = insn::ADD as i32;
    const OR: i32 = insn::OR as i32;
    const AND: i32 = insn::AND as i32;
    const XOR: i32 = insn::XOR as i32;
    let width = width(insn);
    let kinds = match insn.imm & !insn::FETCH {
        _ if insn.imm == insn::LOAD_ACQUIRE => {
            check_written(insn.dst)?;
            return Ok(op(
                [LoadAcquire8, LoadAcquire16, LoadAcquire32, LoadAcquire64][width],
                insn,
            ));
        }
        _ if insn.imm == insn::STORE_RELEASE => {
            let kinds = [StoreRelease8, StoreRelease16, StoreRelease32, StoreRelease64];
            return Ok(op(kinds[width], insn));
        }
        ADD if insn.imm == ADD => [AtomicAdd32, AtomicAdd64],
        ADD | OR | AND | XOR => [Atomic32, Atomic64],
        _ if insn.imm == insn::XCHG || insn.imm == insn::CMPXCHG => [Atomic32, Atomic64],
        _ => return Err(InvalidInsn::Unknown),
    };
    if insn.imm & insn::FETCH != 0 && insn.imm != insn::CMPXCHG {
        check_written(insn.src)?;
    }
    match width {
        2 => Ok(op(kinds[0], insn)),
        3 => Ok(op(kinds[1], insn)),
        _ => Err(InvalidInsn::Unknown),
    }
}
