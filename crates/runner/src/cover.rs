//! Counts which source lines run, over a whole capture.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use vm::{Coverage, ProgramCoverage};

use crate::arm::Vm;
use crate::explain::file_name;
use crate::results::{BranchCounts, Covered, CoveredFunction, CoveredInsn, CoveredLine};

/// Counts while a capture is played.
pub struct Cover(Arc<Mutex<Coverage>>);

impl Cover {
    /// Starts counting.
    pub fn start(vm: &mut Vm) -> Self {
        let counts = Arc::new(Mutex::new(Coverage::new(vm.machine())));
        vm.worker().set_hook(Some(Box::new(Arc::clone(&counts))));
        Self(counts)
    }

    /// Ends counting.
    pub fn finish(self, vm: &mut Vm) -> Covered {
        vm.worker().set_hook(None);
        covered(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn covered(counts: &Coverage) -> Covered {
    let lines = counts.lines().into_iter().map(|line| CoveredLine {
        file: file_name(&line.file).to_owned(),
        line: line.line,
        text: line.text,
        hits: line.hits,
        branches: line
            .branches
            .iter()
            .map(|branch| BranchCounts { taken: branch.taken, not_taken: branch.passed })
            .collect(),
    });
    let bare = counts.programs().filter(|counts| counts.program.lines().is_empty());
    Covered {
        runs: counts.runs(),
        functions: counts.programs().flat_map(functions).collect(),
        lines: lines.collect(),
        instructions: bare.flat_map(instructions).collect(),
    }
}

fn functions(counts: &ProgramCoverage) -> Vec<CoveredFunction> {
    let source = counts.program.source();
    let starts = source.functions.iter().map(|function| function.slot);
    let ends = starts.clone().skip(1).chain([source.insns.len()]);
    starts.zip(ends).map(|(start, end)| function(counts, start, end)).collect()
}

fn function(counts: &ProgramCoverage, start: usize, end: usize) -> CoveredFunction {
    let program = &counts.program;
    let mut lines: BTreeMap<(&str, u32), bool> = BTreeMap::new();
    let (mut branches, mut branches_hit) = (0, 0);
    for slot in counts.slots().filter(|slot| (start..end).contains(slot)) {
        if let Some(line) = program.line_at(slot).filter(|line| line.line != 0) {
            *lines.entry((&line.file, line.line)).or_default() |= counts.hits[slot] > 0;
        }
        if program.is_branch(slot) {
            branches += 2;
            let (taken, not_taken) = (counts.taken[slot], counts.passed[slot]);
            branches_hit += BranchCounts { taken, not_taken }.hit();
        }
    }
    let at = program.line_at(start);
    CoveredFunction {
        program: program.name().to_owned(),
        name: program.function_name(start).to_owned(),
        file: at.map_or_else(String::new, |at| file_name(&at.file).to_owned()),
        line: at.map_or(0, |at| at.line),
        hits: counts.hits.get(start).copied().unwrap_or_default(),
        lines: lines.len(),
        lines_hit: lines.values().filter(|hit| **hit).count(),
        branches,
        branches_hit,
    }
}

fn instructions(counts: &ProgramCoverage) -> impl Iterator<Item = CoveredInsn> {
    counts.slots().map(|slot| CoveredInsn {
        program: counts.program.name().to_owned(),
        slot,
        text: counts.program.disassemble(slot),
        hits: counts.hits[slot],
    })
}
