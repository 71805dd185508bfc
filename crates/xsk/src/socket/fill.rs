//! Empty frames for the kernel.

use crate::limits::{REFILL, RESERVE};
use crate::ring::{Gauge, Producer};
use crate::umem::{Cache, Side};

/// The fill ring, and the number of frames that the kernel lacks.
#[derive(Debug)]
pub(crate) struct Fill {
    ring: Producer<u64>,
    missing: u32,
    /// The owner mark of the frames in it.
    side: Side,
    /// Metadata of the redirect program is read, so marks are cleared: see `metadata::received`.
    clears_marks: bool,
}

impl Fill {
    pub fn new(ring: Producer<u64>, pool: u32, clears_marks: bool) -> Self {
        let missing = ring.entries();
        Self { ring, missing, side: Side::fill(pool), clears_marks }
    }

    pub fn gauge(&self) -> Gauge {
        self.ring.gauge()
    }

    /// Passes to the kernel the frames that it lacks, after `returned` frames came back with
    /// packets. `false` when there were too few free frames.
    #[inline]
    pub fn refill(&mut self, returned: u32, cache: &mut Cache) -> bool {
        self.missing += returned;
        let mut slots = self.ring.reserve(self.missing);
        let mut given = 0;
        while given < slots.len() {
            let Some(chunk) = cache.take() else { break };
            let region = cache.handle().region();
            if self.clears_marks {
                region.clear_mark(chunk);
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

    /// Whether the kernel waits for a system call.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }

    pub fn clears_marks(&self) -> bool {
        self.clears_marks
    }

    /// Whether to refill now that `returned` frames have come back with packets since the last
    /// refill.
    pub fn is_due(&self, returned: u32) -> bool {
        let entries = self.ring.entries();
        let left = entries - self.missing - returned.min(entries - self.missing);
        // A driver that waits for a system call has run out of frames.
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
