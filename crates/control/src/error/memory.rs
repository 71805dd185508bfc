//! `MemoryError`: the maps of a rule set need more memory than they may take.

use crate::memory::{Memory, amount};

/// Why the maps of a rule set are not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The maps need more than the limit of the caller.
    #[error(
        "the maps take {}, which is over --memory ({}): {ADVICE}",
        needed.text(),
        amount(*limit)
    )]
    OverLimit {
        needed: Memory,
        /// Bytes.
        limit: u64,
    },
    /// The maps need more than is free.
    #[error(
        "the maps take {}, and {} more while they are filled, but {} are free by {limited_by}: \
         raise that or free memory; {ADVICE}",
        needed.text(),
        amount(*filling),
        amount(*free)
    )]
    OverFree {
        needed: Memory,
        /// Bytes that the kernel needs in addition while it copies contents.
        filling: u64,
        /// Bytes.
        free: u64,
        /// The control group file, or system value, that limits the memory.
        limited_by: String,
    },
}

const ADVICE: &str = "smaller sets, fewer rules, or limits `per rule` take less";
