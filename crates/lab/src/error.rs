//! What can go wrong in a lab, and who must act.

use std::io;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused; its words are inside. Mostly missing privileges.
    #[error(transparent)]
    Sys(#[from] sys::Error),

    /// The folder of labs could not be read or written.
    #[error("{action} {path}: {source}")]
    Record { action: &'static str, path: String, source: io::Error },

    #[error("`{name}` is no name for a {what}: use 1 to {most} small letters, digits and `-`")]
    Name { what: &'static str, name: String, most: usize },

    #[error("there is no lab `{0}`; `xway lab list` names those that exist")]
    NoLab(String),

    #[error(
        "lab `{0}` is not one that `xway lab up` made: a running program uses it, or it was left \
         over; `xway lab gc` removes what was left over, `xway lab gc --all` every lab that no \
         program uses"
    )]
    NotKept(String),

    #[error("lab `{lab}` has no host `{host}`")]
    NoHost { lab: String, host: String },

    #[error("`{0}` is no topology: two_hosts, router, three_hosts or service")]
    NoTopology(String),

    #[error("host `{host}`, interface `{interface}`: this lab did not make it, so it stays as is")]
    NotOurs { host: String, interface: String },

    #[error("host `{host}`, interface `{interface}` has no {what} address")]
    NoAddress { host: String, interface: String, what: &'static str },

    #[error("refusing to work in the namespace that this process was started in")]
    Home,

    #[error("{what} did not happen within {} ms", .limit.as_millis())]
    Late { what: String, limit: Duration },

    #[error("no thread for host `{host}`: {source}")]
    Thread { host: String, source: io::Error },

    #[error("{what}: {source}")]
    Socket { what: &'static str, source: io::Error },

    #[error("the frame cannot be built: {0}")]
    Frame(String),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn record(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Record { action, path: path.display().to_string(), source }
    }
}
