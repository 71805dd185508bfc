//! The maps that a program may use after an instruction.

use std::collections::BTreeSet;

use spec::insn::{self, Insn};
use spec::{Program, Target};

/// Numbers of the maps that instructions reachable from `slot` refer to; `None` if a tail call is
/// reachable, which may use any map.
pub(super) fn maps(program: &Program, slot: usize) -> Option<BTreeSet<usize>> {
    let mut maps = BTreeSet::new();
    let mut seen = vec![false; program.insns.len()];
    let mut open = vec![slot];
    while let Some(slot) = open.pop() {
        let Some(insn) = program.insns.get(slot) else { continue };
        if std::mem::replace(&mut seen[slot], true) {
            continue;
        }
        if let Some(Target::Map { map } | Target::MapValue { map, .. }) = program.fixup_at(slot) {
            maps.insert(*map);
        }
        if insn.is_call() && insn.src == 0 && insn.imm == TAIL_CALL {
            return None;
        }
        open.extend(next(*insn, slot));
    }
    Some(maps)
}

/// Slots at which control may continue, including functions whose address is taken.
fn next(insn: Insn, slot: usize) -> impl Iterator<Item = usize> {
    let at = |distance: i64| usize::try_from(slot as i64 + 1 + distance).ok();
    let is_jump = matches!(insn.class(), insn::CLASS_JMP | insn::CLASS_JMP32);
    let operation = insn.code & 0xf0;
    let far = insn.class() == insn::CLASS_JMP32;
    let (through, other) = match () {
        () if insn.code == insn::EXIT => (None, None),
        () if insn.is_local_call() => (at(0), at(insn.imm.into())),
        () if insn.is_call() => (at(0), None),
        () if is_jump && operation == insn::JA && far => (None, at(insn.imm.into())),
        () if is_jump && operation == insn::JA => (None, at(insn.off.into())),
        () if is_jump => (at(0), at(insn.off.into())),
        () if insn.is_wide() && insn.src == insn::PSEUDO_FUNC => (at(1), at(insn.imm.into())),
        () if insn.is_wide() => (at(1), None),
        () => (at(0), None),
    };
    through.into_iter().chain(other)
}

const TAIL_CALL: i32 = spec::asm::Helper::TAIL_CALL.0 as i32;
