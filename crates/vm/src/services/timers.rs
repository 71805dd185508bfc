//! The timers of a machine: which are armed, and when each is due.
//!
//! The value of a map holds the number of its timer, from 1; 0 is a timer that was never
//! initialized. A number is not used again, although the slot of an ended timer is.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use crate::limits;

/// All timers of a machine.
#[derive(Debug)]
pub(crate) struct Timers {
    table: Mutex<Table>,
    /// The earliest due time, which packets read without taking the lock.
    earliest: AtomicU64,
}

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Timer>,
    /// Slots whose timers have ended.
    free: Vec<u32>,
    /// Due time and number of each armed timer.
    armed: BTreeSet<(u64, u64)>,
}

/// One timer or work queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    /// Number of timers that its slot held before; the high half of its number.
    generation: u32,
    /// Its address in a map's value.
    pub address: u64,
    /// Pointer to that map.
    pub map: u64,
    /// Address of the function that it calls, 0 for none.
    pub callback: u64,
    /// When it is due, nanoseconds since boot; `None` while it is not armed.
    pub due: Option<u64>,
}

impl Default for Timers {
    fn default() -> Self {
        Self { table: Mutex::default(), earliest: AtomicU64::new(u64::MAX) }
    }
}

impl Timers {
    /// Whether any timer is due.
    #[inline]
    pub fn are_due(&self, now_ns: u64) -> bool {
        self.earliest.load(Relaxed) <= now_ns
    }

    /// Creates a timer and returns its number, from 1; `None` when there are too many.
    pub fn add(&self, address: u64, map: u64) -> Option<u64> {
        let Table { slots, free, .. } = &mut *self.lock();
        let new = Timer { generation: 0, address, map, callback: 0, due: None };
        if let Some(slot) = free.pop() {
            let timer = &mut slots[slot as usize];
            *timer = Timer { generation: timer.generation, ..new };
            return Some(number_of(slot as usize, timer));
        }
        (slots.len() < limits::TIMERS_KEPT).then(|| {
            slots.push(new);
            number_of(slots.len() - 1, &new)
        })
    }

    /// Changes a timer; `None` when no timer has that number.
    pub fn change<T>(&self, number: u64, act: impl FnOnce(&mut Timer) -> T) -> Option<T> {
        let mut table = self.lock();
        let result = table.change(number, act);
        self.earliest.store(table.earliest(), Relaxed);
        result
    }

    /// Disarms the first timer that is due; returns its number and its state before.
    pub fn take_due(&self, now_ns: u64) -> Option<(u64, Timer)> {
        let mut table = self.lock();
        let (_, number) = table.armed.first().copied().filter(|(due, _)| *due <= now_ns)?;
        let timer = table.change(number, |timer| Timer { due: timer.due.take(), ..*timer });
        self.earliest.store(table.earliest(), Relaxed);
        Some((number, timer?))
    }

    /// Ends the timer of a deleted element. The number is not used again.
    pub fn remove(&self, number: u64) {
        let ended = self.change(number, |timer| {
            timer.callback = 0;
            timer.due = None;
            timer.generation = timer.generation.wrapping_add(1);
        });
        if ended.is_some() {
            self.lock().free.push(slot_of(number).unwrap_or(0) as u32);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no thread panics while it holds the timers")
    }
}

impl Table {
    fn change<T>(&mut self, number: u64, act: impl FnOnce(&mut Timer) -> T) -> Option<T> {
        let slot = slot_of(number)?;
        let timer = self.slots.get_mut(slot).filter(|timer| number_of(slot, timer) == number)?;
        let before = timer.due;
        let result = act(timer);
        let after = timer.due;
        before.map(|due| self.armed.remove(&(due, number)));
        after.map(|due| self.armed.insert((due, number)));
        Some(result)
    }

    fn earliest(&self) -> u64 {
        self.armed.first().map_or(u64::MAX, |(due, _)| *due)
    }
}

fn number_of(slot: usize, timer: &Timer) -> u64 {
    u64::from(timer.generation) << 32 | (slot as u64 + 1)
}

fn slot_of(number: u64) -> Option<usize> {
    (number as u32 as usize).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_of_an_ended_timer_is_reused_but_not_its_number() {
        let timers = Timers::default();
        let first = timers.add(8, 0).unwrap();
        assert_eq!(first, 1);
        timers.change(first, |timer| timer.due = Some(5));
        timers.remove(first);
        assert!(!timers.are_due(5));
        let second = timers.add(16, 0).unwrap();
        assert!(second != first && timers.lock().slots.len() == 1);
        assert_eq!(timers.change(first, |_| ()), None, "the old number is invalid");
        timers.remove(first);
        timers.change(second, |timer| timer.due = Some(7));
        let third = timers.add(24, 0).unwrap();
        timers.change(third, |timer| timer.due = Some(6));
        let due = [(); 3].map(|()| timers.take_due(7).map(|(number, _)| number));
        assert_eq!(due, [Some(third), Some(second), None]);
    }
}
