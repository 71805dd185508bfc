//! Empty frames for the kernel.

use crate::limits::{REFILL, RESERVE};
use crate::ring::{Gauge, Producer};
use crate::umem::{Cache, Side};

/// The fill ring, and how many frames the kernel could have besides those that it has.
#[derive(Debug)]
pub(crate) struct Fill {
    ring: Producer<u64>,
    missing: u32,
    /// Whose the frames are that are in it.
    side: Side,
    /// Somebody reads the redirect program's metadata: see `metadata::received`.
    wipes: bool,
}

impl Fill {
    pub fn new(ring: Producer<u64>, pool: u32, wipes: bool) -> Self {
        let missing = ring.entries();
        Self { ring, missing, side: Side::fill(pool), wipes }
    }

    pub fn gauge(&self) -> Gauge {
        self.ring.gauge()
    }

    /// Gives as many frames as the kernel lacks and there are, after `returned` came back with
    /// packets. `false` when there were too few.
    #[inline]
    pub fn refill(&mut self, returned: u32, cache: &mut Cache) -> bool {
        self.missing += returned;
        let mut slots = self.ring.reserve(self.missing);
        let mut given = 0;
        while given < slots.len() {
            let Some(chunk) = cache.take() else { break };
            let region = cache.handle().region();
            if self.wipes {
                region.wipe_mark(chunk);
            }
            region.give(chunk, self.side);
            let is_put = slots.put(region.geometry.address(chunk));
            assert!(is_put, "the slot was reserved");
            given += 1;
        }
        let is_enough = given == slots.len();
        slots.commit();
        self.missing -= given;
        is_enough
    }

    /// Whether the kernel waits to be called.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }

    pub fn wipes(&self) -> bool {
        self.wipes
    }

    /// Whether frames should go back now that `returned` came with packets since the last time.
    pub fn is_due(&self, returned: u32) -> bool {
        let entries = self.ring.entries();
        let left = entries - self.missing - returned.min(entries - self.missing);
        // A driver that asks to be called has run out of frames.
        returned >= REFILL.min(entries / 4)
            || left < RESERVE.min(entries / 2)
            || self.needs_wakeup()
    }

    /// Whether the kernel has no frame at all.
    pub fn is_empty(&self) -> bool {
        self.missing == self.ring.entries()
    }

    pub fn faults(&self) -> u64 {
        self.ring.faults()
    }
}
