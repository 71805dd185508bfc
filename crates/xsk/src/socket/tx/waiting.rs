//! Waiting until packets can be sent, or have been sent.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use sys::net::xsk::DESCRIPTOR_CONTINUES;
use sys::poll::Woken;

use super::{Given, Rejected, SendError, Tx};
use crate::limits::NAPS;
use crate::umem::Frame;
use crate::wait::{Deadline, Readiness, Turn, Wait};
use crate::{Error, Result};

/// The result of [`Tx::drain`].
#[derive(Debug)]
#[must_use = "frames may be left"]
pub struct Drained {
    /// Number of frames that returned meanwhile.
    pub completed: u64,
    /// Number of frames that the kernel or the driver still has. They return later, or when the
    /// socket is closed; whether their packets are transmitted is unknown.
    pub left: u32,
    /// The error that ended it before the deadline: the interface is down or was removed.
    pub failed: Option<Error>,
}

impl Tx {
    /// Waits until a packet can be sent: a frame is free and the tx ring is not full. Sends the
    /// queued packets. Returns `false` at the deadline, or earlier as
    /// [`Rx::wait`](crate::Rx::wait).
    ///
    /// # Errors
    /// When the interface or the socket has failed.
    pub fn wait(&mut self, deadline: impl Into<Deadline>) -> Result<bool> {
        self.wait_for(deadline.into(), Early::Yes, Self::can_send)
    }

    /// As [`send`](Tx::send), but waits while no frame or slot is free.
    ///
    /// # Errors
    /// [`SendError::Full`] at the deadline, and when the wait ends early; others as
    /// [`send`](Tx::send).
    pub fn send_until(
        &mut self,
        packet: &[u8],
        deadline: impl Into<Deadline>,
    ) -> Result<(), SendError> {
        match self.send(packet) {
            Err(SendError::Full) => self.send_late(packet, deadline.into()),
            done => done,
        }
    }

    /// As [`push`](Tx::push), but waits while the ring is full.
    ///
    /// # Errors
    /// [`Rejected`] with the frame and the reason.
    pub fn push_until(
        &mut self,
        mut frame: Frame,
        deadline: impl Into<Deadline>,
    ) -> Result<(), Rejected> {
        let parts = frame.count();
        let mut until = None;
        let mut deadline = Some(deadline);
        loop {
            frame = match self.push(frame) {
                Err(Rejected { frame, why: SendError::Full }) => frame,
                done => return done,
            };
            until = until.or_else(|| deadline.take().map(Into::into));
            let deadline = until.unwrap_or(Deadline::NEVER);
            match self.wait_for(deadline, Early::Yes, |tx| tx.has_room(parts)) {
                Ok(true) => (),
                Ok(false) => return Err(Rejected { frame, why: SendError::Full }),
                Err(error) => return Err(Rejected { frame, why: Self::failed(error) }),
            }
        }
    }

