//! Turns a failed call into an error with advice.

use sys::errno::EBUSY;

use super::advice::advice;
use super::busy::busy;
use super::environment::{Attempt, Environment};
use crate::error::Error;

/// Adds advice to a failed call. For a bind that failed with `EBUSY` it searches for the holder of
/// the queue, so it should be called after retries.
pub fn explain(error: sys::Error, attempt: Attempt<'_>) -> Error {
    let advice = match (attempt.device, error.call, error.errno) {
        (Some(device), "bind(AF_XDP)", EBUSY) => Some(busy(device, attempt.wanted.queue)),
        _ => advice(error.call, error.errno, &Environment::gather(attempt)),
    };
    match advice {
        Some(advice) => Error::Refused { source: error, advice },
        None => Error::System(error),
    }
}

impl Error {
    /// Adds advice to a bare error of the kernel.
    pub(crate) fn explained(self, attempt: Attempt<'_>) -> Self {
        match self {
            Self::System(source) => explain(source, attempt),
            other => other,
        }
    }
}
