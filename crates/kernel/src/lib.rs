//! `xway-kernel`: the Linux runtime, which loads a [`spec::Spec`] through `bpf(2)`.
//!
//! The life cycle is [`Object::load`] → [`Program`]s and [`Map`]s → [`attach`] → [`Link`]. Rule:
//! every handle is a guard, and what must outlive the process is pinned or kept by an explicit
//! call. Loading needs `CAP_BPF` and `CAP_NET_ADMIN`, listing `CAP_SYS_ADMIN`; Linux 5.15 is the
//! oldest kernel that is supported. Not here: the purpose of a program. How attachments persist and
//! are replaced is described in `docs/state.md`.
//!
//! ```no_run
//! use kernel::{Attach, LoadOptions, Mode, Object, Replace, attach};
//!
//! let spec = spec::Spec::parse("drop.o", &std::fs::read("drop.o")?)?;
//! let object = Object::load(&spec, &LoadOptions::default())?;
//! let program = object.program("drop")?;
//! let ifindex = sys::net::Netlink::open()?.link("eth0")?.ifindex;
//! let mode = Mode::Native;
//! let link = attach(&Attach { ifindex, program, mode, replace: Replace::No })?;
//! // The program runs until `link` is dropped.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! None. Items that need a newer kernel state its version, and [`probe`] finds out what this one
//! has.
//!
//! # Guide
//!
//! `examples/03-test-run.rs` runs a program in the kernel without an interface. A program that the
//! verifier rejects is an [`Error::Verifier`] with the decisive line, its source and advice.
//! Programs that must outlive the process, and be found again, are managed by `xway-control`.
#![forbid(unsafe_code)]

mod error;
mod limits;
mod link;
pub mod list;
mod load;
mod map;
mod memlock;
pub mod name;
pub mod probe;
mod program;
mod ringbuf;
mod runtime;
mod tags;
mod verifier;

pub use error::{Error, ModeName, ProgramRef, Result};
pub use link::{
    Attach, Detached, ExpectedState, Link, Replace, TcxSide, attach, attach_expecting,
    attach_raw_tracepoint, attach_tcx, detach, detach_all, restore,
};
pub use load::{Binding, LoadOptions, Object, fill_configuration, memory, open_module_types};
pub use map::{Element, Map, PerCpu};
pub use program::{
    Burst, Dump, DumpFunction, DumpLine, LiveRun, Program, TestOutcome, TestRun, tag_text,
};
pub use ringbuf::RingBuffer;
pub use runtime::KernelRuntime;
pub use sys::bpf::{LinkInfo, LinkTarget, MapCreate, MapInfo, ProgInfo};
pub use sys::net::{Ifindex, XdpMode as Mode};
pub use tags::{Tags, tags};
pub use verifier::{Source, VerifierLog};
