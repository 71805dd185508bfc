//! Bytes from the heap in place of a mapping, and the kernel's access to them: for tests, so that
//! checkers of memory see every access. Only with `cfg(test)` and when fuzzing.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Zeroed, and freed on drop.
#[derive(Debug)]
pub(crate) struct Heap {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes; who reads and writes which of them is the rule of this module.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    pub fn new(len: usize) -> Self {
        let layout = Layout::from_size_align(len.max(1), PAGE).expect("a size that can be had");
        // SAFETY: the layout has at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        Self { start: NonNull::new(start).expect("there is memory"), layout }
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The kernel writes a packet. The bytes must be the kernel's at this time.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        let place = self.place(at, bytes.len());
        // SAFETY: `place` leads to so many bytes, which nobody else uses now.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// The kernel reads a packet, as in [`Heap::write`].
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
        // SAFETY: made with this layout in `new`, and nobody points into it any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

const PAGE: usize = 4096;
