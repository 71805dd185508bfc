//! Runs unmodified BPF objects in user space: machine, maps, helpers, and a given environment.
//!
//! Rule: whatever bytes a program has and whatever it does, the host process is safe; an invalid
//! access is a [`Fault`] that names the instruction. The same inputs give the same outputs: no
//! clock, random number, interface or route is taken from the host.
//! Not here: system calls, captures (`pcap`), the command line. Only `memory` has `unsafe` code.
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
