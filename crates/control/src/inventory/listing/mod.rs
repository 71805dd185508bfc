//! The code of programs in the kernel and in objects, disassembled.

mod machine;
mod object;
mod symbols;
mod translated;

use kernel::{Program, Source};
use serde::Serialize;

pub use object::{ObjectListing, ObjectProgram, object_listing};

use super::{ProgramRef, program_ref};
use crate::error::{Error, Result};

/// The code of a program.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// The program.
    pub program: ProgramRef,
    /// What is listed.
    pub form: Form,
    /// Functions in the order of the program.
    pub functions: Vec<Function>,
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Instructions after the verifier.
    Translated,
    /// Machine code, with `--jited`.
    Jited,
}

/// One function of the program.
#[derive(Debug, Serialize)]
pub struct Function {
    /// Name of the function.
    pub name: String,
    /// Kernel address of machine code, as `"0x…"`.
    pub address: Option<String>,
    /// Instructions in order.
    pub instructions: Vec<Instruction>,
}

/// One instruction.
#[derive(Debug, Serialize)]
pub struct Instruction {
    /// Slot in the program, or byte in the function's machine code.
    pub at: usize,
    /// The instruction in hexadecimal digits.
    pub bytes: String,
    /// The instruction in the kernel's notation, or in that of the processor (AT&T).
    pub text: String,
    /// The source line that begins here.
    pub source: Option<Source>,
    /// Number of runs; `null` unless `prog hits` counted them.
    pub hits: Option<u64>,
}

/// Disassembles a program.
///
/// # Errors
/// The kernel hides the code from this process, or the program has no machine code.
pub fn listing(program: &Program, form: Form) -> Result<Listing> {
    let info = program.info()?;
    let dump = program.dump()?;
    if dump.translated.is_empty() {
        return Err(Error::HiddenCode { program: program.reference().to_string() });
    }
    if form == Form::Jited && dump.machine.is_empty() {
        return Err(Error::NoMachineCode { program: program.reference().to_string() });
    }
    let functions = match form {
        Form::Translated => translated::list(&dump),
        Form::Jited => machine::list(&dump),
    };
    Ok(Listing { program: program_ref(&info), form, functions })
}
