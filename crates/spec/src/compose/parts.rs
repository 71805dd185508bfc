//! A program as functions that know each other by number, so that they can be changed and moved.
//!
//! Rule: slots in a part count from its first instruction; distances between parts do not exist
//! until the program is put together again.

use super::inline::{distance, refers_to_function, with_distance};
use crate::asm::Fragment;
use crate::disasm::slots;
use crate::insn::Insn;
use crate::model::{Fixup, Function, Line, Program, Unresolved};

/// One function.
#[derive(Clone)]
pub struct Part {
    /// Its name and type.
    pub function: Function,
    /// The instructions.
    pub insns: Vec<Insn>,
    /// Slots that call or name a function, and which.
    pub calls: Vec<(usize, Callee)>,
    /// References to maps and symbols.
    pub fixups: Vec<Fixup>,
    /// Source lines.
    pub lines: Vec<Line>,
    /// Field relocations that the target lacks.
    pub unresolved: Vec<Unresolved>,
}

/// A function that another one refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    Part(usize),
    /// Not known yet.
    Named(String),
}

/// Code to put before an instruction.
pub struct Inserted {
    /// The instruction.
    pub slot: usize,
    pub insns: Vec<Insn>,
    /// Its references, by slots that count from its first instruction.
    pub fixups: Vec<Fixup>,
}

/// All functions of a program, the entry first.
pub fn take_apart(program: &Program) -> Vec<Part> {
    let mut functions = program.functions.clone();
    if functions.first().is_none_or(|first| first.slot != 0) {
        functions.insert(0, Function { name: program.name.clone(), ..Function::default() });
    }
    let starts: Vec<usize> = functions.iter().map(|function| function.slot).collect();
    let ends = starts[1..].iter().copied().chain([program.insns.len()]);
    functions.into_iter().zip(ends).map(|(own, end)| part(program, own, end, &starts)).collect()
}

/// The functions of generated code; `lines` are what its notes became.
pub fn of_fragment(fragment: Fragment, lines: Vec<Line>) -> Vec<Part> {
    let Fragment { mut program, calls, .. } = fragment;
    program.lines = lines;
    let mut parts = take_apart(&program);
    for (slot, name) in calls {
        let holder = parts.iter_mut().rfind(|part| part.function.slot <= slot);
        let Some(part) = holder else { continue };
        let slot = slot - part.function.slot;
        part.calls.retain(|(known, _)| *known != slot);
        part.calls.push((slot, Callee::Named(name)));
    }
    parts
}

fn part(program: &Program, function: Function, end: usize, starts: &[usize]) -> Part {
    let start = function.slot;
    let insns = program.insns[start..end].to_vec();
    let callee = |slot: &usize| {
        let insn = insns[*slot];
        let target = (start + slot) as i64 + 1 + i64::from(insn.imm);
        let target = starts.iter().position(|start| *start as i64 == target)?;
        refers_to_function(insn).then_some((*slot, Callee::Part(target)))
    };
    let calls = slots(&insns).filter_map(|slot| callee(&slot)).collect();
    Part {
        calls,
        fixups: cut(&program.fixups, start, end, |fixup| &mut fixup.slot),
        lines: cut(&program.lines, start, end, |line| &mut line.slot),
        unresolved: cut(&program.unresolved, start, end, |unresolved| &mut unresolved.slot),
        insns,
        function,
    }
}

/// What belongs to a stretch of slots, counted from its start.
fn cut<T: Clone>(
    all: &[T],
    start: usize,
    end: usize,
    slot: impl Fn(&mut T) -> &mut usize,
) -> Vec<T> {
    let mut own = all.to_vec();
    own.retain_mut(|one| (start..end).contains(slot(one)));
    own.iter_mut().for_each(|one| *slot(one) -= start);
    own
}

/// The program of those parts that the first one reaches.
pub fn put_together(old: &Program, parts: Vec<Part>) -> Program {
    let reached = reached(&parts);
    let mut program = Program { insns: Vec::new(), ..old.clone() };
    program.functions.clear();
    program.fixups.clear();
    program.lines.clear();
    program.unresolved.clear();
    let mut starts = vec![0; parts.len()];
    let mut calls = Vec::new();
    for (number, part) in parts.into_iter().enumerate().filter(|(number, _)| reached[*number]) {
        let start = program.insns.len();
        starts[number] = start;
        calls.extend(part.calls.into_iter().map(|(slot, callee)| (slot + start, callee)));
        program.functions.push(Function { slot: start, ..part.function });
        let moved = |slot| slot + start;
        program
            .fixups
            .extend(part.fixups.into_iter().map(|one| Fixup { slot: moved(one.slot), ..one }));
        program
            .lines
            .extend(part.lines.into_iter().map(|one| Line { slot: moved(one.slot), ..one }));
        program.unresolved.extend(
            part.unresolved.into_iter().map(|one| Unresolved { slot: moved(one.slot), ..one }),
        );
        program.insns.extend(part.insns);
    }
    for (slot, callee) in calls {
        if let Callee::Part(number) = callee {
            program.insns[slot].imm = (starts[number] as i64 - slot as i64 - 1) as i32;
        }
    }
    program
}

