//! Frames that the kernel has sent.

use crate::ring::Consumer;
use crate::umem::{Cache, Side};

/// The completion ring, and how many frames are still to come.
#[derive(Debug)]
pub(crate) struct Completion {
    ring: Consumer<u64>,
    in_flight: u32,
}

/// What was taken from the ring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collected {
    pub completed: u32,
    /// Addresses that named no frame of ours in transmission.
    pub invalid: u32,
}

impl Completion {
    pub fn new(ring: Consumer<u64>) -> Self {
        Self { ring, in_flight: 0 }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Takes everything that is there, after `given` frames more were given.
    #[inline]
    pub fn collect(&mut self, given: u32, cache: &mut Cache, pool: u32) -> Collected {
        self.in_flight += given;
        let mut collected = Collected::default();
        if self.in_flight == 0 {
            return collected;
        }
        let view = self.ring.peek(self.in_flight);
        let count = view.len();
        for at in 0..count {
            let region = cache.handle().region();
            let place = region.geometry.place(view.at(at));
            match place.filter(|place| region.take(place.chunk, Side::Tx(pool))) {
                Some(place) => {
                    cache.put(place.chunk);
                    collected.completed += 1;
                }
                None => collected.invalid += 1,
            }
        }
        view.release();
        self.in_flight -= collected.completed;
        collected
    }

    pub fn faults(&self) -> u64 {
        self.ring.faults()
    }
}
