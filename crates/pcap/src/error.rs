//! The error of this crate: what is wrong with a capture, and at which byte.
//!
//! Rule: offsets count bytes from the start of the stream. Not here: the name of the file,
//! which the caller adds.

use std::io;

use thiserror::Error;

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a capture cannot be read further, or written.
#[derive(Debug, Error)]
pub enum Error {
    #[error("not a pcap or pcapng capture: {found}")]
    NotCapture { found: String },

    #[error("byte {offset}: {what}")]
    Unsupported { offset: u64, what: String },

    #[error("byte {offset}: {what}; the capture is damaged: copy or record it again")]
    Damaged { offset: u64, what: String },

    #[error("byte {offset}: {what} of {size} bytes; {limit} at most are read")]
    TooBig { offset: u64, what: &'static str, size: u64, limit: u64 },

    /// The stream ends inside a header or record. All packets returned before are complete.
    #[error(
        "the capture is truncated: the record at byte {offset} lacks {missing} bytes or more; \
         all packets before it are complete"
    )]
    Truncated { offset: u64, missing: u64 },

    /// The format cannot represent the caller's data. Nothing was written.
    #[error("cannot be written: {what}")]
    Unwritable { what: String },

    #[error("read at byte {offset}: {source}")]
    Read { offset: u64, source: io::Error },

    #[error("write at byte {offset}: {source}")]
    Write { offset: u64, source: io::Error },
}

impl Error {
    pub(crate) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { offset, what: what.into() }
    }

    pub(crate) fn unsupported(offset: u64, what: impl Into<String>) -> Self {
        Self::Unsupported { offset, what: what.into() }
    }

    pub(crate) fn unwritable(what: impl Into<String>) -> Self {
        Self::Unwritable { what: what.into() }
    }
}
