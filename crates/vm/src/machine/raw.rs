//! Runs instructions without an object: for conformance suites and experiments.

use std::collections::BTreeSet;

use spec::insn::{Insn, PSEUDO_FUNC};
use spec::{Function, Program, Spec};

use super::{Machine, Options};
use crate::error::Result;

/// Runs a program without maps: r1 is the address of `memory`, r2 its length. Changes that the
/// program makes are in `memory` afterwards. Returns r0.
///
/// # Errors
/// Invalid instructions, unknown helpers, and faults of the program.
pub fn run_raw(insns: &[Insn], memory: &mut [u8]) -> Result<u64> {
    let program = Program {
        name: "raw".to_owned(),
        insns: insns.to_vec(),
        autoload: true,
        functions: functions(insns),
        ..Program::default()
    };
    let spec = Spec { name: "raw".to_owned(), programs: vec![program], ..Spec::default() };
    Machine::load(&spec, &Options::default())?.worker(0).run_raw(0, memory)
}

/// The entry function and the targets of local calls and function addresses.
fn functions(insns: &[Insn]) -> Vec<Function> {
    let named = insns.iter().enumerate().filter_map(|(slot, insn)| {
        let local = insn.is_local_call() || insn.is_wide() && insn.src == PSEUDO_FUNC;
        let target = slot as i64 + 1 + i64::from(insn.imm);
        usize::try_from(target).ok().filter(|target| local && *target < insns.len())
    });
    let slots: BTreeSet<usize> = std::iter::once(0).chain(named).collect();
    let function = |slot| Function {
        slot,
        name: if slot == 0 { "raw".to_owned() } else { format!("at_{slot}") },
        ..Function::default()
    };
    slots.into_iter().map(function).collect()
}
