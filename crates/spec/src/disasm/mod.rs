//! A disassembler in the notation of the kernel's verifier log and of `bpftool prog dump xlated`.
//!
//! Rule: total. Any bytes give one line of text; what no kernel knows reads `BUG_` and the code,
//! as in the kernel's own disassembler. Instructions that the kernel has rewritten print
//! too: what only the caller knows (map ids, addresses of helpers, labels) is provided by
//! [`Names`]. [`Listing`] prints a whole program with functions and source lines.
//! Not here: x86.

mod alu;
mod jump;
mod listing;
mod memory;
mod names;
mod source;

pub use listing::Listing;
pub use names::{Names, Plain, SpecNames};
pub use source::{Unprintable, source};

use crate::insn::{
    CLASS_ALU, CLASS_ALU64, CLASS_JMP, CLASS_JMP32, CLASS_LD, CLASS_LDX, CLASS_ST, Insn,
};

/// The instruction at `slot`, such as `(61) r2 = *(u32 *)(r1 +4)`.
///
/// The second slot of a wide load, and a slot after the end, read as `BUG_…`: step with
/// [`slots`].
pub fn insn(insns: &[Insn], slot: usize, names: &dyn Names) -> String {
    let Some(insn) = insns.get(slot).copied() else {
        return "BUG_end".to_owned();
    };
    let site = Site { insns, slot, insn, names };
    let text = match insn.class() {
        CLASS_ALU | CLASS_ALU64 => alu::text(insn),
        CLASS_JMP | CLASS_JMP32 => jump::text(&site),
        CLASS_LD => memory::ld(&site),
        CLASS_LDX => memory::ldx(insn),
        CLASS_ST => memory::st(insn),
        _ => memory::stx(insn),
    };
    match text {
        Some(text) => format!("({:02x}) {text}", insn.code),
        None => format!("BUG_{}_{:02x}", CLASS_NAMES[usize::from(insn.class())], insn.code),
    }
}

/// Where instructions start: each slot but the second ones of wide loads.
pub fn slots(insns: &[Insn]) -> impl Iterator<Item = usize> {
    let after = |slot: &usize| {
        let next = slot + if insns[*slot].is_wide() { 2 } else { 1 };
        (next < insns.len()).then_some(next)
    };
    std::iter::successors((!insns.is_empty()).then_some(0), after)
}

/// An instruction with its surroundings.
struct Site<'a> {
    insns: &'a [Insn],
    slot: usize,
    insn: Insn,
    names: &'a dyn Names,
}

/// `r` for 64 bits, `w` for the low 32 of them.
const fn prefix(wide: bool) -> char {
    if wide { 'r' } else { 'w' }
}

const CLASS_NAMES: [&str; 8] = ["ld", "ldx", "st", "stx", "alu", "jmp", "jmp32", "alu64"];

#[cfg(test)]
mod tests;
