//! How much stack a function uses.
//!
//! LLVM's `DW_OP_fbreg` for BPF counts from the lowest byte of the function's frame, while the
//! frame base names r10, the highest. The size of the frame is in no table, but in the
//! instructions: the lowest offset from r10 that they name, to a multiple of eight.

use crate::insn::{ADD, CLASS_ALU64, CLASS_LDX, CLASS_ST, CLASS_STX, FROM_REG, Insn, MOV};

/// Bytes of stack that the instructions of one function use.
pub fn bytes(insns: &[Insn]) -> u64 {
    let mut lowest = 0_i64;
    // Registers that hold r10, until another value is written.
    let mut holds = [false; 16];
    for insn in insns {
        let (dst, src) = (usize::from(insn.dst & 15), usize::from(insn.src & 15));
        match insn.class() {
            CLASS_LDX if insn.src == FRAME => lowest = lowest.min(insn.off.into()),
            CLASS_ST | CLASS_STX if insn.dst == FRAME => lowest = lowest.min(insn.off.into()),
            _ => {}
        }
        if insn.code == CLASS_ALU64 | MOV | FROM_REG && insn.off == 0 {
            holds[dst] = insn.src == FRAME || holds[src];
        } else if insn.code == CLASS_ALU64 | ADD && holds[dst] {
            lowest = lowest.min(insn.imm.into());
            holds[dst] = false;
        } else if !matches!(insn.class(), CLASS_ST | CLASS_STX) {
            holds[dst] = false;
        }
    }
    // The kernel's limit is 512.
    lowest.max(-4096).unsigned_abs().next_multiple_of(8)
}

/// The register that holds the end of the stack.
const FRAME: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::{MODE_MEM, SIZE_DW};

    #[test]
    fn the_lowest_offset_counts() {
        let copy = Insn::new(CLASS_ALU64 | MOV | FROM_REG, 2, FRAME, 0, 0);
        let add = |imm| Insn::new(CLASS_ALU64 | ADD, 2, 0, 0, imm);
        let store = |off| Insn::new(CLASS_STX | MODE_MEM | SIZE_DW, FRAME, 1, off, 0);
        assert_eq!(bytes(&[]), 0);
        assert_eq!(bytes(&[store(-8)]), 8);
        assert_eq!(bytes(&[store(-8), copy, add(-20)]), 24);
        assert_eq!(bytes(&[add(-200)]), 0, "r2 is another number");
        assert_eq!(bytes(&[store(i16::MIN)]), 4096, "damaged");
    }
}
