//! `Interrupt`: ends waits from another thread.

use std::fmt;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Result;

/// Ends the present and all later waits of the sockets that were opened with it. It can be raised
/// from any thread and from a signal handler, and remains raised. A clone is another handle to the
/// same interrupt.
#[derive(Clone)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

struct Shared {
    is_raised: AtomicBool,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Interrupt {
    /// Creates an interrupt that is not raised.
    ///
    /// # Errors
    /// When no descriptors are available.
    pub fn new() -> Result<Self> {
        let (reader, writer) = pipe().map_err(|error| sys::Error::from_io("pipe", "", &error))?;
        let is_raised = AtomicBool::new(false);
        Ok(Self { shared: Arc::new(Shared { is_raised, reader, writer }) })
    }

    /// Ends all waits; safe in a signal handler.
    pub fn raise(&self) {
        if !self.shared.is_raised.swap(true, Ordering::AcqRel) {
            // One byte into an empty pipe that is never read cannot block or fail.
            let _ = (&self.shared.writer).write(&[1]);
        }
    }

    /// Whether it was raised.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.shared.is_raised.load(Ordering::Acquire)
    }
}

/// A descriptor that is readable once the interrupt is raised.
impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.reader.as_fd()
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_raised()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_remains_raised() {
        let interrupt = Interrupt::new().unwrap();
        let other = interrupt.clone();
        assert!(!sys::poll::readable(interrupt.as_fd(), Duration::ZERO).unwrap());
        other.raise();
        other.raise();
        assert!(interrupt.is_raised());
        for _ in 0..2 {
            assert!(sys::poll::readable(interrupt.as_fd(), Duration::from_secs(10)).unwrap());
        }
    }
}
