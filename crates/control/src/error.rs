//! `Error`: why a call failed, by cause.

use std::{fmt, io};

use crate::state::Holder;

/// A result with the [`Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Unless a variant says otherwise, nothing has changed.
///
/// [`fmt::Display`] gives the outermost sentence; causes follow by [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused a program, a map or a link.
    #[error("{0}")]
    Kernel(#[from] kernel::Error),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] sys::Error),
    /// A file of the state directory, or of the caller, cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An object file is malformed, or does not have what was asked of it.
    #[error("{0}")]
    Object(#[from] spec::Error),
    /// The object has no such program, or several of which one must be chosen.
    #[error("{0}")]
    NoProgram(String),
    /// A program cannot be made to ask its device for VLAN tags.
    #[error("{0}")]
    Tags(#[from] functions::tags::Error),
    /// A program cannot be composed with its counters, or with another one.
    #[error("{0}")]
    Compose(#[from] spec::compose::Error),
    /// A file of rules has errors.
    #[error("{0}")]
    RuleFile(#[from] filter::file::Errors),
    /// A rule, or a part of one, is malformed.
    #[error("{0}")]
    Rule(#[from] filter::text::Error),
    /// Rules cannot be compiled.
    #[error("{0}")]
    Compile(#[from] filter::Error),
    /// The rules of `drop` cannot be read or changed.
    #[error("{0}")]
    Drop(#[from] functions::drop::Error<kernel::Error>),
    /// The maps of `forward` cannot be changed.
    #[error("{0}")]
    Forward(#[from] functions::forward::Error<kernel::Error>),
    /// The network namespace has no interface of this name.
    #[error("there is no interface `{name}` here; there are {}", known.join(", "))]
    NoInterface {
        name: String,
        /// Names of the interfaces that exist.
        known: Vec<String>,
    },
    /// No filter runs on the interface.
    #[error("{}", crate::filter::no_filter(interface))]
    NoFilter { interface: String },
    /// The interface was moved here from another namespace, with its filter.
    #[error(
        "{interface} runs a filter that was put on it in another network namespace: move it back \
         to see or change the filter, or take it off with `xway detach --force {interface}`"
    )]
    MovedFilter { interface: String },
    /// The filter was replaced again and again while it was read.
    #[error("the filter of {interface} changes faster than it can be read: look again")]
    Unstable { interface: String },
    /// A process tries rules, or samples packets, on the interface: one at a time.
    #[error(
        "another trial runs on this interface, or packets are looked at, by {0}: wait for its \
         end, or interrupt it"
    )]
    TrialRuns(Holder),
    /// Another process holds the writers' lock.
    #[error("{0}")]
    Locked(String),
    /// Another owner's program runs on the interface.
    #[error(
        "{interface} runs program {id}{name} in {mode} mode, which xway did not attach; --force \
         detaches it"
    )]
    ForeignProgram {
        interface: String,
        id: u32,
        /// ` `name`` with a leading space, or empty where it may not be read.
        name: String,
        mode: &'static str,
    },
    /// The request contradicts what runs, or itself.
    #[error("{0}")]
    Refused(String),
    /// VLAN tags cannot be seen on the interface, and the program depends on them.
    #[error(
        "VLAN tags of packets that {interface} receives cannot be seen: {reason}; frames of every \
         VLAN would be taken for untagged ones. Use --mode native on Linux 6.8 or later, or \
         --ignore-stripped-tags where no tagged frames arrive"
    )]
    HiddenTags { interface: String, reason: String },
    /// The maps of the rules take more memory than allowed or free.
    #[error("{0}")]
    Memory(String),
    /// This process lacks rights.
    #[error("{0}")]
    NotPermitted(String),
    /// What is kept in the state directory cannot be understood, such as that of another version.
    #[error("{0}")]
    Malformed(String),
    /// What was being done when the cause occurred.
    #[error("{what}")]
    While {
        what: String,
        #[source]
        cause: Box<Error>,
    },
}

impl Error {
    /// The cause below what was being done.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::While { cause, .. } => cause.innermost(),
            other => other,
        }
    }

    /// The kernel's refusal, if that is the cause.
    pub fn kernel(&self) -> Option<&kernel::Error> {
        match self.innermost() {
            Self::Kernel(error) => Some(error),
            _ => None,
        }
    }
}

/// Adds what was being done to an error.
pub(crate) trait Context<T> {
    fn context(self, what: &str) -> Result<T>;

    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: &str) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| Error::While {
            what: what().to_string(),
            cause: Box::new(error.into()),
        })
    }
}

/// The error and its causes on one line; a cause whose words were said already is left out.
pub(crate) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        next = cause.source();
    }
    text
}
