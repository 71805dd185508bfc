//! The error of this crate: what failed, why, and how to correct it.
//!
//! Rule: a rejection by the verifier contains its whole log, and displays only the decisive line.

use std::fmt;

use sys::cap::{Cap, Caps};
use sys::errno::{E2BIG, EPERM};
use sys::net::XdpMode;
use thiserror::Error;

use crate::verifier::VerifierLog;

/// Result with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an object cannot be loaded, attached, listed or changed.
#[derive(Debug, Error)]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] sys::Error),

    /// A system call failed for lack of permission.
    #[error("{source}; {}", advice(.missing))]
    Denied {
        source: sys::Error,
        /// Capabilities that this process lacks; empty if it has all that are relevant.
        missing: Vec<Cap>,
    },

    /// The verifier rejected a program.
    #[error("program `{program}` rejected by the kernel's verifier: {log}")]
    Verifier { program: String, errno: i32, log: Box<VerifierLog> },

    /// The verifier gave up: a program has too many paths. Only for a tentative load
    /// ([`LoadOptions::tentative`](crate::LoadOptions::tentative)); others get its log.
    #[error(
        "program `{program}` exceeds the limits of the kernel's verifier, which follows 1,000,000 \
         instructions on all paths together"
    )]
    TooComplex { program: String },

    /// The verifier rejected a program, and its log was not requested. Only for a tentative load
    /// ([`LoadOptions::tentative`](crate::LoadOptions::tentative)).
    #[error("program `{program}` rejected by the kernel's verifier (errno {errno})")]
    Unexplained { program: String, errno: i32 },

    /// The object is invalid.
    #[error(transparent)]
    Object(#[from] spec::Error),

    #[error("`{object}` has no program `{name}`; it has {}", words(.known))]
    UnknownProgram { object: String, name: String, known: Vec<String> },

    #[error("`{object}` has no map `{name}`; it has {}", words(.known))]
    UnknownMap { object: String, name: String, known: Vec<String> },

    #[error(
        "program `{program}` in section `{section}` has no type: \
         name the section after one (`xdp`) or specify it with --type"
    )]
    UnknownType { program: String, section: String },

    /// The running kernel lacks a symbol, type or option that the object requires.
    #[error("program object needs {what} `{name}`, which this kernel does not have{why}")]
    Unresolved { what: &'static str, name: String, why: String },

    /// A shared or pinned map differs from the object's declaration.
    #[error("map `{map}` cannot be shared: its {what} is {found}, the object wants {wanted}")]
    Incompatible { map: String, what: &'static str, found: u64, wanted: u64 },

    #[error("map `{map}`: {what} has {given} bytes, it takes {wanted}")]
    WrongSize { map: String, what: &'static str, given: usize, wanted: usize },

    /// The kernel, or the control group that is charged, has no memory for a map.
    #[error(
        "map `{map}` takes {bytes} bytes, and there is no memory for it: raise the limit of the \
         control group or free memory, or make the map smaller: {source}"
    )]
    Memory { map: String, bytes: u64, source: sys::Error },

    /// The kernel does not create a map as it is defined.
    #[error("map `{map}`: {why}: {source}")]
    Definition { map: String, why: &'static str, source: sys::Error },

    /// Some elements were written before one was rejected.
    #[error("map `{map}`: {done} of {wanted} elements were written: {source}")]
    PartialUpdate { map: String, done: usize, wanted: usize, source: sys::Error },

    #[error(
        "{interface} already runs {} in {mode} mode; replace it with --replace, \
         or detach it first", .program
    )]
    Occupied { interface: String, mode: ModeName, program: ProgramRef },

    /// Another process changed the interface between the check and the operation.
    #[error("{interface}: another program was attached meanwhile, nothing was changed: {source}")]
    Overtaken { interface: String, source: sys::Error },

    #[error("{what} ends with this process; pin it to keep it")]
    NotPinned { what: String },

    #[error("pinned object {path} is not a {wanted}; remove the file or choose another path")]
    WrongPin { path: String, wanted: &'static str },

    #[error("{what}: {why}")]
    Unsupported { what: String, why: String },
}

/// A program as messages name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRef {
    /// Program id of the kernel.
    pub id: u32,
    /// Empty if the kernel does not report it.
    pub name: String,
    /// Tag as the kernel prints it; empty if unknown.
    pub tag: String,
    /// Processes that hold it or its link.
    pub holders: Vec<String>,
}

impl fmt::Display for ProgramRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "program {}", self.id)?;
        if !self.name.is_empty() {
            write!(f, " `{}`", self.name)?;
        }
        if !self.tag.is_empty() {
            write!(f, " (tag {})", self.tag)?;
        }
        if !self.holders.is_empty() {
            write!(f, " of {}", self.holders.join(", "))?;
        }
        Ok(())
    }
}

/// A mode that displays as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeName(pub XdpMode);

impl fmt::Display for ModeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name())
    }
}

impl Error {
    /// Adds the missing capabilities to an error for lack of permission.
    pub(crate) fn from_call(source: sys::Error) -> Self {
        if !source.is(EPERM) {
            return Self::System(source);
        }
        let missing = Caps::effective().map(Caps::missing).unwrap_or_default();
        let needed = needed(source.call);
        let missing = missing.into_iter().filter(|cap| needed.contains(cap)).collect::<Vec<_>>();
        Self::Denied { source, missing }
    }

    /// The errno of the system call, if one failed.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System(source)
            | Self::Denied { source, .. }
            | Self::Memory { source, .. }
            | Self::Definition { source, .. }
            | Self::PartialUpdate { source, .. }
            | Self::Overtaken { source, .. } => Some(source.errno),
            Self::Verifier { errno, .. } | Self::Unexplained { errno, .. } => Some(*errno),
            Self::TooComplex { .. } => Some(E2BIG),
            _ => None,
        }
    }

    /// Whether the verifier rejected a program.
    pub fn is_by_verifier(&self) -> bool {
        matches!(self, Self::Verifier { .. } | Self::TooComplex { .. } | Self::Unexplained { .. })
    }
}

/// Names the object in an error of `sys`, which knows only a descriptor.
pub(crate) fn named(object: &str) -> impl Fn(sys::Error) -> Error + '_ {
    move |mut error| {
        if error.object.is_empty() {
            object.clone_into(&mut error.object);
        }
        Error::from_call(error)
    }
}

/// Capabilities that a call requires: opening objects of other processes takes more than loading.
fn needed(call: &str) -> &'static [Cap] {
    if call.contains("_BY_ID") || call.contains("_NEXT_ID") {
        return &[Cap::SysAdmin];
    }
    &[Cap::Bpf, Cap::NetAdmin, Cap::Perfmon]
}

fn advice(missing: &[Cap]) -> String {
    if missing.is_empty() {
        return "all capabilities are there, so the kernel refuses this by its configuration, \
                a security module or lockdown"
            .to_owned();
    }
    let names: Vec<_> = missing.iter().map(|cap| cap.name()).collect();
    format!("this process lacks {}: run it as root or grant them", names.join(", "))
}

fn words(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}
