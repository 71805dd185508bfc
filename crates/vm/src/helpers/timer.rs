//! Timers and work queues in map values, and when their callbacks run.
//!
//! Rule: nothing runs by itself. A timer that is due runs when a worker's clock has passed its
//! time and the worker is between packets, or when the caller says so ([`Worker::advance`]): in
//! the order of their times, so that every run repeats.
//! A value holds the number of its timer, from 1; 0 is one that was never initialised.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use spec::asm::Helper;

use super::map::map_at;
use super::{HelperRow, KfuncRow, bad_argument, helper_row, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::limits;
use crate::maps::FieldKind;
use crate::memory::{RegionId, offset};
use crate::worker::Worker;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::TIMER_INIT, init),
    helper_row(Helper::TIMER_SET_CALLBACK, set_callback),
    helper_row(Helper::TIMER_START, start),
    helper_row(Helper::TIMER_CANCEL, cancel),
];

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_wq_init", queue_init),
    kfunc_row("bpf_wq_set_callback_impl", queue_set_callback),
    kfunc_row("bpf_wq_start", queue_start),
];

/// The timers of a machine.
#[derive(Debug)]
pub(crate) struct Timers {
    table: Mutex<Table>,
    /// The earliest time of any, so that packets need not take the lock.
    earliest: AtomicU64,
}

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Timer>,
    /// Slots whose timer has ended.
    free: Vec<u32>,
    /// The timers that are armed: when each is due, and its number.
    armed: BTreeSet<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// How many timers its slot had before; the high half of its number.
    generation: u32,
    /// Where it is in a map's value.
    address: u64,
    /// Pointer of that map.
    map: u64,
    callback: u64,
    due: Option<u64>,
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

    /// A new timer's number, from 1; `None` when there are too many.
    fn add(&self, address: u64, map: u64) -> Option<u64> {
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

    /// Changes a timer; `None` when there is none of that number.
    fn change<T>(&self, number: u64, act: impl FnOnce(&mut Timer) -> T) -> Option<T> {
        let mut table = self.lock();
        let result = table.change(number, act);
        self.earliest.store(table.earliest(), Relaxed);
        result
    }

    /// The first timer that is due, disarmed: its number and what it was.
    fn take_due(&self, now_ns: u64) -> Option<(u64, Timer)> {
        let mut table = self.lock();
        let (_, number) = table.armed.first().copied().filter(|(due, _)| *due <= now_ns)?;
        let timer = table.change(number, |timer| Timer { due: timer.due.take(), ..*timer });
        self.earliest.store(table.earliest(), Relaxed);
        Some((number, timer?))
    }

    /// Ends the timer of a deleted element. Its number is not used again.
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
        self.table.lock().expect("nobody panics while holding the timers")
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

fn init(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [timer, map, flags, ..] = *args;
    if !matches!(flags, CLOCK_REALTIME | CLOCK_MONOTONIC | CLOCK_BOOTTIME) {
        return Ok(Errno::EINVAL.in_r0());
    }
    create("bpf_timer_init", worker, timer, map)
}

fn create(name: &str, worker: &mut Worker, at: u64, map: u64) -> Result<u64, Box<Fault>> {
    if map_at(&worker.maps, map).is_none() {
        return Err(bad_argument(name, 2, "not a map pointer"));
    }
    if RegionId::of(at) != RegionId::values_of(offset(map) as u32) {
        return Err(bad_argument(name, 1, "not in a value of that map"));
    }
    let wanted = if name == "bpf_wq_init" { FieldKind::Workqueue } else { FieldKind::Timer };
    worker.check_field(name, 1, at, |kind| kind == wanted)?;
    if worker.load_u64(name, 1, at)? != 0 {
        return Ok(Errno::EBUSY.in_r0());
    }
    let Some(number) = worker.shared.services.timers.add(at, map) else {
        return Ok(Errno::ENOMEM.in_r0());
    };
    worker.store_u64(name, 1, at, number)?;
    Ok(0)
}

fn set_callback(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let number = worker.load_u64("bpf_timer_set_callback", 1, args[0])?;
    Ok(changed(worker, number, |timer| timer.callback = args[1]))
}

fn start(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [timer, after, flags, ..] = *args;
    if flags & !(START_ABSOLUTE | START_ON_THIS_CPU) != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let now = worker.look_at_clock();
    let due = if flags & START_ABSOLUTE != 0 { after } else { now.saturating_add(after) };
    let number = worker.load_u64("bpf_timer_start", 1, timer)?;
    Ok(arm(worker, number, due))
}

fn arm(worker: &mut Worker, number: u64, due: u64) -> u64 {
    let armed = worker.shared.services.timers.change(number, |timer| {
        if timer.callback != 0 {
            timer.due = Some(due);
        }
        timer.callback != 0
    });
    if armed == Some(true) { 0 } else { Errno::EINVAL.in_r0() }
}

fn cancel(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let number = worker.load_u64("bpf_timer_cancel", 1, args[0])?;
    if number != 0 && number == worker.local.timer {
        return Ok(Errno::EDEADLK.in_r0());
    }
    let timers = &worker.shared.services.timers;
    let was_armed = timers.change(number, |timer| {
        timer.callback = 0;
        timer.due.take().is_some()
    });
    Ok(was_armed.map_or(Errno::EINVAL.in_r0(), u64::from))
}

fn queue_init(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[2] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    Ok(u64::from(create("bpf_wq_init", worker, args[0], args[1])? as u32))
}

fn queue_set_callback(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[2] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    let number = worker.load_u64("bpf_wq_set_callback_impl", 1, args[0])?;
    Ok(u64::from(changed(worker, number, |timer| timer.callback = args[1]) as u32))
}

fn queue_start(worker: &mut Worker, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[1] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    let number = worker.load_u64("bpf_wq_start", 1, args[0])?;
    let now = worker.now_ns();
    Ok(u64::from(arm(worker, number, now) as u32))
}

/// r0 of a call that changes a timer.
fn changed(worker: &Worker, number: u64, act: impl FnOnce(&mut Timer)) -> u64 {
    let done = worker.shared.services.timers.change(number, act);
    done.map_or(Errno::EINVAL.in_r0(), |()| 0)
}

impl Worker {
    /// Lets time pass until `now_ns` since boot and runs on this processor the timers that are
    /// due meanwhile, each at its time. How many ran.
    pub fn advance(&mut self, now_ns: u64) -> Result<usize, Box<Fault>> {
        let ran = self.run_timers(now_ns)?;
        self.set_clock_ns(now_ns);
        Ok(ran)
    }

    /// Runs the timers that the worker's clock has passed.
    #[inline]
    pub(crate) fn run_due_timers(&mut self) -> Result<(), Box<Fault>> {
        let now = self.now_ns();
        if self.shared.services.timers.are_due(now) {
            self.run_timers(now).map(drop)
        } else {
            Ok(())
        }
    }

    /// Runs the timers due until `until`, at most [`limits::TIMERS`] of them.
    pub(crate) fn run_timers(&mut self, until: u64) -> Result<usize, Box<Fault>> {
        self.end_orphans();
        self.refill_budget();
        for ran in 0..limits::TIMERS {
            let Some((number, timer)) = self.shared.services.timers.take_due(until) else {
                return Ok(ran);
            };
            self.set_clock_ns(timer.due.unwrap_or(0));
            self.run_timer(number, &timer)?;
        }
        Ok(limits::TIMERS)
    }

    fn run_timer(&mut self, number: u64, timer: &Timer) -> Result<(), Box<Fault>> {
        let live = self.memory.load64(timer.address) == Ok(number);
        let Some((key, value)) = self.element_at(timer.map, timer.address).filter(|_| live) else {
            return Ok(());
        };
        self.local.timer = number;
        let result = self.call_back(timer.callback, [timer.map, key, value, 0, 0]);
        self.local.timer = 0;
        self.end_run(result).map(|_| ())
    }
}

const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;
const CLOCK_BOOTTIME: u64 = 7;
const START_ABSOLUTE: u64 = 1;
const START_ON_THIS_CPU: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_timer_gives_its_place_back_but_not_its_number() {
        let timers = Timers::default();
        let first = timers.add(8, 0).unwrap();
        assert_eq!(first, 1);
        timers.change(first, |timer| timer.due = Some(5));
        timers.remove(first);
        assert!(!timers.are_due(5));
        let second = timers.add(16, 0).unwrap();
        assert!(second != first && timers.lock().slots.len() == 1);
        assert_eq!(timers.change(first, |_| ()), None, "the old number means nothing");
        timers.remove(first);
        timers.change(second, |timer| timer.due = Some(7));
        let third = timers.add(24, 0).unwrap();
        timers.change(third, |timer| timer.due = Some(6));
        let due = [(); 3].map(|()| timers.take_due(7).map(|(number, _)| number));
        assert_eq!(due, [Some(third), Some(second), None]);
    }
}