fn reached(parts: &[Part]) -> Vec<bool> {
    let mut reached = vec![false; parts.len()];
    let mut open = vec![0];
    while let Some(number) = open.pop() {
        if !std::mem::replace(&mut reached[number], true) {
            open.extend(parts[number].calls.iter().filter_map(|(_, callee)| match callee {
                Callee::Part(number) => Some(*number),
                Callee::Named(_) => None,
            }));
        }
    }
    reached
}

impl Part {
    /// Another code under the old name and type.
    pub fn replace(&mut self, by: Self) {
        let function = std::mem::take(&mut self.function);
        *self = Self { function, ..by };
    }

    /// Puts code that neither returns nor is a function in the place of the instruction at
    /// `slot`. `None`, and nothing changed that is of use, when a jump gets too long.
    pub fn insert(&mut self, slot: usize, code: Self) -> Option<()> {
        let grown = code.insns.len() - 1;
        let moved = |old: usize| if old > slot { old + grown } else { old };
        let starts: Vec<usize> = slots(&self.insns).collect();
        for from in starts {
            let insn = self.insns[from];
            let Some(far) = distance(insn) else { continue };
            let to = usize::try_from(from as i64 + 1 + far).ok()?;
            let far = moved(to) as i64 - moved(from) as i64 - 1;
            self.insns[from] = with_distance(insn, far)?;
        }
        let resumed = self.lines.iter().rfind(|line| line.slot <= slot).copied();
        let named = code.lines.first().is_some_and(|line| line.slot == 0);
        self.lines.retain(|line| line.slot != slot || !named);
        self.calls.retain(|(known, _)| *known != slot);
        self.calls.iter_mut().for_each(|(slot, _)| *slot = moved(*slot));
        self.fixups.iter_mut().for_each(|one| one.slot = moved(one.slot));
        self.lines.iter_mut().for_each(|one| one.slot = moved(one.slot));
        self.unresolved.iter_mut().for_each(|one| one.slot = moved(one.slot));
        self.insns.splice(slot..=slot, code.insns);
        self.calls.extend(code.calls.into_iter().map(|(old, callee)| (old + slot, callee)));
        self.fixups
            .extend(code.fixups.into_iter().map(|one| Fixup { slot: one.slot + slot, ..one }));
        self.lines.extend(code.lines.into_iter().map(|one| Line { slot: one.slot + slot, ..one }));
        self.resume(resumed, slot + grown + 1);
        self.fixups.sort_by_key(|one| one.slot);
        self.lines.sort_by_key(|one| one.slot);
        Some(())
    }

    /// Puts code before instructions, in the order of their slots. Jumps to these instructions lead
    /// to the code. `None`, and nothing changed that is of use, when a jump gets too long.
    pub fn precede_each(&mut self, codes: &[Inserted]) -> Option<()> {
        let mut grown = vec![0];
        grown.extend(codes.iter().scan(0, |sum, one| {
            *sum += one.insns.len();
            Some(*sum)
        }));
        // Where the code before a slot begins, and where the instruction itself is.
        let landing = |slot| slot + grown[codes.partition_point(|one| one.slot < slot)];
        let moved = |slot| slot + grown[codes.partition_point(|one| one.slot <= slot)];
        for from in slots(&self.insns).collect::<Vec<_>>() {
            let Some(far) = distance(self.insns[from]) else { continue };
            let to = usize::try_from(from as i64 + 1 + far).ok()?;
            let far = landing(to) as i64 - moved(from) as i64 - 1;
            self.insns[from] = with_distance(self.insns[from], far)?;
        }
        self.calls.iter_mut().for_each(|(slot, _)| *slot = moved(*slot));
        self.fixups.iter_mut().for_each(|one| one.slot = moved(one.slot));
        self.unresolved.iter_mut().for_each(|one| one.slot = moved(one.slot));
        self.lines.iter_mut().for_each(|one| one.slot = landing(one.slot));
        for one in codes {
            let start = landing(one.slot);
            let placed = |fixup: &Fixup| Fixup { slot: start + fixup.slot, ..fixup.clone() };
            self.fixups.extend(one.fixups.iter().map(placed));
        }
        self.fixups.sort_by_key(|one| one.slot);
        let old = std::mem::take(&mut self.insns);
        let mut codes = codes.iter().peekable();
        for (slot, insn) in old.into_iter().enumerate() {
            if let Some(one) = codes.next_if(|one| one.slot == slot) {
                self.insns.extend_from_slice(&one.insns);
            }
            self.insns.push(insn);
        }
        Some(())
    }

    /// After inserted code the old source line continues.
    fn resume(&mut self, line: Option<Line>, slot: usize) {
        let known = self.lines.iter().any(|line| line.slot == slot);
        if !known && slot < self.insns.len() {
            self.lines.extend(line.map(|line| Line { slot, ..line }));
        }
    }
}
