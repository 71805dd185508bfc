//! From a failed call to the error that its caller reads.

use sys::errno::EBUSY;

use super::advice::advice;
use super::busy::busy;
use super::facts::{Attempt, Facts};
use crate::error::Error;

/// Adds to a refusal what is known of its cause. For a bind that answered `EBUSY` it looks for
/// who holds the queue, so retries come before this.
pub fn explain(error: sys::Error, attempt: Attempt<'_>) -> Error {
    let advice = match (attempt.device, error.call, error.errno) {
        (Some(device), "bind(AF_XDP)", EBUSY) => Some(busy(device, attempt.wanted.queue)),
        _ => advice(error.call, error.errno, &Facts::gather(attempt)),
    };
    match advice {
        Some(advice) => Error::Refused { source: error, advice },
        None => Error::System(error),
    }
}

impl Error {
    /// Adds to a bare refusal of the kernel what is known of its cause.
    pub(crate) fn explained(self, attempt: Attempt<'_>) -> Self {
        match self {
            Self::System(source) => explain(source, attempt),
            other => other,
        }
    }
}
