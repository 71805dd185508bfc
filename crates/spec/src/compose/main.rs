//! The generated main function, with the programs' code inlined or appended.
//!
//! An inlined program uses all registers, so main's own data is at the top of the stack, and in the
//! value of the verdict map, which main looks up once for a packet:
//!
//! ```text
//!  r10 -8   this CPU's value of the verdict map; before that the key
//!  r10 -16  context, where it is needed again
//!  r10 -24  the final verdict, for a probe
//! ```
//!
//! Code that few packets run, for other verdicts than the usual one and for timed packets, is not
//! between the programs but after them, where a jump reaches it.

use super::inline::{LONGEST, body, entry_end, helper, refers_to_function};
use super::timing::{self, Detour};
use super::verdicts::{ENTRIES, LENGTH, count};
use super::{Counters, Link, LinkCounter, MAIN, VerdictSet, XDP_HAS_FRAGS};
use crate::asm::{Assembler, Cond, Error, Helper, Label, MemRef, Note, Reg, Reg::*};
use crate::insn::{EXIT, Insn, PSEUDO_KFUNC_CALL};
use crate::model::{Program, ProgramKind};
use crate::runtime::Verdict;

const KEY: MemRef = R10.at(-4);
const COUNTERS: MemRef = R10.at(-8);
const CONTEXT: MemRef = R10.at(-16);
const VERDICT: MemRef = R10.at(-24);

/// Binary logarithm of the size of a counter.
const COUNT_SHIFT: i32 = 4;
/// Slots of [`Deferred`] code, and of main's code for one program, at most.
const DEFERRED_SLOTS: usize = 40;

/// Main and the programs' code; what that refers to is still that of its objects.
pub struct Code {
    /// The main function with all code that it needs.
    pub program: Program,
    /// One for each program.
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

/// What is counted, and where.
#[derive(Clone, Copy, Debug)]
pub struct Counting<'a> {
    /// Number of the verdict map; `None` if nothing is counted.
    pub map: Option<usize>,
    pub counters: &'a Counters,
}

impl Counting<'_> {
    fn of_link(&self, number: usize) -> LinkCounter {
        self.counters.of_link[number]
    }

    fn is_timed(&self) -> bool {
        self.map.is_some() && self.counters.timed
    }
}

