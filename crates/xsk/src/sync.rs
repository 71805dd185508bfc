//! The atomic words of rings and of the memory: the standard ones, or, when a model of them is
//! checked (`--cfg loom`), those of the checker.

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(all(loom, test)))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
