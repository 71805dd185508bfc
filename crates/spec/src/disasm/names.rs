//! Names for what an instruction carries only as a number.

use crate::insn::{CALL, Insn, PSEUDO_CALL, PSEUDO_FUNC};
use crate::model::{Program, Spec, Target};

/// What only the caller knows of a program; `None` prints the number.
///
/// A runtime that lists what the kernel has loaded answers with ids (`map[id:7]`) and symbols.
pub trait Names {
    /// What the wide load at `slot` loads, such as `map[counters]`. `value` is all 64 bits.
    fn wide(&self, slot: usize, insn: Insn, value: u64) -> Option<String> {
        let _ = (slot, insn, value);
        None
    }

    /// The function called at `slot`: a local one, a kfunc, or a helper by its address.
    /// Helpers by their number are known without.
    fn call(&self, slot: usize, insn: Insn) -> Option<String> {
        let _ = (slot, insn);
        None
    }

    /// A label at the slot that a jump goes to, printed instead of `pc+3`.
    fn label(&self, slot: usize) -> Option<String> {
        let _ = slot;
        None
    }
}

/// No names: numbers as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Names for Plain {}

/// Names from an object that is not loaded yet: its maps, externs and functions.
#[derive(Clone, Copy, Debug)]
pub struct SpecNames<'a> {
    /// The object that contains the program.
    pub spec: &'a Spec,
    /// The program that is listed.
    pub program: &'a Program,
}

impl Names for SpecNames<'_> {
    fn wide(&self, slot: usize, insn: Insn, _value: u64) -> Option<String> {
        if insn.src == PSEUDO_FUNC {
            return self.function(slot, insn).map(|name| format!("subprog[{name}]"));
        }
        match self.program.fixup_at(slot)? {
            Target::Map { map } => Some(format!("map[{}]", self.spec.maps.get(*map)?.name)),
            Target::MapValue { map, offset } => {
                Some(format!("map[{}][0]+{offset}", self.spec.maps.get(*map)?.name))
            }
            Target::Ksym { name, .. } | Target::KfuncAddress { name, .. } => {
                Some(format!("ksym[{name}]"))
            }
            Target::Kfunc { .. } | Target::Field(_) => None,
        }
    }

    fn call(&self, slot: usize, insn: Insn) -> Option<String> {
        if insn.code == CALL && insn.src == PSEUDO_CALL {
            return self.function(slot, insn);
        }
        match self.program.fixup_at(slot)? {
            Target::Kfunc { name, .. } => Some(name.clone()),
            _ => None,
        }
    }
}

impl SpecNames<'_> {
    /// The function that starts where `imm` points, counted from the next slot.
    fn function(&self, slot: usize, insn: Insn) -> Option<String> {
        let target = slot as i64 + 1 + i64::from(insn.imm);
        let functions = &self.program.functions;
        let found =
            functions.binary_search_by_key(&target, |function| function.slot as i64).ok()?;
        Some(functions[found].name.clone())
    }
}
