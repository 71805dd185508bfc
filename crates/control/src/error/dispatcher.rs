//! Why the members of libxdp's dispatcher cannot be moved to a chain.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why the members of libxdp's dispatcher cannot be moved to a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatcherError {
    /// The interface runs another program, or none.
    #[error(
        "{interface} runs no dispatcher of libxdp: `xway chain {interface} add` adds a program"
    )]
    NotADispatcher { interface: String },
    /// The dispatcher is of a version whose layout is unknown.
    #[error(
        "the dispatcher of {interface} has version {version}, whose members xway cannot read: \
         `xdp-loader unload {interface} --all` ends it"
    )]
    UnknownVersion { interface: String, version: u8 },
    /// No program is attached to any slot.
    #[error("the dispatcher of {interface} has no members: detach it with `xdp-loader unload`")]
    NoMembers { interface: String },
    /// No object has the code of some members.
    #[error(
        "not adopted, because the code of a running program cannot be read back and no object \
         given has it: {}. Give the object file that was loaded, in the same version: `xway chain \
         {interface} adopt FILE…`",
        missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Missing { interface: String, missing: Vec<MissingMember> },
    /// An object that no member has.
    #[error("{object} has no program of the dispatcher, which has {}", known.join(", "))]
    Unused { object: String, known: Vec<String> },
    /// The dispatcher passes packets on which the chain would keep the last verdict.
    #[error(
        "not adopted: the last program, `{name}`, continues on {}, after which libxdp passes the \
         packet; a chain would keep the verdict",
        verdicts.join(", ")
    )]
    LastContinues { name: String, verdicts: Vec<String> },
    /// The running program has other maps than the object.
    #[error(
        "the running program `{name}` uses {running} maps, and the same program of the object \
         {object}: it was loaded with other maps"
    )]
    Maps { name: String, running: usize, object: usize },
    /// Another process uses libxdp.
    #[error(
        "another process has held the lock on {} for {} s: wait until it ends",
        path.display(),
        patience.as_secs()
    )]
    Locked { path: PathBuf, patience: Duration },
}

/// A member whose code was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMember {
    /// Name of the running program.
    pub name: String,
    /// Its tag.
    pub tag: String,
    /// What the programs with its name in the objects are, one phrase each.
    pub found: Vec<String>,
}

impl fmt::Display for MissingMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` with the tag {}", self.name, self.tag)?;
        match self.found.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.found.join(", ")),
        }
    }
}
