//! `Producer`: this side of the fill and tx rings. Slots are written, then published together.

use super::{Gauge, Memory};
use crate::sync::Ordering;

/// Fills a ring that the kernel empties.
#[derive(Debug)]
pub(crate) struct Producer<T> {
    memory: Memory<T>,
    /// The next slot to write.
    head: u32,
    /// The published index: the kernel owns the slots before it.
    published: u32,
    /// The kernel's index as last read.
    consumed: u32,
    /// Number of slots, known to be free, that may be written without further checks.
    credit: u32,
    /// Number of invalid indices from the kernel.
    faults: u64,
}

/// Some reserved slots; without [`Slots::commit`] nothing is published.
#[derive(Debug)]
#[must_use = "slots that are not committed are released"]
pub(crate) struct Slots<'a, T: Copy> {
    producer: &'a mut Producer<T>,
    start: u32,
    end: u32,
}

impl<T: Copy> Producer<T> {
    /// Creates the producer of a ring that may already be in use: it continues at the present
    /// indices. A ring with invalid indices appears full.
    pub fn new(memory: Memory<T>) -> Self {
        let head = memory.producer().load(Ordering::Relaxed);
        let consumed = memory.consumer().load(Ordering::Acquire);
        let is_inside = head.wrapping_sub(consumed) <= memory.entries();
        let full = head.wrapping_sub(memory.entries());
        let (consumed, faults) = if is_inside { (consumed, 0) } else { (full, 1) };
        Self { memory, head, published: head, consumed, credit: 0, faults }
    }

    pub fn entries(&self) -> u32 {
        self.memory.entries()
    }

    pub fn gauge(&self) -> Gauge {
        self.memory.gauge()
    }

    /// Number of slots that can be written; reads the kernel's index only if fewer than `wanted`
    /// are known to be free.
    #[inline]
    pub fn free(&mut self, wanted: u32) -> u32 {
        let known = self.entries() - self.head.wrapping_sub(self.consumed);
        if known >= wanted { known } else { self.refresh() }
    }

    /// Number of published slots that the kernel has not taken yet.
    pub fn outstanding(&mut self) -> u32 {
        self.refresh();
        self.published.wrapping_sub(self.consumed)
    }

    /// Number of slots that are written and not published.
    #[inline]
    pub fn pending(&self) -> u32 {
        self.head.wrapping_sub(self.published)
    }

    /// Reserves up to `wanted` slots.
    pub fn reserve(&mut self, wanted: u32) -> Slots<'_, T> {
        let room = self.free(wanted).min(wanted);
        let start = self.head;
        Slots { producer: self, start, end: start.wrapping_add(room) }
    }

    /// Writes one slot, for a later [`Producer::publish`]. `false` when the ring is full.
    #[inline]
    pub fn put(&mut self, value: T) -> bool {
        let is_free = self.free(1) > 0;
        if is_free {
            self.write(value);
            self.credit = self.credit.saturating_sub(1);
        }
        is_free
    }

    /// Grants credit for at most this number of the free slots.
    pub fn set_credit(&mut self, most: u32) {
        self.credit = self.free(most).min(most);
    }

    #[inline]
    pub fn credit(&self) -> u32 {
        self.credit
    }

    /// As [`Producer::put`], on credit; returns whether credit is left.
    ///
    /// # Panics
    /// When no credit is left.
    #[inline]
    pub fn put_on_credit(&mut self, value: T) -> bool {
        assert!(self.credit > 0, "there is credit");
        self.write(value);
        self.credit -= 1;
        self.credit > 0
    }

    /// As [`Producer::put_on_credit`], for all values.
    #[inline]
    pub fn put_all_on_credit(&mut self, mut values: impl ExactSizeIterator<Item = T>) {
        let count = values.len() as u32;
        assert!(count <= self.credit, "there is credit for {count}");
        let (first, second) = self.memory.places().slots(self.head, count);
        for (slot, value) in first.iter().zip(values.by_ref()) {
            slot.write(value);
        }
        for (slot, value) in second.iter().zip(values) {
            slot.write(value);
        }
        self.credit -= count;
        self.head = self.head.wrapping_add(count);
    }

    /// Writes the next slot, which is known to be free.
    #[inline]
    fn write(&mut self, value: T) {
        self.memory.write(self.head, value);
        self.head = self.head.wrapping_add(1);
    }

    /// Undoes the last [`Producer::put`] that was not published.
    pub fn take_back(&mut self) -> Option<T> {
        if self.pending() == 0 {
            return None;
        }
        self.head = self.head.wrapping_sub(1);
        Some(self.memory.read(self.head))
    }

    /// Hands everything written to the kernel with one store.
    #[inline]
    pub fn publish(&mut self) {
        if self.pending() > 0 {
            self.published = self.head;
            self.memory.producer().store(self.head, Ordering::Release);
        }
    }

    /// Whether the kernel waits for a system call.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.memory.needs_wakeup()
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
        let consumed = self.memory.consumer().load(Ordering::Acquire);
        // The kernel's index only advances, and not beyond the published slots.
        let taken = consumed.wrapping_sub(self.consumed);
        if taken > self.published.wrapping_sub(self.consumed) {
            self.faults += 1;
        } else {
            self.consumed = consumed;
        }
        self.entries() - self.head.wrapping_sub(self.consumed)
    }
}

impl<T: Copy> Slots<'_, T> {
    /// `false` when all reserved slots are written.
    #[inline]
    pub fn put(&mut self, value: T) -> bool {
        let is_reserved = self.producer.head != self.end;
        if is_reserved {
            self.producer.write(value);
        }
        is_reserved
    }

    /// Number of reserved slots.
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// Publishes the written slots.
    pub fn commit(mut self) {
        self.producer.publish();
        self.start = self.producer.head;
    }
}

impl<T: Copy> Drop for Slots<'_, T> {
    fn drop(&mut self) {
        self.producer.head = self.start;
    }
}
