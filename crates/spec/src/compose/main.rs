//! The generated main function, with the programs' code inlined or appended.
//!
//! Around one program without fragments main runs 4 instructions before and 17 after it. Its own
//! data is at the top of the stack, because an inlined program uses all registers:
//!
//! ```text
//!  r10 -4   key of the verdict counter
//!  r10 -8   length of the packet
//!  r10 -16  context, where it is needed again
//! ```

use super::inline::{body, entry_end, helper, refers_to_function};
use super::{ENTRIES, Link, MAIN, VerdictSet, XDP_HAS_FRAGS};
use crate::asm::{Assembler, Cond, Error, Helper, Label, MemRef, Note, Reg::*};
use crate::insn::{EXIT, Insn, PSEUDO_KFUNC_CALL};
use crate::model::{Program, ProgramKind};
use crate::runtime::Verdict;

const KEY: MemRef = R10.at(-4);
const LENGTH: MemRef = R10.at(-8);
const CONTEXT: MemRef = R10.at(-16);

/// Main and the programs' code; what that refers to is still that of its objects.
pub struct Code {
    /// The main function with all code that it needs.
    pub program: Program,
    /// One for each link.
    pub places: Vec<Place>,
    /// Notes for the source lines of the generated code.
    pub notes: Vec<Note>,
}

/// Where the code of a program went.
#[derive(Clone, Copy)]
pub struct Place {
    /// New slot of the entry function's first instruction.
    start: usize,
    /// Old slot after the entry function.
    end: usize,
    /// New slot of what stood there.
    rest: usize,
    /// Part of main, not a function of its own.
    pub inlined: bool,
    /// A function that is verified separately.
    pub global: bool,
}

impl Place {
    /// The new slot of an old one.
    pub fn of(self, slot: usize) -> usize {
        if slot < self.end { self.start + slot } else { self.rest + slot - self.end }
    }

    /// How much farther from the entry function the others are.
    fn gap(self) -> usize {
        self.rest - self.start - self.end
    }
}

/// How a program becomes part of main.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Part of main where that can be, else called.
    Inline,
    /// Called as a function that is verified separately.
    Call,
}

/// Where verdicts are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting<'a> {
    /// Number of the verdict map.
    pub map: usize,
    /// Number of each link's counter.
    pub of_link: &'a [Option<u32>],
}

pub fn generate(
    links: &[Link<'_>],
    programs: &[&Program],
    kind: ProgramKind,
    counting: Counting<'_>,
    form: Form,
) -> Result<Code, Error> {
    let frags = kind.flags & XDP_HAS_FRAGS != 0;
    let keeps_context = frags || links.len() > 1;
    let mut writer = Writer {
        asm: Assembler::new(MAIN, kind),
        frags,
        keeps_context,
        counting,
        form,
        notes: Vec::new(),
    };
    let reserve = if keeps_context { 16 } else { 8 };
    let parts: Vec<Part> = match form {
        Form::Inline => programs.iter().map(|program| writer.part(program, reserve)).collect(),
        Form::Call => programs.iter().map(|_| Part::Call(writer.asm.label())).collect(),
    };
    let starts = writer.main(links, programs, &parts);
    let mut places = Vec::new();
    for ((program, part), start) in programs.iter().zip(&parts).zip(starts) {
        places.push(writer.behind(program, part, start));
    }
    let mut program = writer.asm.finish()?;
    for place in &places {
        stretch(&mut program.insns, *place);
    }
    Ok(Code { program, places, notes: writer.notes })
}

/// Adjusts the calls from an entry function to the functions after it.
fn stretch(insns: &mut [Insn], place: Place) {
    let gap = place.gap() as i32;
    let entry = &mut insns[place.start..place.start + place.end];
    for insn in entry.iter_mut().filter(|insn| refers_to_function(**insn)) {
        insn.imm += gap;
    }
}

/// Whether packets may be longer or shorter after a program: by these helpers, by programs that it
/// tail-calls, or by a kernel function.
fn can_resize(program: &Program) -> bool {
    let resizing = [Helper::XDP_ADJUST_HEAD, Helper::XDP_ADJUST_TAIL, Helper::TAIL_CALL];
    program.insns.iter().any(|insn| match helper(*insn) {
        Some(called) => resizing.contains(&called),
        None => insn.is_call() && insn.src == PSEUDO_KFUNC_CALL,
    })
}

/// How main runs a program.
enum Part {
    Inline(Vec<Insn>),
    Call(Label),
}

struct Writer<'a> {
    asm: Assembler,
    frags: bool,
    keeps_context: bool,
    counting: Counting<'a>,
    form: Form,
    notes: Vec<Note>,
}

