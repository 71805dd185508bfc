//! `Gauge`: the fill level of a ring, for readers outside of the half that owns it.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::sync::{AtomicU32, Ordering};

/// Reads the indices of a ring, and keeps it mapped.
#[derive(Clone)]
pub(crate) struct Gauge {
    pub(super) producer: NonNull<AtomicU32>,
    pub(super) consumer: NonNull<AtomicU32>,
    pub(super) entries: u32,
    /// Owner of the memory of the pointers.
    pub(super) _keep: Arc<dyn Send + Sync>,
}

// SAFETY: both pointers lead to atomic words in memory that `_keep` owns.
unsafe impl Send for Gauge {}
// SAFETY: as above.
unsafe impl Sync for Gauge {}

impl Gauge {
    /// Number of slots that were filled and not yet taken.
    pub fn filled(&self) -> u32 {
        // SAFETY: alive with `_keep`, and an atomic word.
        let consumer = unsafe { self.consumer.as_ref() }.load(Ordering::Relaxed);
        // SAFETY: as above.
        let producer = unsafe { self.producer.as_ref() }.load(Ordering::Relaxed);
        producer.wrapping_sub(consumer).min(self.entries)
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge").field("filled", &self.filled()).finish_non_exhaustive()
    }
}
