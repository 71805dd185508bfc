//! What this crate's callers can get wrong: an object that cannot be loaded, a name not there.

use crate::errno::Errno;
use crate::fault::Fault;

/// Errors of loading and of the control path. A program's own faults are [`Fault`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("object `{object}`: {source}")]
    Object { object: String, source: Box<spec::Error> },
    #[error("program `{program}` instruction {slot}: {why}")]
    Code { program: String, slot: usize, why: String },
    #[error("program `{program}` instruction {slot}: {function} is not there for XDP: {why}")]
    Function { program: String, slot: usize, function: String, why: String },
    #[error("map `{map}`: {why}: {errno}")]
    Map { map: String, why: String, errno: Errno },
    #[error("object `{object}` has no {what} `{name}`; it has: {}", .known.join(", "))]
    Unknown { object: String, what: &'static str, name: String, known: Vec<String> },
    #[error("object `{object}` needs the {what} `{name}`: {why}")]
    Needs { object: String, what: &'static str, name: String, why: String },
    #[error("program `{program}` is not loaded: {why}")]
    Skipped { program: String, why: String },
    #[error("packet: {0}")]
    Packet(String),
    #[error("world: {0}")]
    World(String),
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

pub type Result<T> = std::result::Result<T, Error>;
