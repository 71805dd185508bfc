//! Loads, stores and atomic operations.
//!
//! A place is written `R1.at(4)`: four bytes after the address in R1. Values are in the machine's
//! byte order. Sign-extending loads need Linux 6.6, acquire and release 6.15.

use super::{Assembler, MemRef, Operand, Reg};
use crate::insn::{
    ADD, AND, CLASS_LDX, CLASS_ST, CLASS_STX, CMPXCHG, FETCH, LD_IMM64, LOAD_ACQUIRE, MODE_ATOMIC,
    MODE_MEM, MODE_MEMSX, OR, SIZE_B, SIZE_DW, SIZE_H, SIZE_W, STORE_RELEASE, XCHG, XOR,
};

/// Bytes that a load or store moves: 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    Byte,
    Half,
    Word,
    Double,
}

impl Size {
    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Byte => SIZE_B,
            Self::Half => SIZE_H,
            Self::Word => SIZE_W,
            Self::Double => SIZE_DW,
        }
    }
}

/// Bits that an atomic operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    W32,
    W64,
}

/// An atomic read-modify-write. The fetching ones leave the old value in the source register;
/// `CmpXchg` compares with R0 and leaves the old value there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomic {
    Add,
    Or,
    And,
    Xor,
    FetchAdd,
    FetchOr,
    FetchAnd,
    FetchXor,
    Xchg,
    CmpXchg,
}

impl Atomic {
    const fn code(self) -> i32 {
        match self {
            Self::Add => ADD as i32,
            Self::Or => OR as i32,
            Self::And => AND as i32,
            Self::Xor => XOR as i32,
            Self::FetchAdd => ADD as i32 | FETCH,
            Self::FetchOr => OR as i32 | FETCH,
            Self::FetchAnd => AND as i32 | FETCH,
            Self::FetchXor => XOR as i32 | FETCH,
            Self::Xchg => XCHG,
            Self::CmpXchg => CMPXCHG,
        }
    }
}

impl Assembler {
    /// `dst = *(size *)at`, the rest of the register cleared.
    pub fn load(&mut self, size: Size, dst: Reg, at: MemRef) -> &mut Self {
        self.op(CLASS_LDX | MODE_MEM | size.code(), dst, at.base, at.off, 0)
    }

    /// Loads a byte, zero-extended.
    pub fn load8(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load(Size::Byte, dst, at)
    }

    /// Loads 16 bits, zero-extended.
    pub fn load16(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load(Size::Half, dst, at)
    }

    /// Loads 32 bits, zero-extended.
    pub fn load32(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load(Size::Word, dst, at)
    }

    /// Loads 64 bits.
    pub fn load64(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load(Size::Double, dst, at)
    }

    /// `dst = *(s8 *)at`
    pub fn load_s8(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load_signed(Size::Byte, dst, at)
    }

    /// `dst = *(s16 *)at`
    pub fn load_s16(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load_signed(Size::Half, dst, at)
    }

    /// `dst = *(s32 *)at`
    pub fn load_s32(&mut self, dst: Reg, at: MemRef) -> &mut Self {
        self.load_signed(Size::Word, dst, at)
    }

    /// `*(size *)at = value`; an immediate is sign-extended to eight bytes.
    pub fn store(&mut self, size: Size, at: MemRef, value: impl Into<Operand>) -> &mut Self {
        let code = MODE_MEM | size.code();
        match value.into() {
            Operand::Reg(src) => self.op(CLASS_STX | code, at.base, src, at.off, 0),
            Operand::Imm(imm) => self.op(CLASS_ST | code, at.base, Reg::R0, at.off, imm),
        }
    }

    /// Stores the low byte of a register or an immediate.
    pub fn store8(&mut self, at: MemRef, value: impl Into<Operand>) -> &mut Self {
        self.store(Size::Byte, at, value)
    }

    /// Stores the low 16 bits of a register or an immediate.
    pub fn store16(&mut self, at: MemRef, value: impl Into<Operand>) -> &mut Self {
        self.store(Size::Half, at, value)
    }

    /// Stores the low 32 bits of a register or an immediate.
    pub fn store32(&mut self, at: MemRef, value: impl Into<Operand>) -> &mut Self {
        self.store(Size::Word, at, value)
    }

    /// Stores a register, or an immediate with its sign extended.
    pub fn store64(&mut self, at: MemRef, value: impl Into<Operand>) -> &mut Self {
        self.store(Size::Double, at, value)
    }

    /// One indivisible step on memory that other CPUs share.
    pub fn atomic(&mut self, atomic: Atomic, width: Width, at: MemRef, src: Reg) -> &mut Self {
        let size = match width {
            Width::W32 => SIZE_W,
            Width::W64 => SIZE_DW,
        };
        self.op(CLASS_STX | MODE_ATOMIC | size, at.base, src, at.off, atomic.code())
    }

    /// Loads before everything that follows in the program.
    pub fn load_acquire(&mut self, size: Size, dst: Reg, at: MemRef) -> &mut Self {
        self.op(CLASS_STX | MODE_ATOMIC | size.code(), dst, at.base, at.off, LOAD_ACQUIRE)
    }

    /// Stores after everything that precedes in the program.
    pub fn store_release(&mut self, size: Size, at: MemRef, src: Reg) -> &mut Self {
        self.op(CLASS_STX | MODE_ATOMIC | size.code(), at.base, src, at.off, STORE_RELEASE)
    }

    /// `dst = value`, in two slots.
    pub fn load_imm64(&mut self, dst: Reg, value: u64) -> &mut Self {
        let [low, high] = [value as u32, (value >> 32) as u32];
        self.wide(dst, 0, low.cast_signed(), high.cast_signed())
    }

    pub(super) fn wide(&mut self, dst: Reg, pseudo: u8, low: i32, high: i32) -> &mut Self {
        self.raw(crate::Insn::new(LD_IMM64, dst.number(), pseudo, 0, low));
        self.raw(crate::Insn::new(0, 0, 0, 0, high))
    }

    fn load_signed(&mut self, size: Size, dst: Reg, at: MemRef) -> &mut Self {
        self.op(CLASS_LDX | MODE_MEMSX | size.code(), dst, at.base, at.off, 0)
    }
}
