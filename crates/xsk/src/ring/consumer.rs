//! `Consumer`: this side of the rx and completion rings. Slots are read, then released together.

use super::Memory;
use super::slot::Slot;
use crate::sync::Ordering;

/// Reads a ring that the kernel fills.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    memory: Memory<T>,
    /// The next slot to read.
    tail: u32,
    /// The published index: the kernel owns the slots before it again. It is kept here and not in a
    /// guard, so that a leaked guard cannot cause a slot to be taken twice.
    released: u32,
    /// The kernel's index as last read.
    produced: u32,
    /// Number of invalid indices from the kernel.
    faults: u64,
}

/// Some slots that the kernel filled; without [`View::release`] they are returned again.
#[derive(Debug)]
#[must_use = "slots that are not released are returned again"]
pub(crate) struct View<'a, T: Copy> {
    consumer: &'a mut Consumer<T>,
    count: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn new(memory: Memory<T>) -> Self {
        let tail = memory.consumer().load(Ordering::Relaxed);
        Self { memory, tail, released: tail, produced: tail, faults: 0 }
    }

    pub fn entries(&self) -> u32 {
        self.memory.entries()
    }

    /// Number of slots that can be read; reads the kernel's index only if fewer than `wanted` are
    /// known.
    #[inline]
    pub fn available(&mut self, wanted: u32) -> u32 {
        let known = self.produced.wrapping_sub(self.tail);
        if known >= wanted { known } else { self.refresh() }
    }

    /// Up to `wanted` slots.
    #[inline]
    pub fn peek(&mut self, wanted: u32) -> View<'_, T> {
        let count = self.available(wanted).min(wanted);
        View { consumer: self, count }
    }

    /// The next slot, if it is known to be filled.
    #[inline]
    pub fn first(&self) -> Option<T> {
        (self.tail != self.produced).then(|| self.memory.read(self.tail))
    }

    /// The slot at this distance from the next one, if it is known to be filled.
    #[inline]
    pub fn ahead(&self, distance: u32) -> Option<T> {
        let is_filled = self.produced.wrapping_sub(self.tail) > distance;
        is_filled.then(|| self.memory.read(self.tail.wrapping_add(distance)))
    }

    /// Skips the next slot, if there is one; [`Consumer::release`] returns it to the kernel.
    #[inline]
    pub fn advance(&mut self) {
        self.tail = self.tail.wrapping_add(u32::from(self.tail != self.produced));
    }

    /// Returns the next slot, if it is known to be filled, and skips it.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        let value = self.first();
        self.advance();
        value
    }

    /// Returns all taken slots to the kernel with one store; `false` when there were none.
    #[inline]
    pub fn release(&mut self) -> bool {
        let is_news = self.tail != self.released;
        if is_news {
            self.released = self.tail;
            self.memory.consumer().store(self.tail, Ordering::Release);
        }
        is_news
    }

    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// The words and slots, for a simulated kernel that misbehaves.
    #[cfg(any(test, fuzzing))]
    pub fn memory(&mut self) -> &mut Memory<T> {
        &mut self.memory
    }

    fn refresh(&mut self) -> u32 {
        let produced = self.memory.producer().load(Ordering::Acquire);
        let filled = produced.wrapping_sub(self.released);
        let known = self.produced.wrapping_sub(self.released);
        // The kernel's index only advances, and not beyond the slots that were released.
        if filled > self.entries() || filled < known {
            self.faults += 1;
        } else {
            self.produced = produced;
        }
        self.produced.wrapping_sub(self.tail)
    }
}

impl<T: Copy> View<'_, T> {
    pub fn len(&self) -> u32 {
        self.count
    }

    /// # Panics
    /// When there are fewer slots.
    #[inline]
    pub fn at(&self, index: u32) -> T {
        assert!(index < self.count, "slot {index} is one of {}", self.count);
        self.consumer.memory.read(self.consumer.tail.wrapping_add(index))
    }

    /// All slots in order: those up to the end of the ring, and those from its start. Each iterates
    /// over contiguous memory.
    #[inline]
    pub fn halves(&self) -> [impl ExactSizeIterator<Item = T>; 2] {
        let (first, second) = self.consumer.memory.places().slots(self.consumer.tail, self.count);
        [first, second].map(|slots| slots.iter().map(Slot::read))
    }

    /// Returns all slots to the kernel.
    #[inline]
    pub fn release(self) {
        self.consumer.tail = self.consumer.tail.wrapping_add(self.count);
        self.consumer.release();
    }
}