/// Writes main for these links. `programs` are theirs, followed by the two of a probe, if there is
/// one.
pub fn generate(
    links: &[Link<'_>],
    programs: &[&Program],
    kind: ProgramKind,
    counting: Counting<'_>,
    form: Form,
) -> Result<Code, Error> {
    let frags = kind.flags & XDP_HAS_FRAGS != 0;
    let has_probe = programs.len() > links.len();
    let keeps_context = has_probe || links.len() > 1;
    let mut writer = Writer {
        asm: Assembler::new(MAIN, kind),
        frags,
        keeps_context,
        has_probe,
        leaving: None,
        deferred: Vec::new(),
        cleared: 0,
        counting,
        form,
        notes: Vec::new(),
    };
    let reserve = match (has_probe, keeps_context) {
        (true, _) => 24,
        (false, true) => 16,
        (false, false) => 8,
    };
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

/// Code that few packets run.
enum Deferred {
    /// The beginning of a timed packet. The counters are in this register.
    Begin(Reg, Detour),
    /// The end of a timed program with this slot.
    Timed(u32, Detour),
    /// Another verdict of the program with this number than the one to continue on.
    Other(usize, LinkCounter, Label),
}

struct Writer<'a> {
    asm: Assembler,
    frags: bool,
    keeps_context: bool,
    has_probe: bool,
    /// Where the packet goes after a final verdict, if there is a probe.
    leaving: Option<Label>,
    /// Code that is still to be written, and the slot after the last that was.
    deferred: Vec<(String, Deferred)>,
    cleared: usize,
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
        let (parts, probe) = parts.split_at(links.len());
        let before = self.prepare(links[0].program, probe.first());
        // The packet still has the stored length.
        let mut is_measured = false;
        for (number, (link, part)) in links.iter().zip(parts).enumerate() {
            let counter = self.counting.of_link(number);
            // A note without an instruction would have the place of the program's first line.
            let measures = counter.counts && !is_measured;
            self.clear_before(part);
            match measures {
                true => self.note(format!("length of the packet for {}", link.program)),
                false if number > 0 => self.note(format!("context for {}", link.program)),
                false => {}
            }
            if number > 0 {
                self.asm.load64(R1, CONTEXT);
            }
            if measures {
                self.length(number > 0);
            }
            if number == 0 {
                self.begin_timing(measures, link.program);
            }
            is_measured = (is_measured || measures) && !can_resize(programs[number]);
            starts.push(self.run(part));
            let last = number + 1 == links.len();
            let go_on = if last { VerdictSet::EMPTY } else { link.go_on };
            self.end(number, link.program, go_on);
        }
        self.write_deferred();
        starts.extend(before);
        starts.extend(probe.last().map(|after| self.leave_through(after)));
        starts
    }

    /// Runs the second program of a probe, and returns from main with the verdict in R0. R3 = the
    /// number of the program that gave it.
    fn leave_through(&mut self, after: &Part) -> usize {
        self.note("probe after the final verdict".to_owned());
        if let Some(leaving) = self.leaving.take() {
            self.asm.bind(leaving);
        }
        self.asm.store64(VERDICT, R0).mov32(R2, R0).load64(R1, CONTEXT);
        let start = self.run(after);
        self.asm.load64(R0, VERDICT).exit();
        start
    }

    /// Stores what main needs after the first program, and runs the first one of a probe, whose
    /// start it returns; R1 = the context.
    fn prepare(&mut self, first: &str, before: Option<&Part>) -> Option<usize> {
        if self.keeps_context || self.counting.map.is_some() {
            self.note(format!("context and counters for {first}"));
        }
        if self.keeps_context {
            self.asm.store64(CONTEXT, R1);
        }
        let start = before.map(|before| {
            let start = self.run(before);
            self.note(format!("counters for {first}"));
            self.asm.load64(R1, CONTEXT);
            start
        });
        self.find_counters();
        start
    }

    /// R1 = the context, before and after.
    fn find_counters(&mut self) {
        let Some(map) = self.counting.map else { return };
        let a = &mut self.asm;
        let found = a.label();
        a.mov(R6, R1).store32(KEY, 0).lookup(map, KEY).jump_if(R0, Cond::Ne, 0, found);
        // The entry exists; the verifier cannot know.
        a.verdict(Verdict::Aborted).bind(found).store64(COUNTERS, R0).mov(R1, R6);
    }

    /// Decides whether the packet is timed. R1 = the context, before and after; the counters are
    /// where [`find_counters`](Self::find_counters) or [`length`](Self::length) left them.
    fn begin_timing(&mut self, is_measured: bool, first: &str) {
        if !self.counting.is_timed() {
            return;
        }
        self.note(format!("time of {first}"));
        let counters = if is_measured { R3 } else { R0 };
        if !is_measured {
            self.asm.store64(counters.at(LENGTH), 0);
        }
        let detour = timing::count_down(&mut self.asm, counters);
        self.defer(format!("begin the time of {first}"), Deferred::Begin(counters, detour));
    }

    /// Ends a program with its verdict in R0: counts and times it, and continues after it on the
    /// verdicts in `go_on`.
    fn end(&mut self, number: usize, program: &str, go_on: VerdictSet) {
        let counter = self.counting.of_link(number);
        if counter.counts || self.counting.is_timed() {
            self.note(format!("count the verdict of {program}"));
            self.asm.load64(R1, COUNTERS);
        }
        if self.counting.is_timed() {
            let detour = timing::load_length(&mut self.asm);
            self.defer(format!("time of {program}"), Deferred::Timed(counter.slot, detour));
        }
        let next = self.finish(number, program, go_on);
        self.asm.bind(next);
    }

    fn defer(&mut self, note: String, code: Deferred) {
        self.deferred.push((note, code));
    }

    /// Writes what is deferred before a program, if a jump over that one would not reach it.
    fn clear_before(&mut self, part: &Part) {
        let body = if let Part::Inline(body) = part { body.len() } else { 1 };
        let own = DEFERRED_SLOTS * (self.deferred.len() + 2);
        let distance = self.asm.slot() - self.cleared + body + own;
        if self.deferred.is_empty() || distance <= LONGEST {
            return;
        }
        self.note("to the next program".to_owned());
        let over = self.asm.label();
        self.asm.jump(over);
        self.write_deferred();
        self.asm.bind(over);
    }

    fn write_deferred(&mut self) {
        for (note, code) in std::mem::take(&mut self.deferred) {
            self.note(note);
            match code {
                Deferred::Begin(counters, detour) => {
                    timing::begin(&mut self.asm, counters, detour);
                }
                Deferred::Timed(slot, detour) => timing::end(&mut self.asm, slot, detour),
                Deferred::Other(number, counter, label) => {
                    self.asm.bind(label);
                    self.count_any(counter);
                    self.leave(number);
                }
            }
        }
        self.cleared = self.asm.slot();
    }

    /// Stores the packet's length. R1 = the context, before and after; R3 = the counters after it.
    fn length(&mut self, may_be_timed: bool) {
        let a = &mut self.asm;
        if self.frags {
            // data_end ends the first fragment only.
            a.mov(R6, R1).call(Helper::XDP_GET_BUFF_LEN).mov(R1, R6).mov(R2, R0);
        } else {
            a.packet(R3, R2, R1).sub(R2, R3);
        }
        a.load64(R3, COUNTERS);
        if may_be_timed && self.counting.is_timed() {
            timing::keep_mark(a);
        }
        a.store64(R3.at(LENGTH), R2);
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

    /// Counts the verdict in R0, if wanted, at the counters in R1. Jumps to the returned label on
    /// the verdicts in `go_on`, and leaves main after any other.
    fn finish(&mut self, number: usize, program: &str, go_on: VerdictSet) -> Label {
        let (next, counter) = (self.asm.label(), self.counting.of_link(number));
        let mut verdicts = go_on.iter();
        if let (Some(only), None) = (verdicts.next(), verdicts.next()) {
            // Its counter is known, and most packets have this verdict.
            let other = self.asm.label();
            self.asm.jump32_if(R0, Cond::Ne, only as i32, other);
            if counter.counts {
                self.load_length();
                self.add(count(counter.slot, only as u32) as i16);
            }
            // The kernel removes this jump. Its verifier compares at the target what different
            // paths through the program left, when the verdict is of no further use.
            self.asm.jump(next);
            let note = format!("other verdicts of {program}");
            self.defer(note, Deferred::Other(number, counter, other));
            return next;
        }
        self.count_any(counter);
        if go_on == VerdictSet::from_iter(Verdict::ALL) {
            self.asm.jump32_if(R0, Cond::Le, Verdict::Redirect as i32, next);
        } else {
            for verdict in go_on.iter() {
                self.asm.jump32_if(R0, Cond::Eq, verdict as i32, next);
            }
        }
        self.leave(number);
        next
    }

    /// R3 = the packet's length, which timing has loaded already. R1 = the counters.
    fn load_length(&mut self) {
        if !self.counting.is_timed() {
            self.asm.load64(R3, R1.at(LENGTH));
        }
    }

    /// Leaves main with the verdict in R0 of the program with this number. The way to the probe is
    /// one jump for each program, because a jump over several may be too long.
    fn leave(&mut self, number: usize) {
        if !self.has_probe {
            self.asm.exit();
            return;
        }
        self.asm.mov(R3, number as i32);
        if let Some(earlier) = self.leaving.take() {
            self.asm.bind(earlier);
        }
        let onward = self.asm.label();
        self.asm.jump(onward);
        self.leaving = Some(onward);
    }

    /// Adds the packet to the counter of the verdict in R0, which may be any number.
    fn count_any(&mut self, counter: LinkCounter) {
        if !counter.counts {
            return;
        }
        let a = &mut self.asm;
        let known = a.label();
        let invalid = ENTRIES as i32 - 1;
        a.mov32(R2, R0).jump32_if(R2, Cond::Lt, invalid, known).mov32(R2, invalid).bind(known);
        self.load_length();
        self.asm.lsh(R2, COUNT_SHIFT).add(R1, R2);
        self.add(count(counter.slot, 0) as i16);
    }

    /// Adds the packet, of the length in R3, to the counter at R1 + `off`.
    fn add(&mut self, off: i16) {
        self.asm.count(R1.at(off), 1, R2).count(R1.at(off + 8), R3, R2);
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
