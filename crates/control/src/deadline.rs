//! Programs that run until a deadline, and then the program that ran before.
//!
//! ```text
//!  the new program:   now < xway_deadline?  ── yes ──▶ the new code
//!                            └── no ──▶ xway_fallback[0], the previous program; none: pass
//! ```
//!
//! Rule: the deadline is in the data of the running program, so that no process is needed for the
//! return. Not here: who sets it (`target`), how it is confirmed (`confirmation`).

use std::time::Duration;

use kernel::{Binding, Object, Program};
use spec::asm::Reg::{R0, R1, R2, R3, R6};
use spec::asm::{Assembler, Cond, Helper};
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict, compose};
use sys::errno::EINVAL;
use sys::thread::monotonic_ns;

use crate::error::{ConfirmationError, Error, Result};
use crate::map_names::{DEADLINE, FALLBACK};

/// The object with a program that runs the previous one after the deadline. `runs` states whether
/// there is a previous one.
///
/// # Errors
/// A program on the network card cannot return to another one.
pub fn limited(spec: &Spec, program: &str, binding: Binding, runs: bool) -> Result<Spec> {
    let has_fallback = match binding {
        Binding::Any => true,
        // Earlier kernels refuse tail calls in a program that is bound to its device.
        Binding::Device(_) => runs,
        Binding::Offload(_) => return Err(ConfirmationError::Offload.into()),
    };
    let mut spec = spec.clone();
    spec.maps.push(map(DEADLINE, MapKind::ARRAY, 8));
    if has_fallback {
        spec.maps.push(map(FALLBACK, MapKind::PROG_ARRAY, 4));
    }
    Ok(compose::precede(&spec, program, code(has_fallback))?)
}

/// The error of an object that [`limited`] made. Earlier kernels refuse its tail call in a program
/// that is bound, without a log.
pub fn explained(error: Error, binding: Binding, runs: bool) -> Error {
    let invalid = error
        .kernel()
        .is_some_and(|error| error.errno() == Some(EINVAL) && !error.is_by_verifier());
    match binding {
        Binding::Device(_) if runs && invalid => ConfirmationError::Bound.into(),
        _ => error,
    }
}

/// Sets the program that runs after the deadline of an object that [`limited`] made.
pub fn set_fallback(object: &Object, before: &Program) -> kernel::Result<()> {
    object.map(FALLBACK)?.put_program(0, before)
}

/// Starts the time of an object that [`limited`] made.
pub fn start(object: &Object, time: Duration) -> kernel::Result<()> {
    let end = monotonic_ns() + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
    object.map(DEADLINE)?.update(&[0; 4], &end.to_ne_bytes(), Expect::Any)
}

/// Code before a program: after the deadline, runs the previous program instead.
fn code(has_fallback: bool) -> Assembler {
    let mut code = Assembler::new("xway_deadline", ProgramKind::XDP);
    let before = code.label();
    code.note("return to the previous program after the deadline")
        .mov(R6, R1)
        .call(Helper::KTIME_GET_NS)
        .load_map_value(R1, DEADLINE, 0)
        .load64(R1, R1.at(0))
        .jump_if(R0, Cond::Lt, R1, before);
    if has_fallback {
        code.mov(R1, R6).load_map(R2, FALLBACK).mov(R3, 0).call(Helper::TAIL_CALL);
    }
    code.verdict(Verdict::Pass).bind(before).mov(R1, R6);
    code
}

fn map(name: &str, kind: MapKind, value_size: u32) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind,
        key_size: 4,
        value_size,
        max_entries: 1,
        ..MapDef::default()
    }
}
