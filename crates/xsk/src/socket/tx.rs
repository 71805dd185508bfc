//! The half that sends.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use sys::net::xsk::{DESCRIPTOR_CONTINUES, DESCRIPTOR_TX_METADATA};

use super::Bound;
use super::completion::Completion;
use super::share::Share;
use super::stats::TxCounters;
use crate::limits::KICKS;
use crate::ring::{Descriptor, Producer};
use crate::umem::{Cache, Frame, Side, options};
use crate::{Error, Result};

/// Sends from one thread at a time.
///
/// A packet is on its way when `send` or `push` returns, unless the socket was built with a batch
/// size: then at the latest when so many are waiting, at [`flush`](Tx::flush), and at the drop.
#[derive(Debug)]
pub struct Tx {
    // The rings come first: they are unmapped before the last holder closes the socket.
    ring: Producer<Descriptor>,
    completion: Share<Completion>,
    cache: Cache,
    /// Descriptors that wait before the kernel is called.
    batch: u32,
    /// Frames that were given to the kernel since the completion ring was looked at.
    given: u32,
    counters: TxCounters,
    /// What the kernel answered that is not just "later".
    failed: Option<sys::Error>,
    bound: Arc<Bound>,
}

/// Why a packet was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("no free frame or no room in the tx ring: wait until packets are sent")]
    Full,
    #[error("a packet of 0 bytes cannot be sent")]
    Empty,
    #[error(
        "a packet of {len} bytes does not fit into a frame: there is room for {room}; use larger \
         frames, or a chain of them with multi-buffer on"
    )]
    TooLong { len: usize, room: usize },
    #[error("the frame is of other memory than the socket's")]
    Foreign,
    #[error("a packet in {parts} parts needs a socket with multi-buffer on")]
    Fragmented { parts: u32 },
    /// The interface or the socket failed; what was queued before stays queued.
    #[error(transparent)]
    Failed(Box<Error>),
}

/// A frame that was not taken, with the reason.
#[derive(Debug)]
pub struct Rejected {
    pub frame: Frame,
    pub why: SendError,
}

impl Tx {
    pub(super) fn new(
        ring: Producer<Descriptor>,
        completion: Share<Completion>,
        bound: Arc<Bound>,
        cache: Cache,
        batch: u32,
    ) -> Self {
        let counters = TxCounters::default();
        Self { ring, completion, cache, batch, given: 0, counters, failed: None, bound }
    }

    /// Copies one packet, Ethernet header first, into a frame and sends it.
    #[inline]
    pub fn send(&mut self, packet: &[u8]) -> Result<(), SendError> {
        self.send_with(packet.len(), |bytes| bytes.copy_from_slice(packet))
    }

    /// Sends a packet of `len` bytes that `write` fills in place. The bytes hold something old.
    #[inline]
    pub fn send_with(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), SendError> {
        let mut frame = self.alloc().ok_or(SendError::Full)?;
        if !frame.resize(len) {
            let room = frame.capacity();
            self.cache.recycle(frame);
            return Err(SendError::TooLong { len, room });
        }
        write(&mut frame);
        if let Err(rejected) = self.push(frame) {
            self.cache.recycle(rejected.frame);
            return Err(rejected.why);
        }
        self.failure().map_err(|error| SendError::Failed(Box::new(error)))
    }

    /// An empty frame to be filled and pushed; `None` when none is free.
    #[inline]
    pub fn alloc(&mut self) -> Option<Frame> {
        if self.cache.is_empty() {
            self.reap();
        }
        let frame = self.cache.alloc();
        if frame.is_some() { frame } else { self.alloc_late() }
    }

