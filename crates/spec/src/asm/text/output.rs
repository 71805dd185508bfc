//! What has been read so far, and jumps whose labels may still come.

use std::collections::HashMap;

use super::Code;
use super::cursor::{Cursor, Result, Spot};
use super::token::{Kind, Token};
use crate::asm::Form;
use crate::insn::{Insn, LD_IMM64};

/// A program under construction.
#[derive(Debug, Default)]
pub(in crate::asm) struct Output<'a> {
    /// The code so far.
    pub code: Code,
    labels: HashMap<&'a str, Label>,
    /// Instructions whose targets are filled in at the end.
    pub patches: Vec<Patch<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Label {
    slot: usize,
    line: usize,
}

/// An instruction whose target is filled in later.
#[derive(Clone, Copy, Debug)]
pub(in crate::asm) struct Patch<'a> {
    /// The instruction.
    pub slot: usize,
    /// Where it points.
    pub target: Target<'a>,
    /// Where it carries the distance.
    pub form: Form,
}

impl Patch<'_> {
    /// Writes the distance into the instruction.
    pub fn write(&self, insn: &mut Insn, distance: i64) -> Result<()> {
        let (Target::Distance(_, spot) | Target::Label(spot)) = self.target;
        match self.form {
            Form::Near => {
                let too_far = |_| spot.error("a place within 32767 slots: `gotol` goes further");
                insn.off = i16::try_from(distance).map_err(too_far)?;
            }
            Form::Far | Form::Call | Form::Address => {
                let too_far = |_| spot.error("a distance of 32 bits");
                insn.imm = i32::try_from(distance).map_err(too_far)?;
            }
        }
        Ok(())
    }
}

/// The target of a jump or call.
#[derive(Clone, Copy, Debug)]
pub(in crate::asm) enum Target<'a> {
    /// Slots from the next one.
    Distance(i64, Spot<'a>),
    Label(Spot<'a>),
}

impl<'a> Output<'a> {
    /// Slot of the next instruction.
    pub fn slot(&self) -> usize {
        self.code.insns.len()
    }

    /// Appends an instruction.
    pub fn push(&mut self, insn: Insn) {
        self.code.insns.push(insn);
    }

    /// Both slots of a wide load.
    pub fn push_wide(&mut self, dst: u8, src: u8, low: i32, high: i32) {
        self.push(Insn::new(LD_IMM64, dst, src, 0, low));
        self.push(Insn::new(0, 0, 0, 0, high));
    }

    /// The target is about to be pushed, at the next slot.
    pub fn aim(&mut self, target: Target<'a>, form: Form) {
        self.patches.push(Patch { slot: self.slot(), target, form });
    }

    /// Defines a label here.
    pub fn label(&mut self, line: usize, spot: Spot<'a>) -> Result<()> {
        let label = Label { slot: self.slot(), line };
        match self.labels.insert(spot.token, label) {
            Some(first) => {
                Err(spot.error(format!("a new label: this one is in line {}", first.line)))
            }
            None => Ok(()),
        }
    }

    /// `exit` is a label too: the first of these instructions, unless the text defines its own.
    pub fn resolve(mut self) -> Result<Code> {
        let exit = self.code.insns.iter().position(|insn| insn.code == crate::insn::EXIT);
        for patch in std::mem::take(&mut self.patches) {
            let distance = match patch.target {
                Target::Distance(distance, _) => distance,
                Target::Label(spot) => {
                    let found = self.labels.get(spot.token).map(|label| label.slot);
                    let found = found.or(exit.filter(|_| spot.token == "exit"));
                    let to = found.ok_or_else(|| spot.error("a label of this text"))?;
                    to as i64 - patch.slot as i64 - 1
                }
            };
            patch.write(&mut self.code.insns[patch.slot], distance)?;
        }
        Ok(self.code)
    }
}

impl<'a> Cursor<'a> {
    /// `pc+3`, `+3`, `-0x2`, or a label; what disassemblers add (`<main+0x10>`, `#name`) is
    /// dropped.
    pub fn target(&mut self) -> Result<Target<'a>> {
        let sign = |token: Option<Token<'_>>| token.is_some_and(|t| ["+", "-"].contains(&t.text));
        if self.word() == "pc" && sign(self.ahead(1)) {
            self.skip(1);
        }
        let target = match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                self.skip(1);
                Target::Label(self.spot(token))
            }
            Some(token) if sign(Some(token)) => {
                let digits = self.ahead(1).unwrap_or(token);
                Target::Distance(self.distance()?, self.spot(digits))
            }
            _ => return Err(self.wrong("a label, or a distance such as +3")),
        };
        if matches!(self.word(), "<" | "#") {
            self.finish();
        }
        Ok(target)
    }
}
