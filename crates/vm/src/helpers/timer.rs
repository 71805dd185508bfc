//! Timers and work queues in map values, and the execution of their callbacks.
//!
//! Rule: timers run in the order of their times, so that every run repeats. A timer that is due
//! runs when a processor's clock has passed its time and the processor is between packets, or when
//! the caller advances the clock ([`Worker::advance`](crate::Worker::advance)).

use spec::asm::Helper;

use super::cleanup::end_run;
use super::map::map_at;
use super::{HelperRow, KfuncRow, bad_argument, field, helper_row, int, kfunc_row, map, release};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::interpreter;
use crate::limits;
use crate::maps::FieldKind;
use crate::memory::{RegionId, offset};
use crate::processor::Processor;
use crate::services::Timer;

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

fn init(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [timer, map, flags, ..] = *args;
    if !matches!(flags, CLOCK_REALTIME | CLOCK_MONOTONIC | CLOCK_BOOTTIME) {
        return Ok(Errno::EINVAL.in_r0());
    }
    create("bpf_timer_init", processor, timer, map)
}

fn create(name: &str, processor: &mut Processor, at: u64, map: u64) -> Result<u64, Box<Fault>> {
    if map_at(&processor.maps, map).is_none() {
        return Err(bad_argument(name, 2, "not a map pointer"));
    }
    if RegionId::of(at) != RegionId::values_of(offset(map) as u32) {
        return Err(bad_argument(name, 1, "not in a value of that map"));
    }
    let wanted = if name == "bpf_wq_init" { FieldKind::Workqueue } else { FieldKind::Timer };
    field::check_field(processor, name, 1, at, |kind| kind == wanted)?;
    if processor.load_u64(name, 1, at)? != 0 {
        return Ok(Errno::EBUSY.in_r0());
    }
    let Some(number) = processor.shared.services.timers.add(at, map) else {
        return Ok(Errno::ENOMEM.in_r0());
    };
    processor.store_u64(name, 1, at, number)?;
    Ok(0)
}

fn set_callback(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let number = processor.load_u64("bpf_timer_set_callback", 1, args[0])?;
    Ok(changed(processor, number, |timer| timer.callback = args[1]))
}

fn start(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let [timer, after, flags, ..] = *args;
    if flags & !(START_ABSOLUTE | START_ON_THIS_CPU) != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let now = processor.read_clock();
    let due = if flags & START_ABSOLUTE != 0 { after } else { now.saturating_add(after) };
    let number = processor.load_u64("bpf_timer_start", 1, timer)?;
    Ok(arm(processor, number, due))
}

fn arm(processor: &mut Processor, number: u64, due: u64) -> u64 {
    let armed = processor.shared.services.timers.change(number, |timer| {
        if timer.callback != 0 {
            timer.due = Some(due);
        }
        timer.callback != 0
    });
    if armed == Some(true) { 0 } else { Errno::EINVAL.in_r0() }
}

fn cancel(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let number = processor.load_u64("bpf_timer_cancel", 1, args[0])?;
    if number != 0 && number == processor.local.timer {
        return Ok(Errno::EDEADLK.in_r0());
    }
    let timers = &processor.shared.services.timers;
    let was_armed = timers.change(number, |timer| {
        timer.callback = 0;
        timer.due.take().is_some()
    });
    Ok(was_armed.map_or(Errno::EINVAL.in_r0(), u64::from))
}

fn queue_init(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[2] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    Ok(u64::from(create("bpf_wq_init", processor, args[0], args[1])? as u32))
}

fn queue_set_callback(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[2] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    let number = processor.load_u64("bpf_wq_set_callback_impl", 1, args[0])?;
    Ok(u64::from(changed(processor, number, |timer| timer.callback = args[1]) as u32))
}

fn queue_start(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    if args[1] as u32 != 0 {
        return Ok(int(Errno::EINVAL));
    }
    let number = processor.load_u64("bpf_wq_start", 1, args[0])?;
    let now = processor.now_ns();
    Ok(u64::from(arm(processor, number, now) as u32))
}

/// Value of r0 for a call that changes a timer.
fn changed(processor: &Processor, number: u64, act: impl FnOnce(&mut Timer)) -> u64 {
    let done = processor.shared.services.timers.change(number, act);
    done.map_or(Errno::EINVAL.in_r0(), |()| 0)
}

/// Runs the timers whose time the processor's clock has passed.
#[inline]
pub(crate) fn run_due_timers(processor: &mut Processor) -> Result<(), Box<Fault>> {
    let now = processor.now_ns();
    if processor.shared.services.timers.are_due(now) {
        run_timers(processor, now).map(drop)
    } else {
        Ok(())
    }
}

/// Runs the timers due until `until`, at most [`limits::TIMERS`] of them; returns their number.
pub(crate) fn run_timers(processor: &mut Processor, until: u64) -> Result<usize, Box<Fault>> {
    release::end_orphans(processor);
    processor.frames.budget.refill();
    for ran in 0..limits::TIMERS {
        let Some((number, timer)) = processor.shared.services.timers.take_due(until) else {
            return Ok(ran);
        };
        processor.set_clock_ns(timer.due.unwrap_or(0));
        run_timer(processor, number, &timer)?;
    }
    Ok(limits::TIMERS)
}

fn run_timer(processor: &mut Processor, number: u64, timer: &Timer) -> Result<(), Box<Fault>> {
    let live = processor.memory.load64(timer.address) == Ok(number);
    let Some((key, value)) = map::element_at(processor, timer.map, timer.address).filter(|_| live)
    else {
        return Ok(());
    };
    processor.local.timer = number;
    let result = interpreter::call_back(processor, timer.callback, [timer.map, key, value, 0, 0]);
    processor.local.timer = 0;
    end_run(processor, result).map(|_| ())
}

const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;
const CLOCK_BOOTTIME: u64 = 7;
const START_ABSOLUTE: u64 = 1;
const START_ON_THIS_CPU: u64 = 2;