    /// Gives a frame that was not sent back for use by this half.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.cache.recycle(frame);
    }

    /// Sends a frame without a copy; it may come from any `Rx` of the same memory.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Rejected> {
        if let Some(error) = self.failed.take() {
            return Err(Rejected {
                frame,
                why: SendError::Failed(Box::new(self.bound.explain(error))),
            });
        }
        if let Some(why) = self.refusal(&frame) {
            return Err(Rejected { frame, why });
        }
        let parts = frame.count();
        if self.room(parts) < parts {
            self.counters.full += 1;
            return Err(Rejected { frame, why: SendError::Full });
        }
        self.put(frame);
        self.given += parts;
        self.counters.sent += 1;
        if self.ring.pending() >= self.batch {
            self.transmit();
        }
        Ok(())
    }

    /// Sends what waits, and takes back frames that are done.
    ///
    /// # Errors
    /// When the kernel refuses the interface or the socket, also if an earlier call met that.
    pub fn flush(&mut self) -> Result<()> {
        self.transmit();
        self.failure()
    }

    /// Until the batch is dropped, packets wait for each other, at most `size` of them; then they
    /// are sent.
    pub fn batch(&mut self, size: u32) -> Batch<'_> {
        let before = mem::replace(&mut self.batch, size.max(1));
        Batch { tx: self, before }
    }

    /// Frames that the kernel has not given back; of all sockets on a shared queue.
    pub fn in_flight(&self) -> u32 {
        self.completion.look(Completion::in_flight) + self.given
    }

    /// Takes back frames that were sent.
    pub fn reap(&mut self) {
        let (given, pool) = (mem::take(&mut self.given), self.bound.pool());
        let cache = &mut self.cache;
        let collected = self.completion.with(|ring| ring.collect(given, cache, pool));
        self.counters.completed += u64::from(collected.completed);
        self.counters.invalid += u64::from(collected.invalid);
    }

    pub fn counters(&self) -> TxCounters {
        TxCounters {
            faults: self.ring.faults() + self.completion.look(Completion::faults),
            ..self.counters
        }
    }

    /// For `poll` and `epoll`: writable when the ring has room.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.bound.socket().as_fd()
    }

    pub(super) fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    pub(super) fn common_completion(&self) -> Option<&Arc<Mutex<Completion>>> {
        self.completion.common()
    }

    #[inline]
    fn refusal(&self, frame: &Frame) -> Option<SendError> {
        if !self.cache.handle().is_same(frame.region()) {
            return Some(SendError::Foreign);
        }
        if frame.is_empty() {
            return Some(SendError::Empty);
        }
        let parts = frame.count();
        (parts > 1 && !self.bound.is_multi_buffer).then_some(SendError::Fragmented { parts })
    }

    /// Slots in the ring, after a call of the kernel if there are too few.
    #[inline]
    fn room(&mut self, parts: u32) -> u32 {
        let room = self.ring.free(parts);
        if room >= parts {
            return room;
        }
        self.transmit();
        self.ring.free(parts)
    }

    /// Writes the descriptors of a frame; there is room for them.
    #[inline]
    fn put(&mut self, frame: Frame) {
        let mut left = frame.count();
        let mut options = match frame.options() & options::TX_METADATA {
            0 => 0,
            _ => DESCRIPTOR_TX_METADATA,
        };
        for part in frame.into_parts() {
            left -= 1;
            let goes_on = if left > 0 { DESCRIPTOR_CONTINUES } else { 0 };
            self.put_part(part, options | goes_on);
            // What is asked for is said once a packet.
            options = 0;
        }
    }

    /// All frames are in use: perhaps the kernel only waits to be called.
    #[cold]
    fn alloc_late(&mut self) -> Option<Frame> {
        self.transmit();
        self.reap();
        let frame = self.cache.alloc();
        self.counters.full += u64::from(frame.is_none());
        frame
    }

    fn transmit(&mut self) {
        self.reap();
        self.ring.publish();
        if !self.bound.is_wakeup_told || self.ring.needs_wakeup() {
            self.kick();
        }
    }

    /// Calls the kernel as long as it takes packets and leaves some.
    fn kick(&mut self) {
        let mut before = self.ring.outstanding();
        for _ in 0..KICKS {
            if before == 0 {
                return;
            }
            self.counters.kicks += 1;
            match self.bound.socket().kick_transmit() {
                Ok(true) => return,
                Ok(false) => self.counters.kicks_refused += 1,
                Err(error) => return self.failed = Some(error),
            }
            let left = self.ring.outstanding();
            if left == before {
                return;
            }
            before = left;
        }
    }

    /// What went wrong since this was last asked.
    fn failure(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), |error| Err(self.bound.explain(error)))
    }

    #[inline]
    fn put_part(&mut self, (chunk, offset, len): (u32, u32, u32), options: u32) {
        let region = self.cache.handle().region();
        let address = region.geometry.address(chunk) + u64::from(offset);
        region.give(chunk, Side::Tx(self.bound.pool()));
        let is_put = self.ring.put(Descriptor { address, len, options });
        assert!(is_put, "there was room for every part");
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        // What was queued for a batch is not lost.
        if self.ring.pending() > 0 {
            self.transmit();
        }
    }
}

/// See [`Tx::batch`]; it is used as the [`Tx`] itself.
#[derive(Debug)]
#[must_use = "a batch that is dropped at once is of one packet"]
pub struct Batch<'a> {
    tx: &'a mut Tx,
    before: u32,
}

impl Batch<'_> {
    /// Sends what waits, and tells what went wrong in the batch.
    pub fn finish(self) -> Result<()> {
        self.tx.flush()
    }
}

impl Deref for Batch<'_> {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        self.tx
    }
}

impl DerefMut for Batch<'_> {
    fn deref_mut(&mut self) -> &mut Tx {
        self.tx
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.tx.batch = self.before;
        if self.tx.ring.pending() > 0 {
            self.tx.transmit();
        }
    }
}
