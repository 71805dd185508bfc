//! Arithmetic: `r1 += r2`, `w1 s>>= 3`, `r1 = (s8)r2`, `r1 = be16 r1`.

use super::prefix;
use crate::insn::{
    ADD, AND, ARSH, CLASS_ALU64, DIV, END, FROM_REG, Insn, LSH, MOD, MOV, MUL, NEG, OR, RSH, SUB,
    XOR,
};

/// `off` of a register move that turns a pointer of one address space into another's.
const ADDRESS_SPACE: i16 = 1;
/// `off` of a register move that makes a per-CPU offset an address of this CPU.
const PER_CPU: i16 = -1;

/// The text of an arithmetic instruction; `None` if it is invalid.
pub fn text(insn: Insn) -> Option<String> {
    let wide = insn.class() == CLASS_ALU64;
    let (letter, dst) = (prefix(wide), insn.dst);
    let operation = insn.code & 0xf0;
    match operation {
        END => Some(order(insn, wide)),
        NEG => Some(format!("{letter}{dst} = -{letter}{dst}")),
        MOV if insn.code & FROM_REG != 0 => Some(copy(insn, wide)),
        _ => {
            let operator = operator(operation, insn.off)?;
            Some(format!("{letter}{dst} {operator} {}", operand(insn, letter)))
        }
    }
}

fn operand(insn: Insn, letter: char) -> String {
    if insn.code & FROM_REG != 0 { format!("{letter}{}", insn.src) } else { insn.imm.to_string() }
}

fn order(insn: Insn, wide: bool) -> String {
    let Insn { dst, imm, .. } = insn;
    let order = match (wide, insn.code & FROM_REG != 0) {
        (true, _) => "bswap",
        (false, true) => "be",
        (false, false) => "le",
    };
    format!("r{dst} = {order}{imm} r{dst}")
}

/// A move between registers; its offset selects sign extension or an address-space cast.
fn copy(insn: Insn, wide: bool) -> String {
    let Insn { dst, src, off, imm, .. } = insn;
    let letter = prefix(wide);
    match off {
        ADDRESS_SPACE if wide => {
            let spaces = imm.cast_unsigned();
            format!("r{dst} = addr_space_cast(r{src}, {}, {})", spaces >> 16, spaces & 0xffff)
        }
        PER_CPU if wide => format!("r{dst} = &(void __percpu *)(r{src})"),
        8 | 16 | 32 => format!("{letter}{dst} = (s{off}){letter}{src}"),
        _ => format!("{letter}{dst} = {letter}{src}"),
    }
}

fn operator(operation: u8, off: i16) -> Option<&'static str> {
    Some(match operation {
        ADD => "+=",
        SUB => "-=",
        MUL => "*=",
        DIV if off == 1 => "s/=",
        DIV => "/=",
        OR => "|=",
        AND => "&=",
        LSH => "<<=",
        RSH => ">>=",
        MOD if off == 1 => "s%=",
        MOD => "%=",
        XOR => "^=",
        MOV => "=",
        ARSH => "s>>=",
        _ => return None,
    })
}
