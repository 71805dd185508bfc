//! A ring that one socket has for itself, or shares with others on the same queue.

use std::sync::{Arc, Mutex, PoisonError};

use super::Bound;
use super::completion::Completion;
use super::fill::Fill;

/// Sockets on one queue have one fill and one completion ring in common. A lock is taken once a
/// batch, and only where several are allowed.
#[derive(Debug)]
pub(crate) enum Share<T> {
    Own(T),
    Common(Arc<Mutex<T>>),
}

/// What a socket on a queue needs to open another one beside it; see
/// [`Builder::shareable`](super::Builder::shareable).
#[derive(Clone, Debug)]
pub struct SharedQueue {
    pub(super) fill: Arc<Mutex<Fill>>,
    pub(super) completion: Arc<Mutex<Completion>>,
    pub(super) bound: Arc<Bound>,
}

impl<T> Share<T> {
    #[inline]
    pub fn with<R>(&mut self, act: impl FnOnce(&mut T) -> R) -> R {
        match self {
            Self::Own(thing) => act(thing),
            // Whoever panicked left no half-done work: counts follow what was written.
            Self::Common(thing) => act(&mut thing.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// As [`Share::with`], to look.
    pub fn look<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        match self {
            Self::Own(thing) => act(thing),
            Self::Common(thing) => act(&thing.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

impl<T> Share<T> {
    pub fn common(&self) -> Option<&Arc<Mutex<T>>> {
        match self {
            Self::Own(_) => None,
            Self::Common(thing) => Some(thing),
        }
    }
}
