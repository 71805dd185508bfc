//! What can go wrong, by who must act.

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Display says what is wrong and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Sizes, counts or options that do not fit together, or leave a limit: the caller's.
    #[error("{0}")]
    Config(String),
    /// The interface or its driver cannot do this; the text names the setting to change.
    #[error("{interface}: {why}")]
    Interface { interface: String, why: String },
    /// Programs and maps. Boxed: with a verifier's words in it, it is by far the largest.
    #[error(transparent)]
    Kernel(Box<kernel::Error>),
    /// A prebuilt object could not be read: a defect of this build.
    #[error("reading a program of our own: {0}")]
    Object(#[from] spec::Error),
    /// A worker's thread panicked; the others were stopped.
    #[error("the worker of queue {queue} panicked: {message}")]
    Panicked { queue: u32, message: String },
    /// The kernel refused a call for a reason that is known; the advice says what to change.
    #[error("{source}; {advice}")]
    Refused { source: sys::Error, advice: String },
    #[error(transparent)]
    System(#[from] sys::Error),
}

impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        Self::Kernel(Box::new(error))
    }
}
