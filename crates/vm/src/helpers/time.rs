//! Helpers that tell the time: the worker's clock, which the world starts and steps.
//!
//! All of the kernel's clocks count from boot here, but for international atomic time, which
//! counts from 1970: the world says when that boot was.

use spec::asm::Helper;

use super::{HelperRow, helper_row};
use crate::fault::Fault;
use crate::worker::Worker;

pub(super) const HELPERS: &[HelperRow] = &[
    helper_row(Helper::KTIME_GET_NS, now),
    helper_row(Helper::KTIME_GET_BOOT_NS, now),
    helper_row(Helper::KTIME_GET_COARSE_NS, coarse),
    helper_row(Helper::KTIME_GET_TAI_NS, atomic),
    helper_row(Helper::JIFFIES64, jiffies),
];

impl Worker {
    /// The worker's clock, nanoseconds since boot.
    pub fn now_ns(&self) -> u64 {
        self.local.clock_ns
    }

    /// Sets the worker's clock, which never runs backwards; an earlier time is ignored.
    pub fn set_clock_ns(&mut self, now_ns: u64) {
        self.local.clock_ns = self.local.clock_ns.max(now_ns);
    }

    /// Reads the clock as a program does: it moves on with each look.
    pub(crate) fn look_at_clock(&mut self) -> u64 {
        let now = self.local.clock_ns;
        self.local.clock_ns = now.saturating_add(self.shared.world.clock.step_ns);
        now
    }
}

fn now(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(worker.look_at_clock())
}

/// The time of the last tick.
fn coarse(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(worker.look_at_clock() / TICK_NS * TICK_NS)
}

fn atomic(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let offset = worker.shared.world.clock.wall_offset_ns.saturating_add(TAI_AHEAD_NS);
    Ok(worker.look_at_clock().saturating_add(offset))
}

fn jiffies(worker: &mut Worker, _: &[u64; 5]) -> Result<u64, Box<Fault>> {
    Ok(JIFFIES_AT_BOOT + worker.look_at_clock() / TICK_NS)
}

/// Nanoseconds of a tick: 250 a second.
const TICK_NS: u64 = 4_000_000;
/// The kernel lets the low 32 bits wrap five minutes after boot.
const JIFFIES_AT_BOOT: u64 = (1 << 32) - 300 * 1_000_000_000 / TICK_NS;
/// How far international atomic time is ahead of the wall clock, since 2017.
const TAI_AHEAD_NS: u64 = 37 * 1_000_000_000;
