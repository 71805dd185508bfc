//! One slot of a ring: a value that both sides write, though never at the same time.

#[cfg(all(loom, test))]
use loom::cell::UnsafeCell;
#[cfg(not(all(loom, test)))]
use std::cell::UnsafeCell;

/// Lies in memory as a `T`.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Slot<T>(UnsafeCell<T>);

// SAFETY: who may read and write it is told by the ring's indices, not by references.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    #[cfg(any(test, fuzzing))]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Volatile, because the other side may misbehave and write.
    #[cfg(not(all(loom, test)))]
    #[inline]
    pub fn read(&self) -> T {
        // SAFETY: a `&self` proves the place and that it is initialised: every bit pattern is a
        // value of the integer structs that rings hold.
        unsafe { self.0.get().read_volatile() }
    }

    /// As [`Slot::read`].
    #[cfg(not(all(loom, test)))]
    #[inline]
    pub fn write(&self, value: T) {
        // SAFETY: as in `read`; nobody has a reference to what is inside. Plain, because the other
        // side does not look before the index tells it to.
        unsafe { self.0.get().write(value) };
    }

    #[cfg(all(loom, test))]
    pub fn read(&self) -> T {
        // SAFETY: the checker fails when somebody writes at the same time.
        self.0.with(|value| unsafe { *value })
    }

    #[cfg(all(loom, test))]
    pub fn write(&self, new: T) {
        // SAFETY: the checker fails when somebody reads or writes at the same time.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}
