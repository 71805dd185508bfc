//! Frames that the kernel has sent.

use crate::metadata::{Request, Transmissions, Transmitted};
use crate::ring::Consumer;
use crate::umem::{Cache, Frame, Side};

/// The completion ring, and how many frames are still to come.
#[derive(Debug)]
pub(crate) struct Completion {
    ring: Consumer<u64>,
    in_flight: u32,
    /// Whose the frames are that come back.
    side: Side,
    transmissions: Transmissions,
}

/// What was given to the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given {
    pub frames: u32,
    /// Packets among them whose time of transmission is wanted.
    pub timestamps: u32,
}

/// What was taken from the ring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collected {
    pub completed: u32,
    /// Addresses that named no frame of ours in transmission.
    pub invalid: u32,
}

impl Completion {
    /// `timestamps`: as many are kept until they are taken.
    pub fn new(ring: Consumer<u64>, pool: u32, timestamps: u32) -> Self {
        let transmissions = Transmissions::new(timestamps as usize);
        Self { ring, in_flight: 0, side: Side::tx(pool), transmissions }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// More is given to the kernel; tells how many frames it had before.
    #[inline]
    pub fn add(&mut self, given: Given) -> u32 {
        let before = self.in_flight;
        self.in_flight += given.frames;
        self.transmissions.awaited += given.timestamps;
        before
    }

    /// Takes everything that is there, after more was given.
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

    /// This was not given to the kernel after all.
    pub fn forget(&mut self, given: Given) {
        self.in_flight = self.in_flight.saturating_sub(given.frames);
        self.transmissions.awaited = self.transmissions.awaited.saturating_sub(given.timestamps);
    }

    pub fn faults(&self) -> u64 {
        self.ring.faults()
    }
}

/// As [`Cache::regain`], with a look at what packets were transmitted when.
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

/// What the kernel wrote in front of a packet, if that was asked for.
fn note_time(transmissions: &mut Transmissions, cache: &Cache, chunk: u32) {
    let handle = cache.handle();
    let Some((offset, number)) = handle.region().stamped(chunk) else { return };
    transmissions.awaited = transmissions.awaited.saturating_sub(1);
    let Some(frame) = Frame::filled(handle.pointer(), chunk, offset, 0) else { return };
    let timestamp_ns = frame.front(Request::SIZE).and_then(Request::timestamp);
    transmissions.put(Transmitted { number, timestamp_ns });
    // The chunk stays the caller's.
    let _ = frame.into_parts();
}
