//! Generated code that runs before a program.
//!
//! Rule: the code receives the context in R1 and ends with it in R1 again; what it returns is the
//! program's verdict. The program does not read registers or stack that it wrote.

use super::parts::{Part, of_fragment, put_together, take_apart};
use super::types::Types;
use super::{Error, no_program};
use crate::asm::Assembler;
use crate::model::{Line, Spec};

/// What generated lines name as their file.
const FILE: &str = "generated";

/// `code` runs before `program`. Where it ends, the program begins; its exits end the program. It
/// may use maps of `spec` by name, and has no functions of its own.
///
/// # Errors
/// [`Error::NoProgram`], mistakes in `code`; `spec` is untouched.
pub fn precede(spec: &Spec, program: &str, code: Assembler) -> Result<Spec, Error> {
    let old = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    let mut types = Types::new(FILE, spec.btf.is_some());
    types.append(spec.btf.as_ref());
    let fragment = code.fragment(&spec.maps)?;
    let lines = types.lines(&fragment.notes);
    let code = of_fragment(fragment, lines).remove(0);
    let mut parts = take_apart(old);
    prepend(&mut parts[0], code);
    let mut new = put_together(old, parts);
    types.complete(&mut new);
    let mut spec = spec.clone();
    if let Some(place) = spec.programs.iter_mut().find(|old| old.name == program) {
        *place = new;
    }
    spec.btf = types.build().map_err(|error| Error::Types(Box::new(error)))?;
    Ok(spec)
}

/// Distances within a function do not change when code is put before all of it.
fn prepend(part: &mut Part, code: Part) {
    let grown = code.insns.len();
    let first = part.lines.first().copied();
    part.insns.splice(0..0, code.insns);
    part.calls.iter_mut().for_each(|(slot, _)| *slot += grown);
    part.fixups.iter_mut().for_each(|one| one.slot += grown);
    part.lines.iter_mut().for_each(|one| one.slot += grown);
    part.unresolved.iter_mut().for_each(|one| one.slot += grown);
    part.fixups.splice(0..0, code.fixups);
    if code.lines.is_empty() {
        // The kernel requires a line at the first instruction.
        part.lines.splice(0..0, first.map(|line| Line { slot: 0, ..line }));
    }
    part.lines.splice(0..0, code.lines);
}
