//! What instructions work on: registers, immediates, places in memory.
//!
//! Only values that fit their field can be expressed: an immediate is any value that widens to
//! `i32` without loss, since 64-bit arithmetic extends its sign.

use std::fmt;

/// A register. `R10` is the frame pointer, which programs may only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

impl Reg {
    /// All registers, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::R0,
        Self::R1,
        Self::R2,
        Self::R3,
        Self::R4,
        Self::R5,
        Self::R6,
        Self::R7,
        Self::R8,
        Self::R9,
        Self::R10,
    ];

    /// Number of the register in an instruction.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The memory `off` bytes from where this register points.
    pub const fn at(self, off: i16) -> MemRef {
        MemRef { base: self, off }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.number())
    }
}

/// A memory operand: a base register and an offset. Created by [`Reg::at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemRef {
    /// The register that holds the address.
    pub base: Reg,
    /// Offset in bytes from that address.
    pub off: i16,
}

/// The second operand of arithmetic, jumps and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Reg(Reg),
    Imm(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(imm: i32) -> Self {
        Self::Imm(imm)
    }
}

impl From<i16> for Operand {
    fn from(imm: i16) -> Self {
        Self::Imm(imm.into())
    }
}

impl From<u16> for Operand {
    fn from(imm: u16) -> Self {
        Self::Imm(imm.into())
    }
}

impl From<u8> for Operand {
    fn from(imm: u8) -> Self {
        Self::Imm(imm.into())
    }
}
