//! Checks instructions and decodes them into a valid program.

use spec::asm::{Alu, Cond, Size};
use thiserror::Error as ThisError;

use super::{Base, Classic, Op, Register, Source, WORDS};

/// Why a program is not valid.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    #[error("invalid length of {0} instructions; expected 1 to {LONGEST}")]
    Length(usize),
    #[error("instruction {at}: unknown operation {code:#06x}")]
    Unknown { at: usize, code: u16 },
    #[error(
        "it tests a property of sockets (`inbound`, `outbound`, `ifindex`), which packets at the \
         filter lack: use `in` or `ifindex` of the rule language"
    )]
    Ancillary,
    #[error(
        "instruction {at} jumps back or out of the program: loops (`protochain`) are not supported"
    )]
    Jump { at: usize },
    #[error("instruction {at} shifts by more than 31 bits")]
    Shift { at: usize },
    #[error("instruction {at} divides by zero")]
    Division { at: usize },
    #[error("instruction {at} uses memory word {word}, which does not exist or was not written")]
    Memory { at: usize, word: u32 },
    #[error("the last instruction does not return")]
    End,
}

/// Checks and decodes the instructions of a program.
pub(super) fn check(instructions: &[Classic]) -> Result<Vec<Op>, Error> {
    let len = instructions.len();
    if len == 0 || len > LONGEST {
        return Err(Error::Length(len));
    }
    let one = |(at, insn): (usize, &Classic)| decode(*insn, at, len);
    let ops = instructions.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    if !matches!(ops.last(), Some(Op::Return(_))) {
        return Err(Error::End);
    }
    memory(&ops)?;
    Ok(ops)
}

fn decode(insn: Classic, at: usize, len: usize) -> Result<Op, Error> {
    let unknown = Error::Unknown { at, code: insn.code };
    match insn.code & CLASS {
        LD => load(insn, at, Register::A),
        LDX => load(insn, at, Register::X),
        ST => Ok(Op::Store(Register::A, word(insn.k, at)?)),
        STX => Ok(Op::Store(Register::X, word(insn.k, at)?)),
        ALU => arithmetic(insn, at),
        JMP => jump(insn, at, len),
        RET => match insn.code {
            RET_K => Ok(Op::Return(Source::Constant(insn.k))),
            RET_A => Ok(Op::Return(Source::Register(Register::A))),
            _ => Err(unknown),
        },
        _ => match insn.code {
            TAX => Ok(Op::Set(Register::X, Source::Register(Register::A))),
            TXA => Ok(Op::Set(Register::A, Source::Register(Register::X))),
            _ => Err(unknown),
        },
    }
}

fn load(insn: Classic, at: usize, register: Register) -> Result<Op, Error> {
    let k = insn.k;
    let unknown = Error::Unknown { at, code: insn.code };
    let size = match insn.code & SIZE {
        W => Size::Word,
        H => Size::Half,
        B => Size::Byte,
        _ => return Err(unknown),
    };
    match (insn.code & MODE, register, size) {
        (ABS | IND, Register::A, _) if k >= ANCILLARY => Err(Error::Ancillary),
        (ABS, Register::A, _) => Ok(Op::Load(size, Base::Frame, k)),
        (IND, Register::A, _) => Ok(Op::Load(size, Base::X, k)),
        (MSH, Register::X, Size::Byte) if k >= ANCILLARY => Err(Error::Ancillary),
        (MSH, Register::X, Size::Byte) => Ok(Op::LoadHeaderLength(k)),
        (IMM, _, Size::Word) => Ok(Op::Set(register, Source::Constant(k))),
        (MEM, _, Size::Word) => Ok(Op::Set(register, Source::Memory(word(k, at)?))),
        (LEN, _, Size::Word) => Ok(Op::Set(register, Source::Length)),
        _ => Err(unknown),
    }
}

