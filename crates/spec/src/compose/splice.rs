//! Generated code in the place of a function that was written by hand.
//!
//! ```text
//!  r1 = &packet          r1 = &packet
//!  call filter_match  →  save what is needed later │ the code, exits are jumps │ restore
//!  r6 = r0               r6 = r0
//! ```
//!
//! Where the function is called once and the code is short, the code replaces the call itself: a
//! call costs more than many rules. Otherwise it replaces the function's body. Functions that
//! nothing calls any more are removed, because the kernel refuses what cannot be reached.
//!
//! Rule: the code is a function like any other: arguments in R1 to R5, the answer in R0, R6 to R9
//! survive. It does not depend on where it is inserted.

use super::inline::{LONGEST, depth, lowered};
use super::liveness::{Registers, live_after, written};
use super::parts::{Callee, Part, of_fragment, put_together, take_apart};
use super::types::Types;
use super::{Error, no_program};
use crate::asm::{Assembler, Reg};
use crate::btf::{Builder, Kind, Linkage};
use crate::disasm::slots;
use crate::insn::{CLASS_JMP, EXIT, Insn, JA};
use crate::model::{Program, ProgramKind, Spec};

/// What generated lines name as their file.
const FILE: &str = "generated";

/// Registers that a function has to keep.
const KEPT: [Reg; 4] = [Reg::R6, Reg::R7, Reg::R8, Reg::R9];

/// Bytes of stack that one frame may have.
const STACK: i16 = 512;

/// `function` of `program` becomes `code`, which may be followed by functions of its own, use maps
/// of `spec` by name, and call other functions of the program by name
/// ([`Assembler::call_function`]).
///
/// # Errors
/// [`Error::NoProgram`], [`Error::NoFunction`], mistakes in `code`; `spec` is untouched.
pub fn splice(spec: &Spec, program: &str, function: &str, code: Assembler) -> Result<Spec, Error> {
    let old = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    let mut types = Types::new(FILE, spec.btf.is_some());
    types.append(spec.btf.as_ref());
    let new = spliced(old, function, code, spec, &mut types)?;
    let mut spec = spec.clone();
    if let Some(place) = spec.programs.iter_mut().find(|old| old.name == program) {
        *place = new;
    }
    spec.btf = types.build().map_err(|error| Error::Types(Box::new(error)))?;
    Ok(spec)
}

/// Makes a static function of a program one that the kernel verifies on its own, once for all
/// callers: its type becomes that of the function `like`, perhaps itself, whose arguments are what
/// it is verified with, and a pointer may be null. Without types the program is the same.
///
/// # Errors
/// [`Error::NoProgram`], [`Error::NoFunction`], types that cannot be built; `spec` is untouched.
pub fn globalize(spec: &Spec, program: &str, function: &str, like: &str) -> Result<Spec, Error> {
    let old = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    find(&take_apart(old), old, function)?;
    let mut spec = spec.clone();
    let Some(btf) = &spec.btf else { return Ok(spec) };
    // It may no longer be a function of this program, because nothing calls it.
    let Some(like) = btf.find(Kind::Func, like).and_then(|id| btf.ty(id)) else { return Ok(spec) };
    let mut builder = Builder::extend(btf);
    for known in spec.programs.iter_mut().filter(|known| known.name == program) {
        for known in known.functions.iter_mut().filter(|known| known.name == function) {
            known.type_id = builder.func(function, like.target(), Linkage::Global);
            known.global = true;
        }
    }
    let btf = builder.build().map_err(|error| Error::Types(Box::new(error)))?;
    spec.btf = Some(btf);
    Ok(spec)
}

/// A static function of a program in the place of its call, where it is called once, is short, and
/// the stack has room; else the program is the same.
///
/// # Errors
/// [`Error::NoProgram`], [`Error::NoFunction`]; `spec` is untouched.
pub fn inline(spec: &Spec, program: &str, function: &str) -> Result<Spec, Error> {
    let old = spec.program(program).ok_or_else(|| no_program(spec, program))?;
    let mut parts = take_apart(old);
    let target = find(&parts, old, function)?;
    let body = parts[target].clone();
    let Some((part, host)) = hosted(&parts, target, &body) else { return Ok(spec.clone()) };
    parts[part] = host;
    let new = put_together(old, parts);
    let mut spec = spec.clone();
    if let Some(place) = spec.programs.iter_mut().find(|old| old.name == program) {
        *place = new;
    }
    Ok(spec)
}

fn spliced(
    old: &Program,
    function: &str,
    code: Assembler,
    spec: &Spec,
    types: &mut Types,
) -> Result<Program, Error> {
    let fragment = code.fragment(&spec.maps)?;
    let lines = types.lines(&fragment.notes);
    let mut parts = take_apart(old);
    let target = find(&parts, old, function)?;
    let mut code = of_fragment(fragment, lines);
    resolve(&mut code, &parts, old)?;
    let body = code.remove(0);
    parts.extend(code);
    match hosted(&parts, target, &body) {
        Some((part, host)) => parts[part] = host,
        None => parts[target].replace(body),
    }
    let mut program = put_together(old, parts);
    types.complete(&mut program);
    Ok(program)
}

