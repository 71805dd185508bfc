//! A BPF object is data first: this crate turns an ELF file or a generated program into a
//! [`Spec`] and knows nothing of the system it runs on.
//!
//! Rule: no input, however damaged, makes it panic or look outside its bytes. It holds the
//! instructions, types, relocations, assembler and disassembler, and the traits at the seam to
//! the runtimes. Not here: system calls, verification, execution.
#![forbid(unsafe_code)]

pub mod asm;
pub mod btf;
pub mod co_re;
pub mod compose;
mod definition;
pub mod disasm;
mod elf;
mod error;
mod global;
pub mod insn;
mod kconfig;
mod kind;
mod limits;
mod memory_map;
mod model;
mod plan;
mod seam;

pub use error::{Error, Place};
pub use global::ValueError;
pub use insn::Insn;
pub use memory_map::MemoryMap;
pub use model::{
    FieldRelocation, Fixup, Function, Global, Initial, KconfigVar, Line, MapDef, MapKind, Program,
    ProgramKind, Spec, Target, Unresolved,
};
pub use plan::{Plan, UnknownProgram};
pub use seam::{Expect, Input, Map, Outcome, Runtime, UnknownVerdict, Verdict};
