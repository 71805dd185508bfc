//! Helpers that read the processor's clock, which the environment starts and advances.
//!
//! All clocks of the kernel count from boot here, except international atomic time, which counts
//! from 1970: the environment gives the time of boot.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::KTIME_GET_NS, now),
    helper_row(Helper::KTIME_GET_BOOT_NS, now),
    helper_row(Helper::KTIME_GET_COARSE_NS, coarse),
    helper_row(Helper::KTIME_GET_TAI_NS, atomic),
    helper_row(Helper::JIFFIES64, jiffies),
];

fn now(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(processor.read_clock())
}

/// The time of the last tick.
fn coarse(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(processor.read_clock() / TICK_NS * TICK_NS)
}

fn atomic(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let offset = processor.shared.world.clock.wall_offset_ns.saturating_add(TAI_AHEAD_NS);
    Ok(processor.read_clock().saturating_add(offset))
}

fn jiffies(processor: &mut Processor, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(JIFFIES_AT_BOOT + processor.read_clock() / TICK_NS)
}

/// Nanoseconds of a tick; there are 250 ticks a second.
const TICK_NS: u64 = 4_000_000;
/// The kernel lets the low 32 bits wrap five minutes after boot.
const JIFFIES_AT_BOOT: u64 = (1 << 32) - 300 * 1_000_000_000 / TICK_NS;
/// Nanoseconds by which international atomic time is ahead of the wall clock, since 2017.
const TAI_AHEAD_NS: u64 = 37 * 1_000_000_000;
