//! Errors of this crate, by who must act on them.

mod config;
mod interface;

pub use config::ConfigError;
pub use interface::InterfaceReason;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why memory, a socket or steering cannot be set up or used. Display states what is wrong and how
/// to change it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Sizes, counts or options are out of range or contradict each other: the caller must change
    /// them.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The interface or its driver cannot do this; the reason names the setting to change.
    #[error("{interface}: {reason}")]
    Interface { interface: String, reason: InterfaceReason },
    /// A failed operation on a program or map. Boxed: with the verifier's log it is by far the
    /// largest.
    #[error(transparent)]
    Kernel(Box<kernel::Error>),
    /// A prebuilt object could not be read: a defect of this build.
    #[error("reading a built-in program: {0}")]
    Object(#[from] spec::Error),
    /// A worker's thread panicked; the others were stopped.
    #[error("the worker of queue {queue} panicked: {message}")]
    Panicked { queue: u32, message: String },
    /// The kernel rejected a call for a known reason; the advice names what to change.
    #[error("{source}; {advice}")]
    Refused { source: sys::Error, advice: String },
    /// A failed system call.
    #[error(transparent)]
    System(#[from] sys::Error),
}

impl Error {
    pub(crate) fn interface(interface: &str, reason: InterfaceReason) -> Self {
        Self::Interface { interface: interface.to_owned(), reason }
    }
}

impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        Self::Kernel(Box::new(error))
    }
}