/// The caller of a function with `body` in the place of its only call, and its number.
fn hosted(parts: &[Part], target: usize, body: &Part) -> Option<(usize, Part)> {
    // A function that is verified separately is kept as one.
    let (part, slot) = site(parts, target).filter(|_| !parts[target].function.global)?;
    Some((part, inlined(&parts[part], slot, body)?))
}

fn find(parts: &[Part], program: &Program, function: &str) -> Result<usize, Error> {
    // The entry is not a function that can be called.
    let found = parts.iter().skip(1).position(|part| part.function.name == function);
    found.map(|place| place + 1).ok_or_else(|| Error::NoFunction {
        program: program.name.clone(),
        function: function.to_owned(),
        known: parts[1..].iter().map(|part| &*part.function.name).collect::<Vec<_>>().join(", "),
    })
}

/// Replaces names by numbers. The code's own functions follow the program's, except the first one,
/// which is inserted elsewhere: nothing can call it.
fn resolve(code: &mut [Part], parts: &[Part], program: &Program) -> Result<(), Error> {
    for (_, callee) in code.iter_mut().flat_map(|part| &mut part.calls) {
        *callee = Callee::Part(match callee {
            Callee::Part(number) => parts.len() + number.saturating_sub(1),
            Callee::Named(name) => find(parts, program, name)?,
        });
    }
    Ok(())
}

/// Where a function is called, if that is one place and a plain call.
fn site(parts: &[Part], target: usize) -> Option<(usize, usize)> {
    let callers = |part: &Part| -> Vec<usize> {
        let calls = part.calls.iter().filter(|(_, callee)| *callee == Callee::Part(target));
        calls.map(|(slot, _)| *slot).collect()
    };
    let mut sites = parts
        .iter()
        .enumerate()
        .flat_map(|(number, part)| callers(part).into_iter().map(move |slot| (number, slot)));
    let only = sites.next().filter(|(part, slot)| parts[*part].insns[*slot].is_local_call());
    only.filter(|_| sites.next().is_none())
}

/// The host with the body in the place of its call at `slot`; `None` when it has to be called.
fn inlined(host: &Part, slot: usize, body: &Part) -> Option<Part> {
    let saved = live_after(&host.insns, slot) & written(&body.insns);
    let saved: Vec<Reg> = KEPT.into_iter().filter(|reg| has(saved, *reg)).collect();
    let own = depth(&host.insns)?;
    let reserve = own + 8 * saved.len() as i16;
    if reserve + depth(&body.insns)? > STACK {
        return None;
    }
    let mut code = Part { insns: lowered(&body.insns, reserve)?, ..body.clone() };
    if host.insns.len() + code.insns.len() + 2 * KEPT.len() > LONGEST {
        return None;
    }
    leave_at_end(&mut code.insns);
    frame(&mut code, &saved, own)?;
    let mut host = host.clone();
    host.insert(slot, code)?;
    Some(host)
}

fn has(registers: Registers, reg: Reg) -> bool {
    registers & 1 << reg.number() != 0
}

/// Exits become jumps past the last instruction. The code keeps a length of at least one slot.
fn leave_at_end(code: &mut Vec<Insn>) {
    if code.len() > 1 && code.last().is_some_and(|last| last.code == EXIT) {
        code.pop();
    }
    let exits: Vec<usize> = slots(code).filter(|slot| code[*slot].code == EXIT).collect();
    for slot in exits {
        // It fits: the whole is shorter than `LONGEST`.
        let off = (code.len() - slot - 1) as i16;
        code[slot] = Insn::new(CLASS_JMP | JA, 0, 0, off, 0);
    }
}

/// Saves registers before the code and loads them again after it, below the host's `own` bytes.
fn frame(code: &mut Part, saved: &[Reg], own: i16) -> Option<()> {
    let mut around = Assembler::new(FILE, ProgramKind::XDP);
    let place = |number: usize| Reg::R10.at(-own - 8 * (number as i16 + 1));
    for (number, reg) in saved.iter().enumerate() {
        around.store64(place(number), *reg);
    }
    for (number, reg) in saved.iter().enumerate() {
        around.load64(*reg, place(number));
    }
    // One slot more, because an assembler's program is never empty.
    around.exit();
    let around = around.finish().ok()?.insns;
    let (save, restore) = around[..2 * saved.len()].split_at(saved.len());
    let behind = |slot: &mut usize| *slot += save.len();
    code.calls.iter_mut().for_each(|(slot, _)| behind(slot));
    code.fixups.iter_mut().for_each(|one| behind(&mut one.slot));
    code.lines.iter_mut().for_each(|one| behind(&mut one.slot));
    if let Some(first) = code.lines.first_mut().filter(|line| line.slot == save.len()) {
        first.slot = 0;
    }
    code.insns.splice(0..0, save.iter().copied());
    code.insns.extend_from_slice(restore);
    Some(())
}
