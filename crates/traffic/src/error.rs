//! What can go wrong, by who must act.

use crate::stream;
use crate::template::InvalidTemplate;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Display says what is wrong and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The description of a stream: the caller's file or flags.
    #[error(transparent)]
    Stream(#[from] stream::Error),
    /// The numbers of a run do not fit together, or leave a limit.
    #[error("{0}")]
    Config(String),
    /// The interface, or what is behind it, cannot do this; the text names the setting.
    #[error("{interface}: {why}")]
    Interface { interface: String, why: String },
    /// A capture that is to be sent.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
    /// A generated program was not accepted by the assembler: a defect of this crate.
    #[error("assembling the generator: {0}")]
    Assembler(#[from] spec::asm::Error),
    /// A prebuilt object could not be read: a defect of this build.
    #[error("reading a program of our own: {0}")]
    Object(#[from] spec::Error),
    /// Boxed: with a verifier's words in it, it is by far the largest.
    #[error(transparent)]
    Kernel(Box<kernel::Error>),
    #[error(transparent)]
    System(#[from] sys::Error),
    /// The other end of a connection, or the path to it.
    #[error("{peer}: {why}")]
    Peer { peer: String, why: String },
}

impl From<InvalidTemplate> for Error {
    fn from(error: InvalidTemplate) -> Self {
        Self::Config(error.to_string())
    }
}

impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        Self::Kernel(Box::new(error))
    }
}
