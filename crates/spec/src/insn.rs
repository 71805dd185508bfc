//! One BPF instruction slot, as the kernel and every object file lay it out: eight bytes.
//!
//! A 64-bit immediate load takes two slots, so positions and jump distances everywhere in this
//! crate count *slots*. Names of codes are those of `include/uapi/linux/bpf.h`.
//! Not here: building (`asm`), printing (`disasm`).

use std::fmt;

/// One eight-byte slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Insn {
    /// Operation code.
    pub code: u8,
    /// Number of the destination register.
    pub dst: u8,
    /// Number of the source register, or the kind of a reference.
    pub src: u8,
    /// Offset of a jump in slots, or of an address in bytes.
    pub off: i16,
    /// Immediate operand.
    pub imm: i32,
}

impl Insn {
    /// Size of an instruction slot in bytes.
    pub const SIZE: usize = 8;

    /// Creates an instruction from its fields.
    pub const fn new(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Self {
        Self { code, dst, src, off, imm }
    }

    /// The low three bits: load, store, arithmetic or jump.
    pub const fn class(self) -> u8 {
        self.code & 0x07
    }

    /// First slot of a two-slot 64-bit immediate load.
    pub const fn is_wide(self) -> bool {
        self.code == LD_IMM64
    }

    /// A call of a helper, a kfunc or a BPF function, as `src` specifies.
    pub const fn is_call(self) -> bool {
        self.code == CALL
    }

    /// A call whose target is another BPF function of the same program.
    pub const fn is_local_call(self) -> bool {
        self.is_call() && self.src == PSEUDO_CALL
    }

    /// Little-endian, as clang's `bpfel` target writes it.
    pub const fn from_bytes(raw: [u8; Self::SIZE]) -> Self {
        Self {
            code: raw[0],
            dst: raw[1] & 0x0f,
            src: raw[1] >> 4,
            off: i16::from_le_bytes([raw[2], raw[3]]),
            imm: i32::from_le_bytes([raw[4], raw[5], raw[6], raw[7]]),
        }
    }

    /// Encodes the instruction in little-endian order.
    pub const fn to_bytes(self) -> [u8; Self::SIZE] {
        let off = self.off.to_le_bytes();
        let imm = self.imm.to_le_bytes();
        [self.code, self.src << 4 | self.dst & 0x0f, off[0], off[1], imm[0], imm[1], imm[2], imm[3]]
    }

    /// A whole program as the bytes that `bpf(2)` takes.
    pub fn bytes(insns: &[Self]) -> Vec<u8> {
        insns.iter().flat_map(|insn| insn.to_bytes()).collect()
    }
}

impl fmt::Debug for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, dst, src, off, imm } = self;
        write!(f, "{code:02x} dst=r{dst} src=r{src} off={off} imm={imm:#x}")
    }
}

// Classes.
/// Class: non-standard loads.
pub const CLASS_LD: u8 = 0x00;
/// Class: load into a register.
pub const CLASS_LDX: u8 = 0x01;
/// Class: store an immediate.
pub const CLASS_ST: u8 = 0x02;
/// Class: store a register.
pub const CLASS_STX: u8 = 0x03;
/// Class: 32-bit arithmetic.
pub const CLASS_ALU: u8 = 0x04;
/// Class: jump with 64-bit comparison.
pub const CLASS_JMP: u8 = 0x05;
/// Class: jump with 32-bit comparison.
pub const CLASS_JMP32: u8 = 0x06;
/// Class: 64-bit arithmetic.
pub const CLASS_ALU64: u8 = 0x07;

// Width of a load or store, in the two bits above the class.
/// Size: 4 bytes.
pub const SIZE_W: u8 = 0x00;
/// Size: 2 bytes.
pub const SIZE_H: u8 = 0x08;
/// Size: 1 byte.
pub const SIZE_B: u8 = 0x10;
/// Size: 8 bytes.
pub const SIZE_DW: u8 = 0x18;

// Mode of a load or store, in the high three bits.
/// Mode: 64-bit immediate.
pub const MODE_IMM: u8 = 0x00;
/// Mode: packet load at a constant offset (classic BPF).
pub const MODE_ABS: u8 = 0x20;
/// Mode: packet load at a variable offset (classic BPF).
pub const MODE_IND: u8 = 0x40;
/// Mode: memory.
pub const MODE_MEM: u8 = 0x60;
/// Mode: memory, sign-extended.
pub const MODE_MEMSX: u8 = 0x80;
/// Mode: atomic operation.
pub const MODE_ATOMIC: u8 = 0xc0;

