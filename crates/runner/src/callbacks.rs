//! `Callbacks`: functions of the caller that a run calls.

use std::fmt;
use std::sync::Arc;

use crate::interrupt::Interrupt;
use crate::notice::{Notice, Observer};

/// Functions of the caller. Without them nothing ends a run early, and notices are dropped.
#[derive(Clone, Debug, Default)]
pub struct Callbacks {
    pub(crate) interrupt: Interrupt,
    pub(crate) observer: Observer,
    pub(crate) progress: ProgressObserver,
}

/// How much of a capture was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes of the whole capture; 0 for a pipe.
    pub size: u64,
}

/// A function that receives the progress.
#[derive(Clone)]
pub(crate) struct ProgressObserver(Arc<dyn Fn(Progress) + Send + Sync>);

impl Callbacks {
    /// Checks for requests to end the run.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Passes each [`Notice`] to a function.
    #[must_use]
    pub fn with_observer(self, observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { observer: Observer::new(observe), ..self }
    }

    /// Passes the [`Progress`] to a function, every few milliseconds or hundred packets.
    #[must_use]
    pub fn with_progress(self, observe: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: ProgressObserver(Arc::new(observe)), ..self }
    }
}

impl ProgressObserver {
    pub(crate) fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl Default for ProgressObserver {
    fn default() -> Self {
        Self(Arc::new(|_progress| {}))
    }
}

impl fmt::Debug for ProgressObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressObserver")
    }
}
