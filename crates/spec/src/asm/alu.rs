//! Arithmetic, moves and byte order.
//!
//! A 32-bit operation works on the low half of a register and clears the high half. An immediate
//! of a 64-bit operation is sign-extended. Signed division and modulo, sign-extending moves and
//! `bswap` need Linux 6.6; everything else runs on 5.15.

use super::{Assembler, Operand, Reg};
use crate::insn::{
    ADD, AND, ARSH, CLASS_ALU, CLASS_ALU64, DIV, END, FROM_REG, LSH, MOD, MOV, MUL, NEG, OR, RSH,
    SUB, XOR,
};

/// A two-operand arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alu {
    Add,
    Sub,
    Mul,
    /// Unsigned; by zero gives zero.
    Div,
    Or,
    And,
    Lsh,
    /// Shifts in zeros.
    Rsh,
    /// Unsigned; by zero leaves the first operand.
    Mod,
    Xor,
    Mov,
    /// Shifts in the sign.
    Arsh,
    /// Signed.
    Sdiv,
    /// Signed.
    Smod,
}

impl Alu {
    /// Operation bits, and the offset that distinguishes signed division from unsigned.
    const fn code(self) -> (u8, i16) {
        match self {
            Self::Add => (ADD, 0),
            Self::Sub => (SUB, 0),
            Self::Mul => (MUL, 0),
            Self::Div => (DIV, 0),
            Self::Or => (OR, 0),
            Self::And => (AND, 0),
            Self::Lsh => (LSH, 0),
            Self::Rsh => (RSH, 0),
            Self::Mod => (MOD, 0),
            Self::Xor => (XOR, 0),
            Self::Mov => (MOV, 0),
            Self::Arsh => (ARSH, 0),
            Self::Sdiv => (DIV, 1),
            Self::Smod => (MOD, 1),
        }
    }
}

/// A macro because only a macro makes methods: one of each width for each operation.
macro_rules! operations {
    ($($name:ident $name32:ident $alu:ident $text:literal;)*) => {
        impl Assembler {$(
            #[doc = concat!("`r ", $text, " operand`")]
            pub fn $name(&mut self, dst: Reg, by: impl Into<Operand>) -> &mut Self {
                self.alu(Alu::$alu, dst, by)
            }

            #[doc = concat!("`w ", $text, " operand`")]
            pub fn $name32(&mut self, dst: Reg, by: impl Into<Operand>) -> &mut Self {
                self.alu32(Alu::$alu, dst, by)
            }
        )*}
    };
}

operations! {
    mov mov32 Mov "=";
    add add32 Add "+=";
    sub sub32 Sub "-=";
    mul mul32 Mul "*=";
    div div32 Div "/=";
    rem rem32 Mod "%=";
    sdiv sdiv32 Sdiv "s/=";
    srem srem32 Smod "s%=";
    or or32 Or "|=";
    and and32 And "&=";
    xor xor32 Xor "^=";
    lsh lsh32 Lsh "<<=";
    rsh rsh32 Rsh ">>=";
    arsh arsh32 Arsh "s>>=";
}

impl Assembler {
    /// A 64-bit operation.
    pub fn alu(&mut self, alu: Alu, dst: Reg, by: impl Into<Operand>) -> &mut Self {
        self.arithmetic(CLASS_ALU64, alu, dst, by.into())
    }

    /// A 32-bit operation.
    pub fn alu32(&mut self, alu: Alu, dst: Reg, by: impl Into<Operand>) -> &mut Self {
        self.arithmetic(CLASS_ALU, alu, dst, by.into())
    }

    /// `r = -r`
    pub fn neg(&mut self, dst: Reg) -> &mut Self {
        self.op(CLASS_ALU64 | NEG, dst, Reg::R0, 0, 0)
    }

    /// `w = -w`
    pub fn neg32(&mut self, dst: Reg) -> &mut Self {
        self.op(CLASS_ALU | NEG, dst, Reg::R0, 0, 0)
    }

    /// `dst = (s8)src`
    pub fn mov_s8(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.extend(CLASS_ALU64, dst, src, 8)
    }

    /// `dst = (s16)src`
    pub fn mov_s16(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.extend(CLASS_ALU64, dst, src, 16)
    }

    /// `dst = (s32)src`
    pub fn mov_s32(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.extend(CLASS_ALU64, dst, src, 32)
    }

    /// `dst = (s8)src` in 32 bits
    pub fn mov32_s8(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.extend(CLASS_ALU, dst, src, 8)
    }

    /// `dst = (s16)src` in 32 bits
    pub fn mov32_s16(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.extend(CLASS_ALU, dst, src, 16)
    }

    /// To or from network order, and cuts to 16 bits.
    pub fn be16(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU | FROM_REG, dst, 16)
    }

    /// To or from network order, and cuts to 32 bits.
    pub fn be32(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU | FROM_REG, dst, 32)
    }

    /// To or from network order.
    pub fn be64(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU | FROM_REG, dst, 64)
    }

    /// To or from little-endian, and cuts to 16 bits.
    pub fn le16(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU, dst, 16)
    }

    /// To or from little-endian, and cuts to 32 bits.
    pub fn le32(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU, dst, 32)
    }

    /// To or from little-endian.
    pub fn le64(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU, dst, 64)
    }

    /// Swaps two bytes on any machine, and cuts to 16 bits.
    pub fn bswap16(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU64, dst, 16)
    }

    /// Swaps four bytes on any machine, and cuts to 32 bits.
    pub fn bswap32(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU64, dst, 32)
    }

    /// Swaps eight bytes on any machine.
    pub fn bswap64(&mut self, dst: Reg) -> &mut Self {
        self.order(CLASS_ALU64, dst, 64)
    }

    fn arithmetic(&mut self, class: u8, alu: Alu, dst: Reg, by: Operand) -> &mut Self {
        let (code, off) = alu.code();
        match by {
            Operand::Reg(src) => self.op(class | code | FROM_REG, dst, src, off, 0),
            Operand::Imm(imm) => self.op(class | code, dst, Reg::R0, off, imm),
        }
    }

    fn extend(&mut self, class: u8, dst: Reg, src: Reg, bits: i16) -> &mut Self {
        self.op(class | MOV | FROM_REG, dst, src, bits, 0)
    }

    fn order(&mut self, class: u8, dst: Reg, bits: i32) -> &mut Self {
        self.op(class | END, dst, Reg::R0, 0, bits)
    }
}
