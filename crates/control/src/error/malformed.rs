//! `Malformed`: stored data or a kernel setting that cannot be understood.

use std::string::FromUtf8Error;

/// Data that another version, or another process, may have written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The text of a map is not UTF-8.
    #[error("{what} are not UTF-8: {source}")]
    Text { what: &'static str, source: FromUtf8Error },
    /// A program of an interrupted change has no pin any more.
    #[error("program {program} is no longer pinned")]
    Unpinned { program: String },
    /// A kernel setting does not end with a number of the expected range.
    #[error("/proc/sys/net/{path} is `{value}`: expected a number of at most {max}")]
    Setting { path: String, value: String, max: u64 },
    /// The built-in object lacks a global variable.
    #[error("the object of `{object}` has no global variable `{name}`")]
    NoGlobal { object: &'static str, name: &'static str },
}