impl Writer<'_> {
    fn part(&mut self, program: &Program, reserve: i16) -> Part {
        body(program, reserve).map_or_else(|| Part::Call(self.asm.label()), Part::Inline)
    }

    /// Returns where inlined programs start; 0 for the others.
    fn main(&mut self, links: &[Link<'_>], programs: &[&Program], parts: &[Part]) -> Vec<usize> {
        let mut starts = Vec::new();
        // The packet still has the stored length.
        let mut is_measured = false;
        for (number, (link, part)) in links.iter().zip(parts).enumerate() {
            let counter = self.counting.of_link[number];
            // A note without an instruction would have the place of the program's first line.
            let measures = counter.is_some() && !is_measured;
            match measures {
                true => self.note(format!("length of the packet for {}", link.program)),
                false if self.keeps_context => self.note(format!("context for {}", link.program)),
                false => {}
            }
            self.context(number);
            if measures {
                self.length();
            }
            is_measured = (is_measured || measures) && !can_resize(programs[number]);
            starts.push(self.run(part));
            match counter {
                Some(counter) => {
                    self.note(format!("count the verdict of {}", link.program));
                    self.count(counter);
                }
                None => _ = self.asm.mov(R7, R0),
            }
            let last = number + 1 == links.len();
            self.leave(if last { VerdictSet::EMPTY } else { link.go_on });
        }
        starts
    }

    /// R1 = the context.
    fn context(&mut self, number: usize) {
        if number > 0 {
            self.asm.load64(R1, CONTEXT);
        } else if self.keeps_context {
            self.asm.store64(CONTEXT, R1);
        }
    }

    /// Stores the packet's length; R1 = the context.
    fn length(&mut self) {
        let a = &mut self.asm;
        if self.frags {
            // data_end ends the first fragment only.
            a.call(Helper::XDP_GET_BUFF_LEN).store32(LENGTH, R0).load64(R1, CONTEXT);
        } else {
            a.packet(R3, R2, R1).sub(R2, R3).store32(LENGTH, R2);
        }
    }

    /// R0 = the program's verdict.
    fn run(&mut self, part: &Part) -> usize {
        let start = self.asm.slot();
        match part {
            Part::Inline(body) => self.inline(body),
            Part::Call(label) => {
                self.asm.call_local(*label);
            }
        }
        start
    }

    fn inline(&mut self, body: &[Insn]) {
        let done = self.asm.label();
        let mut second = false;
        for insn in body {
            if insn.code == EXIT && !second {
                self.asm.jump(done);
            } else {
                self.asm.raw(*insn);
            }
            second = insn.is_wide() && !second;
        }
        self.asm.bind(done);
    }

    /// Adds the packet to the entry of the verdict in R0, and keeps that in R7. It may be any
    /// number, so the key is cut to the last entry first.
    fn count(&mut self, counter: u32) {
        let a = &mut self.asm;
        let [known, counted] = [a.label(), a.label()];
        let invalid = ENTRIES as i32 - 1;
        a.mov(R7, R0);
        a.jump32_if(R0, Cond::Lt, invalid, known).mov32(R0, invalid).bind(known);
        if counter > 0 {
            a.add32(R0, (counter * ENTRIES) as i32);
        }
        a.store32(KEY, R0);
        a.lookup(self.counting.map, KEY).jump_if(R0, Cond::Eq, 0, counted);
        a.count(R0.at(0), 1, R1).load32(R2, LENGTH).count(R0.at(8), R2, R1);
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

    /// Appends what main has not taken in: the functions of a program, or all of it.
    fn behind(&mut self, program: &Program, part: &Part, start: usize) -> Place {
        let end = entry_end(program);
        let first = self.asm.slot();
        let (place, code) = match part {
            Part::Inline(_) => {
                let place = Place { start, end, rest: first, inlined: true, global: false };
                (place, &program.insns[end..])
            }
            Part::Call(label) => {
                self.asm.function(*label, &program.name);
                let (rest, global) = (first + end, matches!(self.form, Form::Call));
                let place = Place { start: first, end, rest, inlined: false, global };
                (place, &program.insns[..])
            }
        };
        for insn in code {
            self.asm.raw(*insn);
        }
        place
    }

    fn note(&mut self, text: String) {
        self.notes.push(Note { slot: self.asm.slot(), text });
    }
}