    /// Sends all packets, waiting while no frame or slot is free, and flushes the last batch.
    /// Returns the number of packets, which is lower only when the wait ended.
    ///
    /// # Errors
    /// As [`send`](Tx::send); the packets before the one that failed are sent.
    pub fn send_all<'p>(
        &mut self,
        packets: impl IntoIterator<Item = &'p [u8]>,
        deadline: impl Into<Deadline>,
    ) -> Result<usize, SendError> {
        let (deadline, mut count) = (deadline.into(), 0);
        for packet in packets {
            match self.send_until(packet, deadline) {
                Ok(()) => count += 1,
                Err(SendError::Full) => break,
                Err(why) => return Err(why),
            }
        }
        self.flush().map_err(Self::failed)?;
        Ok(count)
    }

    /// Sends the queued packets, and waits until all frames have returned from the kernel, at most
    /// until the deadline. Interrupts and signals do not end it. On a shared queue it waits for the
    /// frames of all sockets.
    pub fn drain(&mut self, deadline: impl Into<Deadline>) -> Drained {
        let before = self.begin_drain();
        let failed = self.wait_for(deadline.into(), Early::No, |tx| tx.in_flight() == 0).err();
        self.drained(before, failed)
    }

    /// Takes back queued packets that were not yet passed to the kernel, and discards an error that
    /// was not reported. Returns the number of packets that are not sent. Frames with the kernel
    /// remain there.
    pub fn reset(&mut self) -> u32 {
        self.collect();
        self.failed = None;
        self.delay.end();
        let (mut packets, mut given) = (0, Given::default());
        let side = self.side;
        while let Some(descriptor) = self.ring.take_back() {
            let region = self.cache.handle().region();
            let place = region.geometry.place(descriptor.address);
            if let Some(place) = place.filter(|place| region.take_from_many(place.chunk, side)) {
                given.frames += 1;
                given.timestamps += u32::from(region.stamped(place.chunk).is_some());
                self.cache.put(place.chunk);
            }
            packets += u32::from(descriptor.options & DESCRIPTOR_CONTINUES == 0);
        }
        self.completion.with(|completion| completion.forget(given));
        // A misbehaving kernel may have written into the slots meanwhile.
        self.counters.sent = self.counters.sent.saturating_sub(u64::from(packets));
        self.renew_credit();
        packets
    }

    /// Changes how this half waits; see [`Rx::set_wait`](crate::Rx::set_wait).
    pub fn set_wait(&mut self, wait: Wait) {
        self.waiter.set_policy(wait);
    }

    /// Limits how long a packet waits for its batch: after this time it is sent by the next call of
    /// any method. This library has no threads, so a program that makes no calls must
    /// [`flush`](Tx::flush). With `None` no clock is read, which saves about 25 ns per packet.
    pub fn set_longest_delay(&mut self, delay: Option<Duration>) {
        self.delay = crate::wait::Delay::new(delay);
        self.flush_late();
        self.renew_credit();
    }

    /// Returns a descriptor for event loops that is readable (not writable) while the tx ring is at
    /// most half full. It does not report free frames, for which the kernel has no event.
    pub fn readiness(&self) -> Result<Readiness> {
        Readiness::of_writable(self.bound.socket().as_fd())
    }

    /// Whether a frame is free and the ring is not full.
    pub(crate) fn can_send(&mut self) -> bool {
        self.has_room(1) && self.cache.has_free()
    }

    pub(crate) fn has_room(&mut self, parts: u32) -> bool {
        self.ring.free(parts) >= parts
    }

    /// Returns the number of completed frames before the drain.
    pub(crate) fn begin_drain(&mut self) -> u64 {
        // An earlier error is discarded; if it persists, the next call fails again.
        self.failed = None;
        self.counters.completed
    }

    pub(crate) fn drained(&self, before: u64, failed: Option<Error>) -> Drained {
        Drained { completed: self.counters.completed - before, left: self.in_flight(), failed }
    }

    pub(crate) fn failed(error: Error) -> SendError {
        SendError::Failed(Box::new(error))
    }

    /// Checks that the socket still works, also when nothing is queued.
    ///
    /// # Errors
    /// When the interface is down or was removed.
    pub fn check(&self) -> Result<()> {
        self.bound.check()
    }

    fn send_late(&mut self, packet: &[u8], deadline: Deadline) -> Result<(), SendError> {
        while self.wait(deadline).map_err(Self::failed)? {
            match self.send(packet) {
                Err(SendError::Full) if !deadline.is_over() => (),
                done => return done,
            }
        }
        Err(SendError::Full)
    }

    fn wait_for(
        &mut self,
        deadline: Deadline,
        early: Early,
        mut is_done: impl FnMut(&mut Self) -> bool,
    ) -> Result<bool> {
        let start = Instant::now();
        let mut turns = self.waiter.begin(deadline, start);
        let mut nap = NAPS.0;
        loop {
            self.flush()?;
            if is_done(self) {
                self.waiter.learn(start.elapsed(), 1);
                return Ok(true);
            }
            if early == Early::Yes && self.waiter.is_interrupted() {
                return Ok(false);
            }
            match turns.next(Instant::now()) {
                Turn::Over => return Ok(false),
                Turn::Spin => (),
                Turn::Look | Turn::Drive => self.check()?,
                Turn::Sleep(limit) => {
                    let woken = self.nap(limit.min(nap), early)?;
                    if early == Early::Yes && woken == Woken::Signal {
                        return Ok(false);
                    }
                    nap = (2 * nap).min(NAPS.1);
                }
            }
        }
    }

    /// Sleeps until the ring is half empty. If it is, the kernel has no event, so the sleep lasts
    /// for `limit`.
    fn nap(&mut self, limit: Duration, early: Early) -> Result<Woken> {
        let is_full = self.ring.outstanding() > self.ring.entries() / 2;
        let mut watch = if is_full { self.bound.link().writable() } else { None };
        match early {
            Early::Yes => self.waiter.sleep(watch, limit),
            Early::No => Ok(sys::poll::wait(watch.as_mut_slice(), Some(limit))?),
        }
    }
}

/// The descriptor of the socket; see [`Rx`](crate::Rx).
impl AsRawFd for Tx {
    fn as_raw_fd(&self) -> RawFd {
        self.bound.socket().as_fd().as_raw_fd()
    }
}

/// Whether interrupts and signals end a wait early.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    Yes,
    No,
}
