//! The generated main function, with the programs' code behind it.
//!
//! For one program without fragments: 3 instructions before the call, 13 after it. R6 holds the
//! packet's length, R7 the verdict, R8 the context where it is needed again.

use super::{ENTRIES, Link, MAIN, VerdictSet, XDP_HAS_FRAGS};
use crate::asm::{Assembler, Cond, Error, Helper, Label, Reg::*};
use crate::model::{Program, ProgramKind};
use crate::seam::Verdict;

/// Main and blocks in one program; what the blocks refer to is still that of their objects.
pub struct Code {
    pub program: Program,
    /// Slot of each link's code.
    pub starts: Vec<usize>,
    pub notes: Vec<Note>,
}

/// What a stretch of main is for.
pub struct Note {
    pub slot: usize,
    pub text: String,
}

/// `counters` is the number of the verdict map.
pub fn generate(
    links: &[Link<'_>],
    programs: &[&Program],
    kind: ProgramKind,
    counters: usize,
) -> Result<Code, Error> {
    let mut writer = Writer {
        asm: Assembler::new(MAIN, kind),
        frags: kind.flags & XDP_HAS_FRAGS != 0,
        several: links.len() > 1,
        counters,
        notes: Vec::new(),
    };
    let labels: Vec<Label> = programs.iter().map(|_| writer.asm.label()).collect();
    writer.main(links, &labels);
    let mut starts = Vec::new();
    for (program, label) in programs.iter().zip(labels) {
        starts.push(writer.asm.slot());
        writer.asm.function(label, &program.name);
        for insn in &program.insns {
            writer.asm.raw(*insn);
        }
    }
    Ok(Code { program: writer.asm.finish()?, starts, notes: writer.notes })
}

struct Writer {
    asm: Assembler,
    frags: bool,
    several: bool,
    counters: usize,
    notes: Vec<Note>,
}

impl Writer {
    fn main(&mut self, links: &[Link<'_>], labels: &[Label]) {
        for (number, (link, label)) in links.iter().zip(labels).enumerate() {
            self.note(format!("length of the packet, and call of {}", link.program));
            self.length(number);
            self.asm.call_local(*label).mov(R7, R0);
            self.note(format!("count the verdict of {}", link.program));
            self.count(number);
            let last = number + 1 == links.len();
            self.leave(if last { VerdictSet::EMPTY } else { link.go_on });
        }
    }

    /// R6 = the packet's length, R1 = the context.
    fn length(&mut self, number: usize) {
        let a = &mut self.asm;
        if number > 0 {
            a.mov(R1, R8);
        } else if self.several || self.frags {
            a.mov(R8, R1);
        }
        if self.frags {
            // data_end ends the first fragment only.
            a.call(Helper::XDP_GET_BUFF_LEN).mov(R6, R0).mov(R1, R8);
        } else {
            a.load32(R6, R1.at(4)).load32(R2, R1.at(0)).sub(R6, R2);
        }
    }

    /// Adds one packet and R6 bytes to the entry of the verdict in R0. The key may be any return
    /// value, so it is cut to the last entry first.
    fn count(&mut self, number: usize) {
        let a = &mut self.asm;
        let [known, counted] = [a.label(), a.label()];
        let invalid = ENTRIES as i32 - 1;
        a.jump32_if(R0, Cond::Lt, invalid, known).mov32(R0, invalid).bind(known);
        if number > 0 {
            a.add32(R0, number as i32 * ENTRIES as i32);
        }
        a.store32(R10.at(-4), R0);
        a.lookup(self.counters, R10.at(-4)).jump_if(R0, Cond::Eq, 0, counted);
        a.count(R0.at(0), 1, R1).count(R0.at(8), R6, R1);
        a.bind(counted);
    }

    /// Falls through after the verdicts in `go_on`, returns the verdict after any other.
    fn leave(&mut self, go_on: VerdictSet) {
        let next = self.asm.label();
        if go_on == VerdictSet::from_iter(Verdict::ALL) {
            self.asm.jump32_if(R7, Cond::Le, Verdict::Redirect as i32, next);
        } else {
            for verdict in go_on.iter() {
                self.asm.jump32_if(R7, Cond::Eq, verdict as i32, next);
            }
        }
        self.asm.mov(R0, R7).exit().bind(next);
    }

    fn note(&mut self, text: String) {
        self.notes.push(Note { slot: self.asm.slot(), text });
    }
}
