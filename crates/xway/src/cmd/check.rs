//! `check`: would the kernel take these programs? Each is loaded, attached to nothing, and gone
//! when the command ends.
//!
//! Rule: the object is read after rights were given up, and the loaded programs cannot be attached
//! or run.

use anyhow::Result;
use control::object::{self, Opened};
use kernel::{Error, LoadOptions, Object, VerifierLog};
use spec::{Program, Spec};
use sys::bpf::uapi::prog_type;
use sys::cap::{Cap, Caps};

use super::{Context, Exit, confine};
use crate::args::CheckArgs;
use crate::view;
use crate::view::check::{Accepted, Checked, Outcome, Refused};
use crate::view::prog::Source;

pub fn run(args: &CheckArgs, context: &Context) -> Result<Exit> {
    confine(args)?;
    let mut opened = object::open(&args.object)?;
    opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
    opened.complete(&args.open.map_sizes, &args.open.kconfig)?;
    let mut programs = Vec::new();
    for program in chosen(&opened, args.program.as_deref())? {
        programs.push(Checked {
            name: program.name.clone(),
            section: program.section.clone(),
            kind: prog_type::name(program.kind.program_type).map(str::to_owned),
            insns: program.insns.len(),
            outcome: load(&opened.spec, program, args.log)?,
        });
    }
    let accepted = programs.iter().all(|one| matches!(one.outcome, Outcome::Accepted(_)));
    let Opened { name, builtin, .. } = opened;
    context.show(&view::check::Report { object: name, builtin, accepted, programs })?;
    Ok(if accepted { Exit::Done } else { Exit::No })
}

/// From here on, the object is read and programs are loaded, and nothing else.
fn confine(args: &CheckArgs) -> Result<()> {
    let mut named = confine::begin_loading()?;
    named.input(&args.object);
    named.end()
}

fn chosen<'a>(opened: &'a Opened, wanted: Option<&str>) -> Result<Vec<&'a Program>> {
    if wanted.is_some() || opened.spec.programs.is_empty() {
        return Ok(vec![opened.choose(wanted)?]);
    }
    Ok(opened.spec.programs.iter().collect())
}

/// Loads a program. A lack of rights is an error, because it does not depend on the program. The
/// kernel's `EPERM` despite all rights is a result: it does not support this type of program.
pub(super) fn load(spec: &Spec, program: &Program, with_log: bool) -> Result<Outcome> {
    let programs = Some(vec![program.name.clone()]);
    let object = match Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() }) {
        Ok(object) => object,
        Err(Error::Denied { source, missing }) if !missing.is_empty() => {
            return Err(Error::Denied { source, missing }.into());
        }
        Err(Error::Verifier { log, program: at, .. }) => {
            return Ok(Outcome::Refused(Box::new(refusal(&log, &at, program, with_log))));
        }
        Err(error) => return Ok(Outcome::Refused(Box::new(unloadable(&error)))),
    };
    let info = object.program(&program.name)?.info()?;
    Ok(Outcome::Accepted(Accepted {
        verified_insns: (info.verified_insns != 0).then_some(info.verified_insns),
        xlated_bytes: info.xlated_len,
        jited_bytes: info.jited_len,
        maps: used(&object, &info.map_ids),
        warnings: object.warnings().to_vec(),
    }))
}

/// Names of the object's maps that the program refers to.
fn used(object: &Object, ids: &[u32]) -> Vec<String> {
    let maps = object.maps().iter().filter(|map| ids.contains(&map.id()));
    maps.map(|map| map.name().to_owned()).collect()
}

/// `at` is the program that was refused: another one when that one is reached by a tail call.
fn refusal(log: &VerifierLog, at: &str, program: &Program, with_log: bool) -> Refused {
    let source = log.source.as_ref().map(|source| Source {
        file: source.file.clone(),
        line: source.line,
        text: source.text.clone(),
    });
    Refused {
        message: log.decisive.clone(),
        more: log.more.clone(),
        reached: (at != program.name).then(|| at.to_owned()),
        instruction: log.slot,
        insn: (!log.insn.is_empty()).then(|| log.insn.clone()),
        source,
        hint: hint(log),
        log: with_log.then(|| log.text.clone()),
        annotated: if with_log { log.annotated() } else { String::new() },
    }
}

/// A hint about the verifier's error. Without `CAP_PERFMON`, the verifier rejects what every packet
/// program does, so its message does not concern the program.
fn hint(log: &VerifierLog) -> Option<String> {
    match Caps::effective() {
        Ok(caps) if !caps.allows(Cap::Perfmon) => Some(
            "this process lacks CAP_PERFMON, without which the verifier takes fewer programs: \
             run it as root or grant it"
                .to_owned(),
        ),
        _ => log.hint().map(str::to_owned),
    }
}

/// It never came to the verifier, or that gave no reason.
fn unloadable(error: &Error) -> Refused {
    Refused { message: error.to_string(), ..Refused::default() }
}
