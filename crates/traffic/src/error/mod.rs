//! Errors of this crate, by who must act on them.

mod config;
mod interface;
mod scan;

pub use config::ConfigError;
pub use interface::InterfaceReason;
pub use scan::ScanError;

use crate::stream;
use crate::template::InvalidTemplate;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why traffic cannot be generated or received. Display states what is wrong and how to change it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The description of a stream is invalid: the caller's file or flags.
    #[error(transparent)]
    Stream(#[from] stream::Error),
    /// A template does not describe frames.
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    /// Settings of a run are out of range or contradict each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The interface, or its peer, cannot do this; the reason names the setting to change.
    #[error("{interface}: {reason}")]
    Interface { interface: String, reason: Box<InterfaceReason> },
    /// A scan cannot be planned.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A capture that is to be sent cannot be read.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
    /// The assembler rejected a generated program: a defect of this crate.
    #[error("assembling the generator: {0}")]
    Assembler(#[from] spec::asm::Error),
    /// A prebuilt object could not be read: a defect of this build.
    #[error("reading a built-in program: {0}")]
    Object(Box<spec::Error>),
    /// A failed operation on a map, program or link. Boxed: with the verifier's log it is by far
    /// the largest.
    #[error(transparent)]
    Kernel(Box<kernel::Error>),
    /// A failed system call.
    #[error(transparent)]
    System(#[from] sys::Error),
    /// The next hop does not answer.
    #[error("{peer} does not answer ARP or neighbor discovery; is it up, and on this link?")]
    NoNeighbor { peer: std::net::IpAddr },
    /// A part of the run has ended, so that it can no longer be used.
    #[error("{0}")]
    Ended(&'static str),
}

impl Error {
    pub(crate) fn interface(interface: &str, reason: InterfaceReason) -> Self {
        Self::Interface { interface: interface.to_owned(), reason: Box::new(reason) }
    }
}

impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        Self::Kernel(Box::new(error))
    }
}

impl From<spec::Error> for Error {
    fn from(error: spec::Error) -> Self {
        Self::Object(Box::new(error))
    }
}
