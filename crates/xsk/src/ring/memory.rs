//! `Memory`: the words and slots of a ring, mapped or on the heap.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use sys::net::xsk::{RING_NEED_WAKEUP, RingMapping};

use super::Gauge;
use super::slot::Slot;
use crate::sync::{AtomicU32, Ordering};

/// A ring of slots `T`, whose memory exists as long as this value.
pub(crate) struct Memory<T> {
    pub(super) producer: NonNull<AtomicU32>,
    pub(super) consumer: NonNull<AtomicU32>,
    pub(super) flags: NonNull<AtomicU32>,
    pub(super) slots: NonNull<Slot<T>>,
    pub(super) entries: u32,
    /// Owner of the memory of the pointers.
    pub(super) _keep: Arc<dyn Send + Sync>,
    pub(super) _slots: PhantomData<T>,
}

/// The address of the slots, as numbers that can remain in registers.
pub(super) struct Places<'a, T> {
    slots: NonNull<Slot<T>>,
    mask: u32,
    _memory: PhantomData<&'a Memory<T>>,
}

// SAFETY: the pointers are into memory that `_keep` owns, and that may be used by other threads.
unsafe impl<T: Send> Send for Memory<T> {}

impl<T: Copy> Memory<T> {
    /// # Panics
    /// When the size of the ring is not a power of two, which the kernel requires.
    pub fn mapped(mapping: RingMapping) -> Self {
        let entries = mapping.entries();
        assert!(entries.is_power_of_two(), "{entries} entries are a power of two");
        Self {
            producer: mapping.producer().cast(),
            consumer: mapping.consumer().cast(),
            flags: mapping.flags().cast(),
            slots: mapping.slots::<T>().cast(),
            entries,
            _keep: Arc::new(mapping),
            _slots: PhantomData,
        }
    }

    /// A gauge of the ring.
    pub fn gauge(&self) -> Gauge {
        let (producer, consumer) = (self.producer, self.consumer);
        Gauge { producer, consumer, entries: self.entries, _keep: Arc::clone(&self._keep) }
    }

    #[inline]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    #[inline]
    pub fn producer(&self) -> &AtomicU32 {
        // SAFETY: alive with `_keep`, aligned, and both sides touch it as an atomic word only.
        unsafe { self.producer.as_ref() }
    }

    #[inline]
    pub fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.consumer.as_ref() }
    }

    /// Whether the kernel waits for a system call; never before Linux 5.4.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & RING_NEED_WAKEUP != 0
    }

    /// Reads the slot at a free-running index. Only its present owner may call this.
    #[inline]
    pub fn read(&self, index: u32) -> T {
        self.places().slot(index).read()
    }

    /// Writes the slot at a free-running index. Only its present owner may call this.
    #[inline]
    pub fn write(&mut self, index: u32, value: T) {
        self.places().slot(index).write(value);
    }

    /// The slots, for access to several.
    #[inline]
    pub(super) fn places(&self) -> Places<'_, T> {
        Places { slots: self.slots, mask: self.entries - 1, _memory: PhantomData }
    }
}

impl<'a, T> Places<'a, T> {
    /// The slots of `count` free-running indices, in order: those up to the end of the ring, and
    /// those from its start.
    #[inline]
    pub fn slots(&self, index: u32, count: u32) -> (&'a [Slot<T>], &'a [Slot<T>]) {
        let entries = self.mask as usize + 1;
        let start = (index & self.mask) as usize;
        let count = (count as usize).min(entries);
        let straight = count.min(entries - start);
        // SAFETY: the start is below the number of slots.
        let first = unsafe { self.slots.add(start) };
        // SAFETY: alive with the memory and aligned, and the end is not beyond that of the ring; a
        // shared slot returns only copies.
        let first = unsafe { slice::from_raw_parts(first.as_ptr(), straight) };
        // SAFETY: as above, from the ring's start.
        let second = unsafe { slice::from_raw_parts(self.slots.as_ptr(), count - straight) };
        (first, second)
    }

    /// The slot at a free-running index.
    #[inline]
    pub fn slot(&self, index: u32) -> &'a Slot<T> {
        // SAFETY: the place is below the number of slots, which is a power of two.
        let slot = unsafe { self.slots.add((index & self.mask) as usize) };
        // SAFETY: alive with the memory and aligned; a shared slot returns only copies.
        unsafe { slot.as_ref() }
    }
}

impl<T> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("entries", &self.entries).finish_non_exhaustive()
    }
}
