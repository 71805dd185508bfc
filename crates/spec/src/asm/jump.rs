//! Jumps within a function, and the exit.
//!
//! A distance must fit 16 bits; [`Assembler::jump_far`] takes 32 and needs Linux 6.6,
//! `may_goto` 6.9. Backward jumps are fine where the verifier sees that the loop ends.

use super::{Assembler, Form, Label, Operand, Reg};
use crate::insn::{
    CLASS_JMP, CLASS_JMP32, EXIT, FROM_REG, JA, JCOND, JEQ, JGE, JGT, JLE, JLT, JNE, JSET, JSGE,
    JSGT, JSLE, JSLT,
};

/// When a conditional jump is taken. `S…` compare signed; `Set` asks for a common bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cond {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    Set,
    Sgt,
    Sge,
    Slt,
    Sle,
}

impl Cond {
    const fn code(self) -> u8 {
        match self {
            Self::Eq => JEQ,
            Self::Ne => JNE,
            Self::Gt => JGT,
            Self::Ge => JGE,
            Self::Lt => JLT,
            Self::Le => JLE,
            Self::Set => JSET,
            Self::Sgt => JSGT,
            Self::Sge => JSGE,
            Self::Slt => JSLT,
            Self::Sle => JSLE,
        }
    }
}

impl Assembler {
    /// Jumps unconditionally.
    pub fn jump(&mut self, to: Label) -> &mut Self {
        self.patch(to, Form::Near);
        self.op(CLASS_JMP | JA, Reg::R0, Reg::R0, 0, 0)
    }

    /// `gotol`: a jump of any distance.
    pub fn jump_far(&mut self, to: Label) -> &mut Self {
        self.patch(to, Form::Far);
        self.op(CLASS_JMP32 | JA, Reg::R0, Reg::R0, 0, 0)
    }

    /// Jumps when all 64 bits of `left` compare so with `right`.
    pub fn jump_if(
        &mut self,
        left: Reg,
        cond: Cond,
        right: impl Into<Operand>,
        to: Label,
    ) -> &mut Self {
        self.compare(CLASS_JMP | cond.code(), left, right.into(), to)
    }

    /// Jumps when the low 32 bits of `left` compare so with `right`.
    pub fn jump32_if(
        &mut self,
        left: Reg,
        cond: Cond,
        right: impl Into<Operand>,
        to: Label,
    ) -> &mut Self {
        self.compare(CLASS_JMP32 | cond.code(), left, right.into(), to)
    }

    /// The kernel may take this jump to end a loop that runs too long.
    pub fn may_goto(&mut self, to: Label) -> &mut Self {
        self.patch(to, Form::Near);
        self.op(CLASS_JMP | JCOND, Reg::R0, Reg::R0, 0, 0)
    }

    /// Returns R0 to the caller: the verdict, in the entry function.
    pub fn exit(&mut self) -> &mut Self {
        self.op(EXIT, Reg::R0, Reg::R0, 0, 0)
    }

    fn compare(&mut self, code: u8, left: Reg, right: Operand, to: Label) -> &mut Self {
        self.patch(to, Form::Near);
        match right {
            Operand::Reg(src) => self.op(code | FROM_REG, left, src, 0, 0),
            Operand::Imm(imm) => self.op(code, left, Reg::R0, 0, imm),
        }
    }
}
