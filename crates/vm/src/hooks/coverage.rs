//! Number of executions of each instruction and of each direction of a branch; by source line if
//! the object has lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::code::{Program, SourceLine};
use crate::fault::Fault;
use crate::machine::Machine;
use crate::processor::{Hook, Step};

/// A hook that counts executions. Counts of several workers or captures of one object can be
/// merged.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Counts by program number.
    programs: BTreeMap<usize, ProgramCoverage>,
    runs: u64,
}

/// Counts of one program, by slot.
#[derive(Clone, Debug)]
pub struct ProgramCoverage {
    /// The program.
    pub program: Arc<Program>,
    /// Executions of the instruction in each slot.
    pub hits: Vec<u64>,
    /// Number of times that the conditional jump in the slot was taken.
    pub taken: Vec<u64>,
    /// Number of times that the conditional jump in the slot was not taken.
    pub passed: Vec<u64>,
}

/// A source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCoverage {
    pub file: String,
    pub line: u32,
    pub text: String,
    /// Executions of the line's most frequent instruction; summed over programs that share the
    /// line.
    pub hits: u64,
    /// The line's conditional jumps.
    pub branches: Vec<BranchCoverage>,
}

/// A conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchCoverage {
    /// Number of the program that holds it.
    pub program: usize,
    pub slot: usize,
    pub taken: u64,
    pub passed: u64,
}

/// A function of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCoverage {
    pub program: String,
    pub name: String,
    pub file: String,
    /// First source line; 0 for objects without lines.
    pub line: u32,
    /// Executions of its first instruction.
    pub hits: u64,
    /// Number of instructions.
    pub slots: usize,
    /// Number of instructions that were executed.
    pub slots_hit: usize,
}

impl Coverage {
    /// An empty record of all programs of a machine, so that programs that never run are included.
    pub fn new(machine: &Machine) -> Self {
        let mut coverage = Self::default();
        for program in machine.programs() {
            coverage.of(&program);
        }
        coverage
    }

    /// Runs that have ended.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Counts by program and slot.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramCoverage> {
        self.programs.values()
    }

    /// Adds the counts of another coverage of the same machine.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        for theirs in other.programs.values() {
            let ours = self.of(&theirs.program);
            add(&mut ours.hits, &theirs.hits);
            add(&mut ours.taken, &theirs.taken);
            add(&mut ours.passed, &theirs.passed);
        }
    }

    /// All source lines that instructions come from, by file and line.
    pub fn lines(&self) -> Vec<LineCoverage> {
        let mut lines = BTreeMap::new();
        for program in self.programs.values() {
            program.add_lines(&mut lines);
        }
        lines.into_values().collect()
    }

    /// All functions, in the order of programs and slots.
    pub fn functions(&self) -> Vec<FunctionCoverage> {
        self.programs.values().flat_map(ProgramCoverage::functions).collect()
    }

    fn of(&mut self, program: &Arc<Program>) -> &mut ProgramCoverage {
        self.programs
            .entry(program.number())
            .or_insert_with(|| ProgramCoverage::new(Arc::clone(program)))
    }
}

impl ProgramCoverage {
    fn new(program: Arc<Program>) -> Self {
        let slots = program.source().insns.len();
        let counts = || vec![0; slots];
        Self { hits: counts(), taken: counts(), passed: counts(), program }
    }

    /// Slots that hold an instruction.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        spec::disasm::slots(&self.program.source().insns)
    }

    fn add_lines(&self, lines: &mut BTreeMap<(Arc<str>, u32), LineCoverage>) {
        let mut most: BTreeMap<(Arc<str>, u32), u64> = BTreeMap::new();
        for slot in self.slots() {
            let Some(at) = self.program.line_at(slot).filter(|at| at.line != 0) else { continue };
            let key = (Arc::clone(&at.file), at.line);
            let line = lines.entry(key.clone()).or_insert_with(|| LineCoverage::new(at));
            if self.program.is_branch(slot) {
                line.branches.push(BranchCoverage {
                    program: self.program.number(),
                    slot,
                    taken: self.taken[slot],
                    passed: self.passed[slot],
                });
            }
            let most = most.entry(key).or_default();
            *most = (*most).max(self.hits[slot]);
        }
        for (key, hits) in most {
            lines.entry(key).and_modify(|line| line.hits += hits);
        }
    }

    fn functions(&self) -> Vec<FunctionCoverage> {
        let source = self.program.source();
        let starts = source.functions.iter().map(|function| function.slot);
        let ends = starts.clone().skip(1).chain([source.insns.len()]);
        let spans = starts.zip(ends);
        spans.map(|(start, end)| self.function(start, end)).collect()
    }

    fn function(&self, start: usize, end: usize) -> FunctionCoverage {
        let slots: Vec<_> = self.slots().filter(|slot| (start..end).contains(slot)).collect();
        let at = self.program.line_at(start);
        FunctionCoverage {
            program: self.program.name().to_owned(),
            name: self.program.function_name(start).to_owned(),
            file: at.map(|at| at.file.to_string()).unwrap_or_default(),
            line: at.map_or(0, |at| at.line),
            hits: self.hits.get(start).copied().unwrap_or_default(),
            slots: slots.len(),
            slots_hit: slots.iter().filter(|slot| self.hits[**slot] != 0).count(),
        }
    }
}

impl LineCoverage {
    fn new(at: &SourceLine) -> Self {
        Self {
            file: at.file.to_string(),
            line: at.line,
            text: at.text.to_string(),
            hits: 0,
            branches: Vec::new(),
        }
    }
}

fn add(ours: &mut [u64], theirs: &[u64]) {
    for (our, their) in ours.iter_mut().zip(theirs) {
        *our += their;
    }
}

impl Hook for Coverage {
    fn step(&mut self, step: &Step<'_>) {
        if let Some(hits) = self.of(step.program).hits.get_mut(step.slot) {
            *hits += 1;
        }
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        let counts = self.of(step.program);
        let side = if taken { &mut counts.taken } else { &mut counts.passed };
        side[step.slot] += 1;
    }

    fn end(&mut self, _: Result<u64, &Fault>) {
        self.runs += 1;
    }
}
