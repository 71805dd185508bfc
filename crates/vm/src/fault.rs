//! What stopped a program at run time: cause, instruction, source line.
//!
//! Rule: a fault is the program's doing and says where; it never stands for a broken invariant
//! of this crate (those assert). Programs that the kernel accepts raise none.

use std::fmt;

use crate::limits::CHAIN;

/// Why a run ended without a verdict. Boxed where it is returned: the good path stays thin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub cause: Cause,
    /// Filled in by the interpreter, which alone knows the instruction.
    pub site: Option<Site>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("{} {len} bytes at {address:#x}: {why}", if *.write { "writes" } else { "reads" })]
    Access { address: u64, len: usize, write: bool, why: String },
    #[error("argument {argument} of {function}: {why}")]
    Argument { function: String, argument: u8, why: String },
    #[error("{0}")]
    Refused(String),
    #[error("the call depth of {CHAIN} functions is used up")]
    Depth,
    #[error("still running after {budget} instructions")]
    Endless { budget: u64 },
    #[error("interrupted")]
    Interrupted,
}

/// Where it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    pub program: String,
    pub function: String,
    pub slot: usize,
    /// Disassembled.
    pub insn: String,
    /// The register that held the address, where one did.
    pub register: Option<u8>,
    /// File, line and text, for objects with line information.
    pub source: Option<(String, u32, String)>,
}

impl Fault {
    pub fn new(cause: Cause) -> Box<Self> {
        Box::new(Self { cause, site: None })
    }

    /// Something that the kernel's verifier would have refused to load.
    pub fn refused(why: impl Into<String>) -> Box<Self> {
        Self::new(Cause::Refused(why.into()))
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(site) = &self.site else {
            return write!(f, "{}", self.cause);
        };
        write!(f, "`{}` instruction {}: `{}`", site.function, site.slot, site.insn)?;
        if let Some(register) = site.register {
            write!(f, " (r{register})")?;
        }
        write!(f, ": {}", self.cause)?;
        if let Some((file, line, text)) = &site.source {
            write!(f, "\n  {file}:{line}: {}", text.trim())?;
        }
        Ok(())
    }
}
