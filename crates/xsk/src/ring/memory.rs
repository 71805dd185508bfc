//! Where a ring's words and slots are, whoever made them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::net::xsk::{RING_NEED_WAKEUP, RingMapping};

/// A ring of slots `T`; its memory lives as long as the value.
pub(crate) struct Memory<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    slots: NonNull<T>,
    entries: u32,
    /// Owns what the pointers point into.
    _keep: Box<dyn Send>,
    _slots: PhantomData<T>,
}

// SAFETY: the pointers lead into memory that `_keep` owns and that may move between threads.
unsafe impl<T: Send> Send for Memory<T> {}

impl<T: Copy> Memory<T> {
    /// # Panics
    /// When the ring's size is no power of two: the kernel makes no other.
    pub fn mapped(mapping: RingMapping) -> Self {
        let entries = mapping.entries();
        assert!(entries.is_power_of_two(), "{entries} entries are a power of two");
        Self {
            producer: mapping.producer().cast(),
            consumer: mapping.consumer().cast(),
            flags: mapping.flags().cast(),
            slots: mapping.slots(),
            entries,
            _keep: Box::new(mapping),
            _slots: PhantomData,
        }
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    pub fn producer(&self) -> &AtomicU32 {
        // SAFETY: alive with `_keep`, aligned, and both sides touch it as an atomic word only.
        unsafe { self.producer.as_ref() }
    }

    pub fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.consumer.as_ref() }
    }

    /// Whether the kernel waits to be called. Before Linux 5.4 it never does.
    pub fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & RING_NEED_WAKEUP != 0
    }

    /// The slot at a free-running index. Only its present owner may call this.
    pub fn read(&self, index: u32) -> T {
        let slot = self.slot(index);
        // SAFETY: inside the ring and initialised: every bit pattern is a value of the integer
        // structs that rings hold. Volatile, because the other side may misbehave and write.
        unsafe { slot.read_volatile() }
    }

    /// As [`Memory::read`].
    pub fn write(&mut self, index: u32, value: T) {
        let slot = self.slot(index);
        // SAFETY: inside the ring; as in `read`.
        unsafe { slot.write_volatile(value) };
    }

    fn slot(&self, index: u32) -> NonNull<T> {
        let place = index & (self.entries - 1);
        // SAFETY: `place` is below `entries`, the number of slots.
        unsafe { self.slots.add(place as usize) }
    }
}

impl<T> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("entries", &self.entries).finish_non_exhaustive()
    }
}
