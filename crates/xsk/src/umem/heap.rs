//! Memory on the heap instead of a mapping, with the accesses of a simulated kernel, so that memory
//! checkers see every access. Only with `cfg(test)` and when fuzzing.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Zeroed memory, freed on drop.
#[derive(Debug)]
pub(crate) struct Heap {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes; the module above defines which thread accesses which of them.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    pub fn new(len: usize) -> Self {
        let layout = Layout::from_size_align(len.max(1), PAGE).expect("a valid size");
        // SAFETY: the layout has at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        Self { start: NonNull::new(start).expect("memory is available"), layout }
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Writes a packet as the kernel, which must own the bytes.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        let place = self.place(at, bytes.len());
        // SAFETY: `place` has this many bytes, which no other thread uses now.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Reads a packet as the kernel, which must own the bytes.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        let place = self.place(at, into.len());
        // SAFETY: as in `write`.
        unsafe { place.copy_to_nonoverlapping(NonNull::from(&mut *into).cast(), into.len()) };
    }

    fn place(&self, at: u64, len: usize) -> NonNull<u8> {
        let end = at.checked_add(len as u64);
        assert!(end.is_some_and(|end| end <= self.layout.size() as u64), "{len} bytes at {at}");
        // SAFETY: inside, as just checked.
        unsafe { self.start.add(at as usize) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`, and no pointer into it remains.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

const PAGE: usize = 4096;
