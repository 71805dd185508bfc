//! Programs: each entry, followed by the functions that it reaches.
//!
//! Rule: a function is appended when the first call of it is met, and its own calls are followed
//! immediately, depth first: the order in which libbpf appends them, so that both can be compared
//! slot by slot.

use std::collections::HashMap;

use super::code::{Code, Function as Piece};
use super::file::File;
use crate::error::{Error, Place};
use crate::limits::{MAX_SLOTS, MAX_SLOTS_TOTAL};
use crate::model::{Fixup, Function, Line, Program, ProgramKind};

pub(super) fn programs(file: &File<'_>, code: &Code) -> Result<Vec<Program>, Error> {
    let mut programs = Vec::new();
    let mut total = 0;
    for (entry, piece) in code.functions.iter().enumerate().filter(|(_, piece)| piece.entry) {
        let section = &file.sections[piece.section].name;
        let program = Linker::new(code).link(entry, section);
        total += program.insns.len();
        if program.insns.len() > MAX_SLOTS || total > MAX_SLOTS_TOTAL {
            let at = Place::new(file.name).section(section).symbol(&piece.name);
            let what = format!("{} instructions with all functions", program.insns.len());
            return Err(Error::TooBig { at, what });
        }
        programs.push(program);
    }
    Ok(programs)
}

struct Linker<'a> {
    code: &'a Code,
    /// Where each function that is in the program starts.
    starts: HashMap<usize, usize>,
    /// Functions in the order in which they are laid out.
    order: Vec<usize>,
    end: usize,
}

impl<'a> Linker<'a> {
    fn new(code: &'a Code) -> Self {
        Self { code, starts: HashMap::new(), order: Vec::new(), end: 0 }
    }

    fn link(mut self, entry: usize, section: &str) -> Program {
        self.lay_out(entry);
        let mut program = Program {
            name: self.code.functions[entry].name.clone(),
            section: section.to_owned(),
            kind: ProgramKind::from_name(section).unwrap_or_default(),
            autoload: !section.starts_with('?'),
            ..Program::default()
        };
        let pieces: Vec<_> =
            self.order.iter().map(|number| &self.code.functions[*number]).collect();
        let has_lines = pieces.iter().any(|piece| !piece.lines.is_empty());
        for piece in pieces {
            if has_lines {
                append_lines(piece, program.insns.len(), &mut program.lines);
            }
            self.append(piece, &mut program);
        }
        program
    }

    /// Depth first without recursion: a damaged object may nest calls without end.
    fn lay_out(&mut self, entry: usize) {
        self.place(entry);
        let mut stack = vec![(entry, 0)];
        while let Some((number, next)) = stack.pop() {
            let Some(call) = self.code.functions[number].calls.get(next) else { continue };
            stack.push((number, next + 1));
            if !self.starts.contains_key(&call.callee) && self.end <= MAX_SLOTS {
                self.place(call.callee);
                stack.push((call.callee, 0));
            }
        }
    }

    fn place(&mut self, number: usize) {
        self.starts.insert(number, self.end);
        self.order.push(number);
        self.end += self.code.functions[number].insns.len();
    }

    fn append(&self, piece: &Piece, program: &mut Program) {
        let start = program.insns.len();
        program.functions.push(Function {
            slot: start,
            name: piece.name.clone(),
            type_id: piece.type_id,
            global: !piece.local && !piece.hidden,
        });
        program.insns.extend_from_slice(&piece.insns);
        for call in &piece.calls {
            let slot = start + call.slot;
            let callee = self.starts.get(&call.callee).copied().unwrap_or_default();
            program.insns[slot].imm = (callee as i64 - slot as i64 - 1) as i32;
        }
        let fixups = piece.fixups.iter();
        program.fixups.extend(fixups.map(|f| Fixup { slot: start + f.slot, ..f.clone() }));
    }
}

/// The kernel wants a line at each function's start, if only an empty one, and none inside a
/// wide load.
fn append_lines(piece: &Piece, start: usize, lines: &mut Vec<Line>) {
    let first = piece.lines.first().copied().unwrap_or(Line { slot: 1, ..Line::default() });
    if first.slot != 0 {
        lines.push(Line { slot: start, ..first });
    }
    let whole = piece.lines.iter().filter(|line| {
        let before = line.slot.checked_sub(1).map(|slot| piece.insns[slot]);
        !before.is_some_and(|insn| insn.is_wide()) || piece.insns[line.slot].code != 0
    });
    lines.extend(whole.map(|line| Line { slot: start + line.slot, ..*line }));
}
