//! `Slot`: one value of a ring, which both sides write, but never at the same time.

#[cfg(all(loom, test))]
use loom::cell::UnsafeCell;
#[cfg(not(all(loom, test)))]
use std::cell::UnsafeCell;

/// One value of a ring, with the memory layout of `T`.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Slot<T>(UnsafeCell<T>);

// SAFETY: the indices of the ring, not references, determine which side may access it.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    #[cfg(any(test, fuzzing))]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reads the value; volatile, because the other side may misbehave and write.
    #[cfg(not(all(loom, test)))]
    #[inline]
    pub fn read(&self) -> T {
        // SAFETY: `&self` proves the place and its initialization: every bit pattern is a value of
        // the integer structs in rings.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes the value.
    #[cfg(not(all(loom, test)))]
    #[inline]
    pub fn write(&self, value: T) {
        // SAFETY: as in `read`; no references to the value exist. Not volatile, because the other
        // side does not read it before the index is published.
        unsafe { self.0.get().write(value) };
    }

    #[cfg(all(loom, test))]
    pub fn read(&self) -> T {
        // SAFETY: the checker fails if another thread writes at the same time.
        self.0.with(|value| unsafe { *value })
    }

    #[cfg(all(loom, test))]
    pub fn write(&self, new: T) {
        // SAFETY: the checker fails if another thread reads or writes at the same time.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}
