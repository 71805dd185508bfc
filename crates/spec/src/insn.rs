//! One BPF instruction slot, as the kernel and every object file lay it out: eight bytes.
//!
//! A 64-bit immediate load takes two slots, so positions and jump distances everywhere in this
//! crate count *slots*. Names of codes are those of `include/uapi/linux/bpf.h`.
//! Not here: building (`asm`), printing (`disasm`).

use std::fmt;

/// One eight-byte slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Insn {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub off: i16,
    pub imm: i32,
}

impl Insn {
    pub const SIZE: usize = 8;

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

    /// A call of a helper, a kfunc or a BPF function, told apart by `src`.
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
pub const CLASS_LD: u8 = 0x00;
pub const CLASS_LDX: u8 = 0x01;
pub const CLASS_ST: u8 = 0x02;
pub const CLASS_STX: u8 = 0x03;
pub const CLASS_ALU: u8 = 0x04;
pub const CLASS_JMP: u8 = 0x05;
pub const CLASS_JMP32: u8 = 0x06;
pub const CLASS_ALU64: u8 = 0x07;

// Width of a load or store, in the two bits above the class.
pub const SIZE_W: u8 = 0x00;
pub const SIZE_H: u8 = 0x08;
pub const SIZE_B: u8 = 0x10;
pub const SIZE_DW: u8 = 0x18;

// Mode of a load or store, in the high three bits.
pub const MODE_IMM: u8 = 0x00;
pub const MODE_ABS: u8 = 0x20;
pub const MODE_IND: u8 = 0x40;
pub const MODE_MEM: u8 = 0x60;
pub const MODE_MEMSX: u8 = 0x80;
pub const MODE_ATOMIC: u8 = 0xc0;

/// Second operand of arithmetic and jumps: a register instead of the immediate.
pub const FROM_REG: u8 = 0x08;

// Arithmetic, in the high four bits.
pub const ADD: u8 = 0x00;
pub const SUB: u8 = 0x10;
pub const MUL: u8 = 0x20;
pub const DIV: u8 = 0x30;
pub const OR: u8 = 0x40;
pub const AND: u8 = 0x50;
pub const LSH: u8 = 0x60;
pub const RSH: u8 = 0x70;
pub const NEG: u8 = 0x80;
pub const MOD: u8 = 0x90;
pub const XOR: u8 = 0xa0;
pub const MOV: u8 = 0xb0;
pub const ARSH: u8 = 0xc0;
pub const END: u8 = 0xd0;

// Jumps, in the high four bits.
pub const JA: u8 = 0x00;
pub const JEQ: u8 = 0x10;
pub const JGT: u8 = 0x20;
pub const JGE: u8 = 0x30;
pub const JSET: u8 = 0x40;
pub const JNE: u8 = 0x50;
pub const JSGT: u8 = 0x60;
pub const JSGE: u8 = 0x70;
pub const JLT: u8 = 0xa0;
pub const JLE: u8 = 0xb0;
pub const JSLT: u8 = 0xc0;
pub const JSLE: u8 = 0xd0;
pub const JCOND: u8 = 0xe0;

// Atomic operations, in the immediate; the arithmetic ones are the codes above.
pub const FETCH: i32 = 0x01;
pub const XCHG: i32 = 0xe1;
pub const CMPXCHG: i32 = 0xf1;
pub const LOAD_ACQUIRE: i32 = 0x100;
pub const STORE_RELEASE: i32 = 0x110;

// Whole codes that are named often.
pub const LD_IMM64: u8 = 0x18;
pub const CALL: u8 = 0x85;
pub const EXIT: u8 = 0x95;

// Values of `src` in a wide load.
pub const PSEUDO_MAP_FD: u8 = 1;
pub const PSEUDO_MAP_VALUE: u8 = 2;
pub const PSEUDO_BTF_ID: u8 = 3;
pub const PSEUDO_FUNC: u8 = 4;

// Values of `src` in a call.
pub const PSEUDO_CALL: u8 = 1;
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
