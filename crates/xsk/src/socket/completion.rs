//! Frames that the kernel has transmitted.

use crate::metadata::{Request, Transmissions, Transmitted};
use crate::ring::Consumer;
use crate::umem::{Cache, Frame, Side};

/// The completion ring, and the number of frames that are still with the kernel.
#[derive(Debug)]
pub(crate) struct Completion {
    ring: Consumer<u64>,
    in_flight: u32,
    /// The owner mark of the frames that return.
    side: Side,
    transmissions: Transmissions,
}

/// Frames that were passed to the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub frames: u32,
    /// Packets among them with a requested transmit time.
    pub timestamps: u32,
}

/// Frames that were taken from the ring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collected {
    pub completed: u32,
    /// Number of addresses that named no frame in transmission.
    pub invalid: u32,
}

impl Completion {
    /// `timestamps` is the number of transmit times that are kept until they are read.
    pub fn new(ring: Consumer<u64>, pool: u32, timestamps: u32) -> Self {
        let transmissions = Transmissions::new(timestamps as usize);
        Self { ring, in_flight: 0, side: Side::tx(pool), transmissions }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Adds frames that are passed to the kernel; returns the number that it had before.
    #[inline]
    pub fn add(&mut self, given: Given) -> u32 {
        let before = self.in_flight;
        self.in_flight += given.frames;
        self.transmissions.awaited += given.timestamps;
        before
    }

    /// Takes all completed frames, after adding those that were passed to the kernel.
    #[inline]
    pub fn collect(&mut self, given: Given, cache: &mut Cache) -> Collected {
        self.add(given);
        let mut collected = Collected::default();
        if self.in_flight == 0 {
            return collected;
        }
        let view = self.ring.peek(self.in_flight);
        for addresses in view.halves() {
            collected.completed += match self.transmissions.awaited {
                0 => cache.regain(addresses, self.side),
                _ => regain_timed(&mut self.transmissions, addresses, self.side, cache),
            };
        }
        collected.invalid = view.len() - collected.completed;
        view.release();
        self.in_flight -= collected.completed;
        collected
    }

    pub fn transmitted(&mut self) -> Option<Transmitted> {
        self.transmissions.take()
    }

    pub fn timestamps_lost(&self) -> u64 {
        self.transmissions.lost
    }

    /// Subtracts frames that were not passed to the kernel after all.
    pub fn forget(&mut self, given: Given) {
        self.in_flight = self.in_flight.saturating_sub(given.frames);
        self.transmissions.awaited = self.transmissions.awaited.saturating_sub(given.timestamps);
    }

    pub fn faults(&self) -> u64 {
        self.ring.faults()
    }
}

/// As [`Cache::regain`], and records transmit times.
#[cold]
fn regain_timed(
    transmissions: &mut Transmissions,
    addresses: impl Iterator<Item = u64>,
    from: Side,
    cache: &mut Cache,
) -> u32 {
    let mut count = 0;
    for address in addresses {
        let region = cache.handle().region();
        let Some(chunk) = region.take_at(address, from) else { continue };
        note_time(transmissions, cache, chunk);
        cache.put(chunk);
        count += 1;
    }
    count
}

/// Records the time that the kernel wrote before a packet, if it was requested.
fn note_time(transmissions: &mut Transmissions, cache: &Cache, chunk: u32) {
    let handle = cache.handle();
    let Some((offset, number)) = handle.region().stamped(chunk) else { return };
    transmissions.awaited = transmissions.awaited.saturating_sub(1);
    let Some(frame) = Frame::filled(handle.pointer(), chunk, offset, 0) else { return };
    let timestamp_ns = frame.front(Request::SIZE).and_then(Request::timestamp);
    transmissions.put(Transmitted { number, timestamp_ns });
    // The caller keeps the chunk.
    let _ = frame.into_parts();
}
