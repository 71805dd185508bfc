//! Loads programs of an object without attaching them, and returns the verifier's results.
//!
//! Rule: a loaded program is removed before its result is returned. Lack of rights is an error.

use kernel::{Error, LoadOptions, Object, Result, Source, VerifierLog};
use serde::Serialize;
use spec::{Program, Spec};
use sys::bpf::uapi::prog_type;

use crate::object::Opened;

/// The verifier's results for the programs of an object.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// Name of the object: that of the file without folder and ending, or of the built-in program.
    pub object: String,
    /// The object is part of `xway`.
    pub builtin: bool,
    /// All programs were accepted.
    pub accepted: bool,
    /// Programs in the order of the object.
    pub programs: Vec<Checked>,
}

/// One program.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Name of the program.
    pub name: String,
    /// ELF section that it is in.
    pub section: String,
    /// Program type; `null` when neither section nor caller states it.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Instructions (slots of 8 bytes) in the object, before the verifier's rewriting.
    pub insns: usize,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Either key is present.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The verifier accepted the program.
    Accepted(Accepted),
    /// The kernel refused the program.
    Refused(Box<Refused>),
}

/// A program that was accepted.
#[derive(Debug, Serialize)]
pub struct Accepted {
    /// Instructions that the verifier walked; `null` before Linux 5.16.
    pub verified_insns: Option<u32>,
    /// Size of the translated instructions, in bytes.
    pub xlated_bytes: u32,
    /// Size of the machine code, in bytes; 0 without a JIT.
    pub jited_bytes: u32,
    /// Names of the maps that it uses.
    pub maps: Vec<String>,
    /// Differences between the object and what was loaded.
    pub warnings: Vec<String>,
}

/// A program that was refused.
#[derive(Debug, Default, Serialize)]
pub struct Refused {
    /// The line of the verifier's log that decides.
    pub message: String,
    /// Further lines that belong to it.
    pub more: Vec<String>,
    /// Name of another program, which this one tail-calls and which was refused.
    pub reached: Option<String>,
    /// Number of the instruction that was refused.
    pub instruction: Option<usize>,
    /// The refused instruction in the kernel's notation.
    pub insn: Option<String>,
    /// Its source line.
    pub source: Option<Source>,
    /// What to change.
    pub hint: Option<String>,
    /// The verifier's whole log, with `--log`.
    pub log: Option<String>,
    /// The log with instructions and source lines in columns, for people.
    #[serde(skip)]
    pub annotated: String,
}

/// Loads some programs of an object, each on its own.
///
/// # Errors
/// This process lacks a right that loading needs.
pub fn check(opened: &Opened, programs: &[&Program], with_log: bool) -> Result<CheckReport> {
    let checked = programs.iter().map(|program| {
        Ok(Checked {
            name: program.name.clone(),
            section: program.section.clone(),
            kind: prog_type::name(program.kind.program_type).map(str::to_owned),
            insns: program.insns.len(),
            outcome: load(&opened.spec, program, with_log)?,
        })
    });
    let programs = checked.collect::<Result<Vec<_>>>()?;
    let accepted = programs.iter().all(|one| matches!(one.outcome, Outcome::Accepted(_)));
    Ok(CheckReport { object: opened.name.clone(), builtin: opened.builtin, accepted, programs })
}

/// Loads one program.
///
/// # Errors
/// This process lacks a right that loading needs. `EPERM` despite all rights is a result: the
/// kernel does not offer that kind of program.
pub fn load(spec: &Spec, program: &Program, with_log: bool) -> Result<Outcome> {
    let programs = Some(vec![program.name.clone()]);
    let object = match Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() }) {
        Ok(object) => object,
        Err(Error::Denied { source, missing }) if !missing.is_empty() => {
            return Err(Error::Denied { source, missing });
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

/// The verifier's refusal. `at` is the program that was refused, which may be the target of a tail
/// call.
fn refusal(log: &VerifierLog, at: &str, program: &Program, with_log: bool) -> Refused {
    Refused {
        message: log.decisive.clone(),
        more: log.more.clone(),
        reached: (at != program.name).then(|| at.to_owned()),
        instruction: log.slot,
        insn: (!log.insn.is_empty()).then(|| log.insn.clone()),
        source: log.source.clone(),
        hint: log.hint().map(str::to_owned),
        log: with_log.then(|| log.text.clone()),
        annotated: if with_log { log.annotated() } else { String::new() },
    }
}

/// A refusal before the verifier ran, or without a reason.
fn unloadable(error: &Error) -> Refused {
    Refused { message: error.to_string(), ..Refused::default() }
}