fn arithmetic(insn: Classic, at: usize) -> Result<Op, Error> {
    let alu = match insn.code & OPERATION {
        0x00 => Alu::Add,
        0x10 => Alu::Sub,
        0x20 => Alu::Mul,
        0x30 => Alu::Div,
        0x40 => Alu::Or,
        0x50 => Alu::And,
        0x60 => Alu::Lsh,
        0x70 => Alu::Rsh,
        0x80 if insn.code & FROM_X == 0 => return Ok(Op::Negate),
        0x90 => Alu::Mod,
        0xa0 => Alu::Xor,
        _ => return Err(Error::Unknown { at, code: insn.code }),
    };
    match (alu, source(insn)) {
        (Alu::Div | Alu::Mod, Source::Constant(0)) => Err(Error::Division { at }),
        (Alu::Lsh | Alu::Rsh, Source::Constant(32..)) => Err(Error::Shift { at }),
        (_, by) => Ok(Op::Alu(alu, by)),
    }
}

fn jump(insn: Classic, at: usize, len: usize) -> Result<Op, Error> {
    let place = |distance: usize| {
        let to = at.checked_add(1).and_then(|next| next.checked_add(distance));
        to.filter(|to| *to < len).ok_or(Error::Jump { at })
    };
    let cond = match insn.code & OPERATION {
        // A backward jump has a large unsigned distance, which leaves the program.
        0x00 => return place(insn.k as usize).map(Op::Jump),
        0x10 => Cond::Eq,
        0x20 => Cond::Gt,
        0x30 => Cond::Ge,
        0x40 => Cond::Set,
        _ => return Err(Error::Unknown { at, code: insn.code }),
    };
    let (yes, no) = (place(insn.jump_true.into())?, place(insn.jump_false.into())?);
    Ok(Op::JumpIf { cond, right: source(insn), yes, no })
}

fn source(insn: Classic) -> Source {
    match insn.code & FROM_X {
        0 => Source::Constant(insn.k),
        _ => Source::Register(Register::X),
    }
}

fn word(k: u32, at: usize) -> Result<u8, Error> {
    let word = u8::try_from(k).ok().filter(|_| k < WORDS);
    word.ok_or(Error::Memory { at, word: k })
}

/// Checks that each memory word is written before it is read, on every path.
fn memory(ops: &[Op]) -> Result<(), Error> {
    // Words that are written on all paths to an instruction; all words if it is unreachable.
    let mut written = vec![u16::MAX; ops.len() + 1];
    written[0] = 0;
    for (at, op) in ops.iter().enumerate() {
        let mut there = written[at];
        match op {
            Op::Store(_, word) => there |= 1 << word,
            Op::Set(_, Source::Memory(word)) if there & 1 << word == 0 => {
                return Err(Error::Memory { at, word: (*word).into() });
            }
            _ => {}
        }
        for to in op.next(at) {
            written[to] &= there;
        }
    }
    Ok(())
}

/// The most instructions of a program; the limit of the kernel for classic BPF (`BPF_MAXINSNS`).
const LONGEST: usize = 4096;
/// Offsets from here on have a special meaning in Linux (`SKF_NET_OFF` and above).
const ANCILLARY: u32 = 0x8000_0000;

// linux/bpf_common.h
const CLASS: u16 = 0x07;
const LD: u16 = 0x00;
const LDX: u16 = 0x01;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const ALU: u16 = 0x04;
const JMP: u16 = 0x05;
const RET: u16 = 0x06;
const SIZE: u16 = 0x18;
const W: u16 = 0x00;
const H: u16 = 0x08;
const B: u16 = 0x10;
const MODE: u16 = 0xe0;
const IMM: u16 = 0x00;
const ABS: u16 = 0x20;
const IND: u16 = 0x40;
const MEM: u16 = 0x60;
const LEN: u16 = 0x80;
const MSH: u16 = 0xa0;
const OPERATION: u16 = 0xf0;
const FROM_X: u16 = 0x08;
const RET_K: u16 = 0x06;
const RET_A: u16 = 0x16;
const TAX: u16 = 0x07;
const TXA: u16 = 0x87;
