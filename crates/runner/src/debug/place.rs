//! Places where a run can stop, as people write them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use spec::Verdict;
use spec::dwarf::Locals;
use spec::insn::{self, Insn};
use vm::{Pointee, Program, Step};

use super::scene::Scene;
use super::stack::function;
use super::tracker::Frame;
use crate::error::NoPlace;

/// A place where a run can stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `drop.bpf.c:31`, or `31` in the file of the program.
    Line {
        /// Name or path of the file.
        file: Option<String>,
        /// Number of the line.
        line: u32,
    },
    /// `parse_ip`: where the function begins.
    Function(String),
    /// `*17` in the main program, or `*tail:3`.
    Instruction {
        /// Name of the program.
        program: Option<String>,
        /// Slot of the instruction.
        slot: usize,
    },
    /// `map flows`: before an instruction that uses the map or a value in it.
    Map(String),
    /// `verdict drop`: after a packet with this verdict.
    Verdict(Verdict),
    /// `fault`: after a packet whose program was stopped by a fault.
    Fault,
}

/// A place in the loaded programs.
#[derive(Clone, Debug)]
pub enum Target {
    Line { file: Arc<str>, line: u32 },
    Function(String),
    Instruction { program: String, slot: usize },
    Map(u32),
    Verdict(Verdict),
    Fault,
}

/// Text that is not a [`Place`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "invalid place `{text}`: expected FILE:LINE, LINE, FUNCTION, *SLOT, *PROGRAM:SLOT, map NAME, \
     verdict NAME or fault"
)]
pub struct InvalidPlace {
    /// The text as it was given.
    pub text: String,
}

impl Place {
    /// Finds the place in loaded programs, of which the first is the main one. A line without code
    /// stands for the next one with code.
    pub(super) fn find(
        &self,
        programs: &[Arc<Program>],
        locals: &Locals,
        maps: &[String],
    ) -> Result<Target, NoPlace> {
        match self {
            Self::Line { file, line } => find_line(programs, file.as_deref(), *line),
            Self::Function(name) => {
                let known = functions(programs, locals);
                match known.contains(name) {
                    true => Ok(Target::Function(name.clone())),
                    false => Err(NoPlace::Function { name: name.clone(), known }),
                }
            }
            Self::Instruction { program, slot } => find_slot(programs, program.as_deref(), *slot),
            Self::Map(name) => match maps.iter().position(|map| map == name) {
                Some(number) => Ok(Target::Map(number as u32)),
                None => Err(NoPlace::Map { name: name.clone(), known: maps.to_vec() }),
            },
            Self::Verdict(verdict) => Ok(Target::Verdict(*verdict)),
            Self::Fault => Ok(Target::Fault),
        }
    }
}

fn find_line(programs: &[Arc<Program>], file: Option<&str>, line: u32) -> Result<Target, NoPlace> {
    let lines = || programs.iter().flat_map(|program| program.lines()).filter(|at| at.line != 0);
    let first = lines().next().ok_or(NoPlace::NoLines)?;
    let is_meant = |path: &str| match file {
        Some(file) => is_path(path, file),
        None => path == &*first.file,
    };
    let mut known: Vec<_> = lines().map(|at| crate::explain::file_name(&at.file)).collect();
    known.sort_unstable();
    known.dedup();
    if !lines().any(|at| is_meant(&at.file)) {
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(NoPlace::File { file: file.unwrap_or_default().to_owned(), known });
    }
    let after = lines().filter(|at| is_meant(&at.file) && at.line >= line);
    let found = after
        .min_by_key(|at| at.line)
        .ok_or_else(|| NoPlace::Line { file: file.unwrap_or(&first.file).to_owned(), line })?;
    Ok(Target::Line { file: Arc::clone(&found.file), line: found.line })
}

/// Whether a path ends with the components of another.
pub(super) fn is_path(path: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
    let Some(before) = path.strip_suffix(wanted) else {
        // An absolute path of the user's, where the compiler recorded a relative one.
        let path = crate::explain::file_name(path);
        return wanted.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
    };
    before.is_empty() || before.ends_with('/')
}

/// Names of compiled and of inlined functions.
fn functions(programs: &[Arc<Program>], locals: &Locals) -> Vec<String> {
    let functions = programs.iter().flat_map(|program| {
        let slots = program.source().functions.iter().map(|function| function.slot);
        slots.map(|slot| program.function_name(slot).to_owned())
    });
    let mut names: Vec<_> = functions.collect();
    let inlined: Vec<_> = names.iter().flat_map(|name| locals.inlined(name)).collect();
    names.extend(inlined.into_iter().map(|inlined| inlined.name.clone()));
    names.sort_unstable();
    names.dedup();
    names
}

