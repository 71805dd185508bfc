//! Where a ring's words and slots are, whoever made them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use sys::net::xsk::{RING_NEED_WAKEUP, RingMapping};

use super::Gauge;
use super::slot::Slot;
use crate::sync::{AtomicU32, Ordering};

/// A ring of slots `T`; its memory lives as long as the value.
pub(crate) struct Memory<T> {
    pub(super) producer: NonNull<AtomicU32>,
    pub(super) consumer: NonNull<AtomicU32>,
    pub(super) flags: NonNull<AtomicU32>,
    pub(super) slots: NonNull<Slot<T>>,
    pub(super) entries: u32,
    /// Owns what the pointers point into.
    pub(super) _keep: Arc<dyn Send + Sync>,
    pub(super) _slots: PhantomData<T>,
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
            slots: mapping.slots::<T>().cast(),
            entries,
            _keep: Arc::new(mapping),
            _slots: PhantomData,
        }
    }

    /// For others to see how full the ring is.
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

    /// Whether the kernel waits to be called. Before Linux 5.4 it never does.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & RING_NEED_WAKEUP != 0
    }

    /// The slot at a free-running index. Only its present owner may call this.
    #[inline]
    pub fn read(&self, index: u32) -> T {
        self.slot(index).read()
    }

    /// As [`Memory::read`].
    #[inline]
    pub fn write(&mut self, index: u32, value: T) {
        self.slot(index).write(value);
    }

    #[inline]
    fn slot(&self, index: u32) -> &Slot<T> {
        let place = index & (self.entries - 1);
        // SAFETY: `place` is below `entries`, the number of slots.
        let slot = unsafe { self.slots.add(place as usize) };
        // SAFETY: alive with `_keep` and aligned; a shared slot gives out copies alone.
        unsafe { slot.as_ref() }
    }
}

impl<T> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("entries", &self.entries).finish_non_exhaustive()
    }
}
