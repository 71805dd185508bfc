//! `xway-spec`: BPF objects as data. It converts an ELF file or a generated program to a [`Spec`],
//! independently of the system on which it runs.
//!
//! Rule: no input, however damaged, causes a panic or an access outside of its bytes. The crate
//! contains instructions, types, relocations, assembler and disassembler, and the traits that the
//! runtimes implement. Not here: system calls, verification, execution. The guide to the object
//! model is ARCHITECTURE.md.
//!
//! ```
//! use spec::asm::{Assembler, Object};
//! use spec::{ProgramKind, Verdict};
//!
//! let mut program = Assembler::new("drop_all", ProgramKind::XDP);
//! program.verdict(Verdict::Drop);
//! let mut object = Object::new("drop_all", "GPL");
//! object.program(program);
//! let spec = object.finish()?;
//! assert_eq!(spec.programs[0].insns.len(), 2);
//! # Ok::<(), spec::asm::Error>(())
//! ```
//!
//! # Features
//!
//! None. The crate uses no operating system.
//!
//! # Guide
//!
//! [`Spec::parse`] reads objects of clang, of any age: `struct bpf_map_def` and maps in BTF, CO-RE,
//! globals, kconfig, ksym and kfunc externs. [`asm`] assembles programs, [`disasm`] prints them in
//! the kernel's notation, [`compose`] makes one program of several. A runtime implements
//! [`Runtime`] and [`Map`]: `xway-kernel` and `xway-vm` do. `examples/01-read-object.rs` and
//! `examples/02-assemble.rs` show both beginnings.
#![forbid(unsafe_code)]

pub mod asm;
pub mod back_edges;
pub mod btf;
mod btf_kind;
pub mod co_re;
pub mod compose;
mod definition;
pub mod disasm;
pub mod dwarf;
mod elf;
mod error;
pub mod field;
mod global;
pub mod insn;
mod kconfig;
mod kind;
mod limits;
mod memory_map;
mod model;
mod plan;
mod runtime;

pub use error::{Error, FieldError, Place, ValueError};
pub use insn::Insn;
pub use memory_map::MemoryMap;
pub use model::{
    FieldRelocation, Fixup, Function, Global, Initial, KconfigVar, Line, MapDef, MapKind, Program,
    ProgramKind, Spec, Target, Unresolved,
};
pub use plan::{Plan, UnknownProgram};
pub use runtime::{Expect, Input, Map, Outcome, Runtime, UnknownVerdict, Verdict};
