//! Errors of a lab, by cause and by who must act.

use std::io;
use std::time::Duration;

use crate::frame_error::FrameError;

/// Why an operation on a lab failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed, usually for lack of privileges.
    #[error(transparent)]
    Sys(#[from] sys::Error),

    /// A record of a lab could not be read or written.
    #[error("{action} {path}: {source}")]
    Record { action: &'static str, path: String, source: io::Error },

    #[error(
        "invalid name `{name}` for a {what}: use 1 to {most} lowercase letters, digits and `-`"
    )]
    Name { what: &'static str, name: String, most: usize },

    #[error("no lab is named `{0}`; `xway lab list` prints the existing ones")]
    NoLab(String),

    /// Every random name that was tried belongs to an existing lab.
    #[error("no free lab name was found in {attempts} attempts; remove labs with `xway lab gc`")]
    NoFreeName { attempts: usize },

    #[error(
        "lab `{0}` was not created by `xway lab up`: a running program uses it, or a killed \
         program left it; `xway lab gc` removes what killed programs left, and with \
         `--all` every lab that no program uses"
    )]
    NotKept(String),

    #[error("lab `{lab}` has no host `{host}`")]
    NoHost { lab: String, host: String },

    #[error("unknown topology `{0}`; expected two_hosts, router, three_hosts or service")]
    NoTopology(String),

    #[error(
        "host `{host}`, interface `{interface}`: not created by this lab, so it is not changed"
    )]
    NotOurs { host: String, interface: String },

    #[error("host `{host}`, interface `{interface}` has no {what} address")]
    NoAddress { host: String, interface: String, what: &'static str },

    #[error("a lab never changes the network namespace in which the process was started")]
    OwnNamespace,

    #[error("{what} did not happen within {} ms", .limit.as_millis())]
    Timeout { what: String, limit: Duration },

    #[error("starting a thread for host `{host}`: {source}")]
    Thread { host: String, source: io::Error },

    #[error("{what}: {source}")]
    Socket { what: &'static str, source: io::Error },

    #[error("the frame cannot be built: {0}")]
    Frame(#[from] FrameError),
}

/// Result with the error of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn record(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Record { action, path: path.display().to_string(), source }
    }
}
