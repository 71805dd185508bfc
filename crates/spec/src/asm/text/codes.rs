//! Names of operations: as a mnemonic, as an operator, as code.

use crate::insn::{
    ADD, AND, ARSH, DIV, JEQ, JGE, JGT, JLE, JLT, JNE, JSET, JSGE, JSGT, JSLE, JSLT, LSH, MOD, MOV,
    MUL, OR, RSH, SIZE_B, SIZE_DW, SIZE_H, SIZE_W, SUB, XOR,
};

/// One row of a table below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// Name in the mnemonic notation.
    pub mnemonic: &'static str,
    /// Operator in the notation of the kernel's verifier.
    pub operator: &'static str,
    /// Operation bits of the instruction.
    pub code: u8,
    /// The offset that distinguishes signed division from unsigned.
    pub off: i16,
}

const fn row(mnemonic: &'static str, operator: &'static str, code: u8) -> Operation {
    Operation { mnemonic, operator, code, off: 0 }
}

pub(super) const ARITHMETIC: &[Operation] = &[
    row("add", "+=", ADD),
    row("sub", "-=", SUB),
    row("mul", "*=", MUL),
    row("div", "/=", DIV),
    Operation { off: 1, ..row("sdiv", "s/=", DIV) },
    row("or", "|=", OR),
    row("and", "&=", AND),
    row("lsh", "<<=", LSH),
    row("rsh", ">>=", RSH),
    row("mod", "%=", MOD),
    Operation { off: 1, ..row("smod", "s%=", MOD) },
    row("xor", "^=", XOR),
    row("mov", "=", MOV),
    row("arsh", "s>>=", ARSH),
];

pub(super) const CONDITIONS: &[Operation] = &[
    row("jeq", "==", JEQ),
    row("jgt", ">", JGT),
    row("jge", ">=", JGE),
    row("jset", "&", JSET),
    row("jne", "!=", JNE),
    row("jsgt", "s>", JSGT),
    row("jsge", "s>=", JSGE),
    row("jlt", "<", JLT),
    row("jle", "<=", JLE),
    row("jslt", "s<", JSLT),
    row("jsle", "s<=", JSLE),
];

/// Atomic arithmetic.
pub(super) const UPDATES: &[Operation] =
    &[row("add", "+=", ADD), row("or", "|=", OR), row("and", "&=", AND), row("xor", "^=", XOR)];

/// Suffixes of loads and stores.
pub(super) const SIZES: &[(&str, u8)] =
    &[("b", SIZE_B), ("h", SIZE_H), ("w", SIZE_W), ("dw", SIZE_DW)];

/// The operation of that mnemonic, which may end in `32` or `64`; true for 64 bits.
pub(super) fn sized(table: &[Operation], word: &str) -> Option<(Operation, bool)> {
    let find = |bare: &str| table.iter().find(|row| row.mnemonic == bare).copied();
    if let Some(bare) = word.strip_suffix("32") {
        return Some((find(bare)?, false));
    }
    Some((find(word.strip_suffix("64").unwrap_or(word))?, true))
}

/// The size that a suffix means.
pub(super) fn size(suffix: &str) -> Option<u8> {
    SIZES.iter().find(|(name, _)| *name == suffix).map(|(_, size)| *size)
}
