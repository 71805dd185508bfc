//! Members that store their decision about each packet, for a [`Probe`](super::Probe).
//!
//! Rule: a program as it is loaded without a probe has the call of a function that stores nothing,
//! which the verifier removes. Only here it is enabled, and the function gets its code. The map is
//! found by its name, and all members and the probe share it. Its layout is that of
//! `bpf/include/xway/decision.h`.

use super::{Error, no_program, splice};
use crate::asm::{Assembler, Cond, Reg::*};
use crate::model::{MapDef, MapKind, ProgramKind, Spec};

/// The map with the last decision on each processor.
pub const DECISIONS_MAP: &str = "xway_decisions";

/// The program with code that stores its decisions; `None` if it makes none that can be stored.
///
/// # Errors
/// [`Error::NoProgram`]; `spec` is untouched.
pub fn store_decisions(spec: &Spec, program: &str) -> Result<Option<Spec>, Error> {
    let own = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    if !own.functions.iter().any(|function| function.name == STORE) {
        return Ok(None);
    }
    let mut spec = spec.clone();
    if spec.set_global(STORES, &1_u32.to_le_bytes()).is_err() {
        return Ok(None);
    }
    spec.maps.push(decisions_map());
    splice(&spec, program, STORE, code()).map(Some)
}

/// A map for the decisions of members and a probe.
pub fn decisions_map() -> MapDef {
    MapDef {
        name: DECISIONS_MAP.to_owned(),
        kind: MapKind::PERCPU_ARRAY,
        key_size: 4,
        value_size: 3 * FIELD as u32,
        max_entries: 1,
        pin_by_name: true,
        ..MapDef::default()
    }
}

/// The function: rule, verdict and reason are its arguments.
fn code() -> Assembler {
    let mut a = Assembler::new(STORE, ProgramKind::XDP);
    let key = R10.at(-4);
    let missing = a.label();
    a.mov32(R6, R1).mov32(R7, R2).mov32(R8, R3).store32(key, 0);
    // The entry exists; the verifier cannot know.
    a.lookup(DECISIONS_MAP, key).jump_if(R0, Cond::Eq, 0, missing);
    a.store32(R0.at(0), R6).store32(R0.at(FIELD), R7).store32(R0.at(2 * FIELD), R8);
    a.bind(missing).mov32(R0, 0).exit();
    a
}

/// The function that is replaced, and the variable that enables its call.
const STORE: &str = "xway_store_decision";
const STORES: &str = "xway_stores_decisions";
/// Bytes of a field of `struct xway_decision`.
const FIELD: i16 = 4;
