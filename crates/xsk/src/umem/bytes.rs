//! `Bytes`: the memory of frames, mapped or on the heap.

use std::fmt;
use std::ptr::NonNull;

use sys::memory::{Anonymous, Pages};

/// Memory that exists as long as this value.
pub(crate) struct Bytes {
    start: NonNull<u8>,
    pages: Pages,
    /// Owns what `start` points to.
    _keep: Box<dyn Send + Sync>,
}

impl Bytes {
    pub fn mapped(memory: Anonymous) -> Self {
        let (start, pages) = (memory.as_ptr(), memory.pages());
        Self { start, pages, _keep: Box::new(memory) }
    }

    /// Memory that a test created.
    #[cfg(any(test, fuzzing))]
    pub fn on_heap(heap: std::sync::Arc<super::heap::Heap>) -> Self {
        Self { start: heap.start(), pages: Pages::Plain, _keep: Box::new(heap) }
    }

    #[inline]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    pub fn pages(&self) -> Pages {
        self.pages
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes").field("pages", &self.pages).finish_non_exhaustive()
    }
}
