//! A ring that belongs to one socket, or is shared by the sockets of a queue.

use std::sync::{Arc, Mutex, PoisonError};

use super::Bound;
use super::completion::Completion;
use super::fill::Fill;

/// The fill or completion ring of a queue. With several sockets on the queue it is locked once per
/// batch.
#[derive(Debug)]
pub(crate) enum Share<T> {
    Own(T),
    Common(Arc<Mutex<T>>),
}

/// A handle for opening further sockets on a queue; see
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
            // A panic leaves consistent data: counts are updated after writes.
            Self::Common(thing) => act(&mut thing.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// As [`Share::with`], for reading.
    pub fn inspect<R>(&self, act: impl FnOnce(&T) -> R) -> R {
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