fn find_slot(
    programs: &[Arc<Program>],
    name: Option<&str>,
    slot: usize,
) -> Result<Target, NoPlace> {
    let found = match name {
        Some(name) => programs.iter().find(|program| program.name() == name),
        None => programs.first(),
    };
    let known = || programs.iter().map(|program| program.name().to_owned()).collect();
    let program = found.ok_or_else(|| NoPlace::Program {
        name: name.unwrap_or_default().to_owned(),
        known: known(),
    })?;
    let name = program.name().to_owned();
    match spec::disasm::slots(&program.source().insns).any(|start| start == slot) {
        true => Ok(Target::Instruction { program: name, slot }),
        false => Err(NoPlace::Slot { program: name, slot }),
    }
}

impl Target {
    /// Whether a run that stops at this place stops here.
    pub fn matches(&self, scene: &Scene<'_>) -> bool {
        let tracker = scene.tracker;
        match (self, scene.step, scene.run) {
            (Self::Line { file, line }, Some(_), _) => {
                let here = tracker.frame().and_then(|frame| frame.line.as_ref());
                here.is_some_and(|(at, number)| number == line && at == file)
                    && tracker.begins_line()
            }
            (Self::Function(name), Some(step), _) => {
                let is_compiled = || step.program.function_name(step.slot) == name;
                tracker.begins_function() && is_compiled()
                    || tracker.frame().is_some_and(|frame| begins_inlined(frame, name, scene))
            }
            (Self::Instruction { program, slot }, Some(step), _) => {
                step.slot == *slot && step.program.name() == program
            }
            (Self::Map(number), Some(step), _) => uses(step, *number),
            (Self::Verdict(verdict), _, Some(run)) => run.verdict == *verdict,
            (Self::Fault, _, Some(run)) => run.fault.is_some(),
            _ => false,
        }
    }
}

/// Whether this is the first instruction of an inlined function.
fn begins_inlined(frame: &Frame, name: &str, scene: &Scene<'_>) -> bool {
    let (compiled, slot, _) = function(frame);
    let inlined = scene.object.locals.inlined_at(compiled, slot);
    inlined.iter().any(|inlined| inlined.name == name && inlined.first() == Some(slot))
}

/// Whether the next instruction passes a map, or an address in it, to a function, or accesses one.
fn uses(step: &Step<'_>, number: u32) -> bool {
    let is_in = |address| match step.pointee(address) {
        Pointee::Map { map } | Pointee::Value { map, .. } => map == number,
        _ => false,
    };
    let Some(insn) = step.program.source().insns.get(step.slot) else { return false };
    if insn.is_call() && !insn.is_local_call() {
        return step.registers[1..6].iter().any(|argument| is_in(*argument));
    }
    operand(*insn).is_some_and(|base| {
        let base = step.registers.get(usize::from(base)).copied().unwrap_or_default();
        is_in(base.wrapping_add(insn.off as i64 as u64))
    })
}

/// The register with the address that a load or store accesses.
fn operand(insn: Insn) -> Option<u8> {
    match insn.class() {
        insn::CLASS_LDX => Some(insn.src),
        insn::CLASS_ST | insn::CLASS_STX => Some(insn.dst),
        _ => None,
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let invalid = || InvalidPlace { text: text.to_owned() };
        let text = text.trim();
        if let Some(slot) = text.strip_prefix('*') {
            let (program, slot) = match slot.rsplit_once(':') {
                Some((program, slot)) => (Some(program.trim().to_owned()), slot),
                None => (None, slot),
            };
            let slot = slot.trim().parse().map_err(|_| invalid())?;
            return Ok(Self::Instruction { program, slot });
        }
        if let Some((word, rest)) = text.split_once(char::is_whitespace) {
            let rest = rest.trim();
            return match word {
                "map" => Ok(Self::Map(rest.to_owned())),
                "verdict" => rest.parse().map(Self::Verdict).map_err(|_| invalid()),
                _ => Err(invalid()),
            };
        }
        if let Some((file, line)) = text.rsplit_once(':') {
            let line = line.parse().map_err(|_| invalid())?;
            return Ok(Self::Line { file: Some(file.to_owned()), line });
        }
        if let Ok(line) = text.parse() {
            return Ok(Self::Line { file: None, line });
        }
        match text {
            "fault" => Ok(Self::Fault),
            "" => Err(invalid()),
            name => Ok(Self::Function(name.to_owned())),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file: Some(file), line } => write!(f, "{file}:{line}"),
            Self::Line { file: None, line } => write!(f, "{line}"),
            Self::Function(name) => f.write_str(name),
            Self::Instruction { program: Some(program), slot } => write!(f, "*{program}:{slot}"),
            Self::Instruction { program: None, slot } => write!(f, "*{slot}"),
            Self::Map(name) => write!(f, "map {name}"),
            Self::Verdict(verdict) => write!(f, "verdict {verdict}"),
            Self::Fault => f.write_str("fault"),
        }
    }
}

/// What was found, in the notation of [`Place`].
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => {
                write!(f, "{}:{line}", crate::explain::file_name(file))
            }
            Self::Function(name) => f.write_str(name),
            Self::Instruction { program, slot } => write!(f, "*{program}:{slot}"),
            Self::Map(number) => write!(f, "map {number}"),
            Self::Verdict(verdict) => write!(f, "verdict {verdict}"),
            Self::Fault => f.write_str("fault"),
        }
    }
}