/// Second operand of arithmetic and jumps: a register instead of the immediate.
pub const FROM_REG: u8 = 0x08;

// Arithmetic, in the high four bits.
/// Addition.
pub const ADD: u8 = 0x00;
/// Subtraction.
pub const SUB: u8 = 0x10;
/// Multiplication.
pub const MUL: u8 = 0x20;
/// Division.
pub const DIV: u8 = 0x30;
/// Bitwise or.
pub const OR: u8 = 0x40;
/// Bitwise and.
pub const AND: u8 = 0x50;
/// Left shift.
pub const LSH: u8 = 0x60;
/// Logical right shift.
pub const RSH: u8 = 0x70;
/// Negation.
pub const NEG: u8 = 0x80;
/// Remainder.
pub const MOD: u8 = 0x90;
/// Bitwise exclusive or.
pub const XOR: u8 = 0xa0;
/// Move.
pub const MOV: u8 = 0xb0;
/// Arithmetic right shift.
pub const ARSH: u8 = 0xc0;
/// Byte swap.
pub const END: u8 = 0xd0;

// Jumps, in the high four bits.
/// Unconditional jump.
pub const JA: u8 = 0x00;
/// Jump if equal.
pub const JEQ: u8 = 0x10;
/// Jump if greater, unsigned.
pub const JGT: u8 = 0x20;
/// Jump if greater or equal, unsigned.
pub const JGE: u8 = 0x30;
/// Jump if any common bit is set.
pub const JSET: u8 = 0x40;
/// Jump if not equal.
pub const JNE: u8 = 0x50;
/// Jump if greater, signed.
pub const JSGT: u8 = 0x60;
/// Jump if greater or equal, signed.
pub const JSGE: u8 = 0x70;
/// Jump if less, unsigned.
pub const JLT: u8 = 0xa0;
/// Jump if less or equal, unsigned.
pub const JLE: u8 = 0xb0;
/// Jump if less, signed.
pub const JSLT: u8 = 0xc0;
/// Jump if less or equal, signed.
pub const JSLE: u8 = 0xd0;
/// Conditional jump of the verifier (`may_goto`).
pub const JCOND: u8 = 0xe0;

// Atomic operations, in the immediate; the arithmetic ones are the codes above.
/// Atomic modifier: return the old value.
pub const FETCH: i32 = 0x01;
/// Atomic exchange.
pub const XCHG: i32 = 0xe1;
/// Atomic compare and exchange.
pub const CMPXCHG: i32 = 0xf1;
/// Load with acquire ordering.
pub const LOAD_ACQUIRE: i32 = 0x100;
/// Store with release ordering.
pub const STORE_RELEASE: i32 = 0x110;

// Whole codes that are named often.
/// Operation code of the 64-bit load, which takes two slots.
pub const LD_IMM64: u8 = 0x18;
/// Operation code of a call.
pub const CALL: u8 = 0x85;
/// Operation code of an exit.
pub const EXIT: u8 = 0x95;

// Values of `src` in a wide load.
/// In `src` of a 64-bit load: the descriptor of a map.
pub const PSEUDO_MAP_FD: u8 = 1;
/// In `src` of a 64-bit load: an address in the value of a map.
pub const PSEUDO_MAP_VALUE: u8 = 2;
/// In `src` of a 64-bit load: a kernel variable by type id.
pub const PSEUDO_BTF_ID: u8 = 3;
/// In `src` of a 64-bit load: a function of the program.
pub const PSEUDO_FUNC: u8 = 4;

// Values of `src` in a call.
/// In `src` of a call: a function of the program.
pub const PSEUDO_CALL: u8 = 1;
/// In `src` of a call: a kernel function.
pub const PSEUDO_KFUNC_CALL: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_both_ways() {
        let raw = [0x61, 0x12, 0xfc, 0xff, 0x78, 0x56, 0x34, 0x12];
        let insn = Insn::from_bytes(raw);
        assert_eq!(insn, Insn::new(0x61, 2, 1, -4, 0x1234_5678));
        assert_eq!(insn.to_bytes(), raw);
    }
}
