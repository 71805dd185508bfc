//! Fused operations for runs without a hook: some do the work of two slots, or of a call.
//!
//! Rule: each slot keeps an operation of its own, so that a jump to the second of two joined slots
//! finds it; and a prediction (which map a call is for) is checked when the operation executes.

use std::sync::Arc;

use super::op::{Kind, Op, Reg};
use crate::maps::Map;
use crate::memory::{RegionId, offset};

/// An array, plain or per CPU, in which a lookup is predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// Value of r1 if the prediction is right.
    pub pointer: u64,
    /// Address of the first processor's first value.
    base: u64,
    /// Distance between the values of two processors; 0 if all share one value.
    step: u64,
    shift: u32,
    entries: u32,
    /// Row of the call, for a wrong prediction.
    pub callee: u64,
}

impl Array {
    fn new(map: &Map, pointer: u64, callee: u64) -> Option<Self> {
        let attributes = map.attributes();
        let arrays = [spec::MapKind::ARRAY, spec::MapKind::PERCPU_ARRAY];
        if !arrays.contains(&attributes.kind) || attributes.key_size != 4 {
            return None;
        }
        let (_, layout) = map.values()?;
        let first = [0; 4];
        let base = map.lookup(0, &first);
        let step = if attributes.cpus > 1 { map.lookup(1, &first) - base } else { 0 };
        Some(Self {
            pointer,
            base,
            step,
            shift: layout.shift,
            entries: attributes.max_entries,
            callee,
        })
    }

    /// The address of a processor's value, 0 outside the array.
    #[inline(always)]
    pub fn value(&self, cpu: u32, index: u64) -> u64 {
        if index >= u64::from(self.entries) {
            return 0;
        }
        self.base + u64::from(cpu) * self.step + (index << self.shift)
    }
}

/// The operations with pairs joined and lookups in arrays predicted.
pub(super) fn fuse(ops: &[Op], callees: &[String], maps: &[Arc<Map>]) -> (Box<[Op]>, Box<[Array]>) {
    let mut arrays = Vec::new();
    // The constant that r1 was last loaded with if no jump intervened.
    let mut last = None;
    let mut fast: Vec<Op> = ops.to_vec();
    for slot in 0..ops.len() {
        let op = &ops[slot];
        if let Some(joined) = ops.get(slot + 1).and_then(|next| join(op, next)) {
            fast[slot] = joined;
        }
        if op.kind == Kind::Wide && op.dst == Reg::R1 {
            last = Some(op.imm);
        }
        if op.kind == Kind::Call
            && callees[op.imm as usize] == "bpf_map_lookup_elem"
            && let Some(array) = last.and_then(|pointer| predicted(pointer, op.imm, maps))
        {
            fast[slot] = Op { imm: row(&mut arrays, array), ..Op::new(Kind::LookupArray) };
        }
    }
    (fast.into(), arrays.into())
}

/// One operation that does the work of two, if there is one.
fn join(first: &Op, second: &Op) -> Option<Op> {
    let add = first.kind == Kind::Mov64X && second.kind == Kind::Add64K;
    let same = first.dst == second.dst;
    (add && same).then_some(Op { kind: Kind::MoveAdd, imm: second.imm, ..*first })
}

fn predicted(pointer: u64, callee: u64, maps: &[Arc<Map>]) -> Option<Array> {
    if RegionId::of(pointer) != RegionId::MAPS {
        return None;
    }
    Array::new(maps.get(offset(pointer) as usize)?, pointer, callee)
}

fn row(arrays: &mut Vec<Array>, array: Array) -> u64 {
    let known = arrays.iter().position(|other| *other == array);
    known.unwrap_or_else(|| {
        arrays.push(array);
        arrays.len() - 1
    }) as u64
}
