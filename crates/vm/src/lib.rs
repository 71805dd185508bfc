//! `xway-vm`, the engine: runs unmodified BPF objects in user space, with maps, helpers, and a
//! given environment.
//!
//! Rule: whatever bytes a program has and whatever it does, the host process is safe; an invalid
//! access is a [`Fault`] that names the instruction. The same inputs give the same outputs: no
//! clock, random number, interface or route is taken from the host.
//! Not here: system calls, captures (`pcap`), the command line. Only `memory` has `unsafe` code.
//!
//! ```
//! use spec::asm::{Assembler, Object};
//! use spec::{Input, ProgramKind, Runtime, Verdict};
//! use vm::VmRuntime;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut program = Assembler::new("drop_all", ProgramKind::XDP);
//! program.verdict(Verdict::Drop);
//! let mut object = Object::new("drop_all", "GPL");
//! object.program(program);
//!
//! let mut engine = VmRuntime::default();
//! engine.load(&object.finish()?)?;
//! let outcome = engine.run("drop_all", &Input { packet: vec![0; 60], ..Input::default() })?;
//! assert_eq!(outcome.verdict, Verdict::Drop);
//! # Ok(())
//! # }
//! ```
//!
//! [`VmRuntime`] runs programs by name. [`Machine`] has more: several workers, the outcome of each
//! packet ([`Run`]), hooks for traces and coverage, taint, timers.
//!
//! # Features
//!
//! None. Any 64-bit system; only mapping of memory depends on it.
//!
//! # Guide
//!
//! `crates/vm/README.md` has the design, `docs/feature-matrix.md` the map types, helpers and kernel
//! functions, `docs/scenario.md` the environment, `docs/python.md` the same engine for Python.
//! `examples/05-engine.rs` runs an object of this repository, `examples/tests/01-unit-test.rs` is a
//! test of one.
#![deny(unsafe_code)]

#[cfg(test)]
mod any_arguments;
mod code;
mod delivery;
mod errno;
mod error;
mod fault;
mod frame;
mod helpers;
mod hooks;
mod interpreter;
mod limits;
mod machine;
mod maps;
mod memory;
mod objects;
mod processor;
mod redirect;
mod runtime;
mod services;
mod taint;
mod worker;
pub mod world;

pub use code::{Program, SourceLine};
pub use delivery::{Loss, Output, Port, Reason, Run};
pub use errno::Errno;
pub use error::{Error, InvalidInsn, InvalidPacket, MapProblem, Unavailable};
pub use fault::{Cause, Fault, Leak, Site, SkipReason, Trap};
pub use hooks::{
    BranchCoverage, ChangedElements, Changes, Coverage, Event, FunctionCoverage, LineCoverage,
    ProgramCoverage, Trace,
};
pub use machine::{Machine, Options, run_raw};
pub use maps::{Map, MapError, Record, Records};
pub use processor::{CallEvent, Hook, Pointee, Step, WriteEvent};
pub use runtime::VmRuntime;
pub use services::TraceLine;
pub use taint::{Label, Taint};
pub use worker::Worker;
pub use world::World;
