//! A whole program as text: function heads, source lines, instructions, labels.
//!
//! ```text
//! drop:
//! ; if (data + sizeof(*eth) > data_end) @ drop.bpf.c:31
//!    0: (61) r2 = *(u32 *)(r1 +4)
//!    1: (2d) if r4 > r2 goto L1
//! L1:
//!    2: (b7) r0 = 1
//! ```
//!
//! A view: it borrows the program and prints on demand. A program that came back from the
//! kernel is listed by filling a [`Program`] with what the kernel reports.

use std::collections::BTreeMap;
use std::fmt;

use super::{Names, insn, slots};
use crate::btf::Btf;
use crate::insn::{CALL, CLASS_JMP, CLASS_JMP32, EXIT, FROM_REG, Insn, JA};
use crate::model::{Line, Program};

/// A printable program.
#[derive(Clone, Copy)]
pub struct Listing<'a> {
    program: &'a Program,
    names: &'a dyn Names,
    types: Option<&'a Btf>,
    labels: bool,
}

impl<'a> Listing<'a> {
    /// Creates a listing without source lines.
    pub fn new(program: &'a Program, names: &'a dyn Names) -> Self {
        Self { program, names, types: None, labels: false }
    }

    /// Source lines between instructions, out of the strings that [`Program::lines`] point into.
    #[must_use]
    pub fn source(mut self, types: Option<&'a Btf>) -> Self {
        self.types = types;
        self
    }

    /// Jump targets as `L1` instead of `pc+3`.
    #[must_use]
    pub fn labels(mut self, labels: bool) -> Self {
        self.labels = labels;
        self
    }

    /// The source text at a slot: where a line starts that differs from the one before.
    pub(super) fn line(&self, slot: usize, shown: &mut Option<Line>) -> Option<String> {
        let types = self.types?;
        let found = self.program.lines.binary_search_by_key(&slot, |line| line.slot).ok()?;
        let line = self.program.lines[found];
        let place = |line: &Line| (line.file, line.text, line.line);
        let repeated = shown.as_ref().map(place) == Some(place(&line));
        *shown = Some(line);
        let text = types.string(line.text)?.trim();
        if repeated || text.is_empty() {
            return None;
        }
        let file = types.string(line.file).unwrap_or_default();
        let base = file.rsplit('/').next().unwrap_or_default();
        Some(if base.is_empty() {
            format!("; {text}")
        } else {
            format!("; {text} @ {base}:{}", line.line)
        })
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let insns = &self.program.insns;
        let labels = if self.labels { targets(insns) } else { BTreeMap::new() };
        let names = Labelled { names: self.names, labels: &labels };
        let mut functions = self.program.functions.iter().peekable();
        let mut shown = None;
        for slot in slots(insns) {
            while let Some(function) = functions.next_if(|function| function.slot <= slot) {
                writeln!(f, "{}:", function.name)?;
                shown = None;
            }
            if let Some(number) = labels.get(&slot) {
                writeln!(f, "L{number}:")?;
            }
            if let Some(line) = self.line(slot, &mut shown) {
                writeln!(f, "{line}")?;
            }
            writeln!(f, "{slot:4}: {}", insn(insns, slot, &names))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listing({})", self.program.name)
    }
}

/// The caller's names, and labels.
struct Labelled<'a> {
    names: &'a dyn Names,
    labels: &'a BTreeMap<usize, usize>,
}

impl Names for Labelled<'_> {
    fn wide(&self, slot: usize, insn: Insn, value: u64) -> Option<String> {
        self.names.wide(slot, insn, value)
    }

    fn call(&self, slot: usize, insn: Insn) -> Option<String> {
        self.names.call(slot, insn)
    }

    fn label(&self, slot: usize) -> Option<String> {
        self.labels.get(&slot).map(|number| format!("L{number}")).or_else(|| self.names.label(slot))
    }
}

/// Slots that jumps go to, numbered from 1 in program order.
pub(super) fn targets(insns: &[Insn]) -> BTreeMap<usize, usize> {
    let starts: Vec<usize> = slots(insns).collect();
    let mut targets: Vec<usize> = starts
        .iter()
        .filter_map(|slot| usize::try_from(*slot as i64 + 1 + distance(insns[*slot])?).ok())
        .filter(|target| starts.binary_search(target).is_ok())
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets.into_iter().zip(1..).collect()
}

pub(super) fn distance(insn: Insn) -> Option<i64> {
    match (insn.class(), insn.code) {
        (_, CALL | EXIT) => None,
        (CLASS_JMP32, code) if code == CLASS_JMP32 | JA => Some(insn.imm.into()),
        (CLASS_JMP, code) if code == CLASS_JMP | JA | FROM_REG => None,
        (CLASS_JMP | CLASS_JMP32, _) => Some(insn.off.into()),
        _ => None,
    }
}
