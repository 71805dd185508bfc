//! Our side of the rx and completion rings: slots are looked at, then given back together.

use std::sync::atomic::Ordering;

use super::Memory;

/// Takes from a ring that the kernel fills.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    memory: Memory<T>,
    /// The next slot to read.
    tail: u32,
    /// The kernel's index as last read.
    produced: u32,
    /// Times that the kernel's index was out of the ring.
    faults: u64,
}

/// Some slots that the kernel filled; dropped without [`View::release`] they stay.
#[derive(Debug)]
#[must_use = "slots that are not released are seen again"]
pub(crate) struct View<'a, T: Copy> {
    consumer: &'a mut Consumer<T>,
    count: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn new(memory: Memory<T>) -> Self {
        let tail = memory.consumer().load(Ordering::Relaxed);
        Self { memory, tail, produced: tail, faults: 0 }
    }

    pub fn entries(&self) -> u32 {
        self.memory.entries()
    }

    /// Slots that can be read now; asks the kernel's index only if fewer than `wanted` are known.
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

    pub fn faults(&self) -> u64 {
        self.faults
    }

    fn refresh(&mut self) -> u32 {
        let produced = self.memory.producer().load(Ordering::Acquire);
        let filled = produced.wrapping_sub(self.tail);
        let known = self.produced.wrapping_sub(self.tail);
        // The kernel moves on from what it had filled, and not over what is not yet taken.
        if filled > self.entries() || filled < known {
            self.faults += 1;
            return known;
        }
        self.produced = produced;
        filled
    }
}

impl<T: Copy> View<'_, T> {
    pub fn len(&self) -> u32 {
        self.count
    }

    /// # Panics
    /// When there are not so many slots.
    #[inline]
    pub fn at(&self, index: u32) -> T {
        assert!(index < self.count, "slot {index} is one of {}", self.count);
        self.consumer.memory.read(self.consumer.tail.wrapping_add(index))
    }

    /// Gives the first `count` slots back to the kernel; the others are seen again.
    #[inline]
    pub fn release(self, count: u32) {
        assert!(count <= self.count, "{count} of {} slots", self.count);
        if count > 0 {
            let consumer = self.consumer;
            consumer.tail = consumer.tail.wrapping_add(count);
            consumer.memory.consumer().store(consumer.tail, Ordering::Release);
        }
    }
}
