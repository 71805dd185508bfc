//! Assembly source and objects: `asm` and `disasm --assembly`.

use serde::Serialize;
use spec::Spec;

use crate::error::{Context as _, Error, Result};
use crate::object::Opened;

/// What an assembled object contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssemblyReport {
    /// Path of the object file.
    pub object: String,
    /// Size of the file in bytes.
    pub bytes: usize,
    /// Programs of the object.
    pub programs: Vec<AssembledProgram>,
    /// Names of the maps, also of those that hold variables.
    pub maps: Vec<String>,
}

/// A program of an assembled object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssembledProgram {
    /// Name of the program.
    pub name: String,
    /// Section, which determines the type.
    pub section: String,
    /// Number of instructions, with the functions that it calls.
    pub instructions: usize,
}

/// Assembly source of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssemblySource {
    /// Text that `asm` assembles to an object with the same programs and maps.
    pub source: String,
}

impl AssemblyReport {
    /// What an object contains that will be at this path.
    pub fn new(path: &str, opened: &Opened) -> Self {
        let programs = opened.spec.programs.iter().map(|program| AssembledProgram {
            name: program.name.clone(),
            section: program.section.clone(),
            instructions: program.insns.len(),
        });
        Self {
            object: path.to_owned(),
            bytes: opened.bytes().len(),
            programs: programs.collect(),
            maps: opened.spec.maps.iter().map(|map| map.name.clone()).collect(),
        }
    }
}

/// The assembly source of an object.
///
/// # Errors
/// The object refers to types, functions or variables of the kernel.
pub fn source(spec: &Spec) -> Result<AssemblySource> {
    let source = spec::disasm::source(spec).map_err(Error::from);
    let source = source.with_context(|| format!("{} has no assembly source", spec.name))?;
    Ok(AssemblySource { source })
}
