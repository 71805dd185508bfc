//! The sending half of a socket.

mod waiting;

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use sys::net::xsk::{DESCRIPTOR_CONTINUES, DESCRIPTOR_TX_METADATA, Kick};

use super::Bound;
use super::acceptance::Acceptance;
use super::completion::{Completion, Given};
use super::refusal::{Rejected, SendError};
use super::share::Share;
use super::stats::TxCounters;
use crate::Result;
use crate::limits::KICKS;
use crate::metadata::{Request, Transmitted};
use crate::ring::{Descriptor, Producer};
use crate::umem::{Cache, Frame, Side, Words};
use crate::wait::{Delay, Waiter};

pub use waiting::Drained;

/// The sending half of a socket, for one thread at a time.
///
/// A packet is passed to the kernel when `send` or `push` returns, unless the socket has a batch
/// size: then when the batch is complete, at [`flush`](Tx::flush), or at the drop.
#[derive(Debug)]
pub struct Tx {
    // The rings come first, so that they are unmapped before the last holder closes the socket.
    ring: Producer<Descriptor>,
    completion: Share<Completion>,
    cache: Cache,
    /// The owner mark of frames that are sent.
    side: Side,
    /// Number of descriptors that are collected before the kernel is called.
    batch: u32,
    /// Frames passed to the kernel since the completion ring was read.
    given: Given,
    acceptance: Acceptance,
    counters: TxCounters,
    delay: Delay,
    waiter: Waiter,
    /// An error of the kernel that is not temporary.
    failed: Option<sys::Error>,
    bound: Arc<Bound>,
}

impl Tx {
    pub(super) fn new(
        ring: Producer<Descriptor>,
        completion: Share<Completion>,
        bound: Arc<Bound>,
        cache: Cache,
        batch: u32,
        waiter: Waiter,
    ) -> Self {
        Self {
            ring,
            completion,
            cache,
            side: Side::tx(bound.shared_pool().number()),
            batch,
            given: Given::default(),
            acceptance: Acceptance::default(),
            counters: TxCounters::default(),
            delay: Delay::default(),
            waiter,
            failed: None,
            bound,
        }
    }

    /// Sets the limits of packets, once it is known how the socket was bound.
    pub(super) fn set_acceptance(&mut self, acceptance: Acceptance) {
        // A packet that the ring can never hold would wait forever.
        self.acceptance = acceptance.with_slots(self.ring.entries());
        self.renew_credit();
    }

    /// Copies one packet, Ethernet header first, into a frame and sends it. With multi-buffer it
    /// may be longer than a frame.
    ///
    /// # Errors
    /// [`SendError::Full`] when no frame or slot is free; other variants for packets that cannot be
    /// sent.
    #[inline]
    pub fn send(&mut self, packet: &[u8]) -> Result<(), SendError> {
        match self.send_with(packet.len(), |bytes| bytes.copy_from_slice(packet)) {
            Err(SendError::TooLong { .. }) if self.acceptance.parts() > 1 => self.send_long(packet),
            other => other,
        }
    }

    /// Sends a packet of `len` bytes that `write` fills in place. The bytes initially have old
    /// contents.
    ///
    /// # Errors
    /// As [`send`](Tx::send).
    #[inline]
    pub fn send_with(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), SendError> {
        let is_plain = self.ring.credit() > 0 && self.acceptance.is_plain(len);
        // Functions that are not inlined return chunks instead of frames, so that numbers remain in
        // registers.
        let Some(chunk) = (if is_plain { self.cache.pop() } else { None }) else {
            return self.send_checked(len, write);
        };
        let mut frame = self.cache.frame(chunk);
        if !frame.resize(len) {
            return Err(self.too_long(len, frame.into_words()));
        }
        write(&mut frame);
        match self.put_plain(frame) {
            true => Ok(()),
            false => self.settle(),
        }
    }

    /// Sends up to `count` packets of `len` bytes each, which `write` fills in place, in the order
    /// of its calls. Returns the number of packets, which is lower when no frame or slot is free.
    /// The bytes initially have old contents. In a [batch](Tx::batch) this is the fastest method,
    /// because the bookkeeping is done for all packets together. If `write` panics, packets that it
    /// filled may not be sent.
    ///
    /// # Errors
    /// As [`send_with`](Tx::send_with); the packets before the one that failed are sent.
    #[inline]
    pub fn send_burst(
        &mut self,
        count: usize,
        len: usize,
        mut write: impl FnMut(&mut [u8]),
    ) -> Result<usize, SendError> {
        let mut sent = 0;
        while sent < count {
            let left = u32::try_from(count - sent).unwrap_or(u32::MAX);
            let most = if self.acceptance.is_plain(len) { left.min(self.ring.credit()) } else { 0 };
            let filled = self.cache.fill(most, len, &mut write);
            if filled > 0 {
                self.put_filled(filled, len)?;
                sent += filled as usize;
                continue;
            }
            match self.send_checked(len, &mut write) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => break,
                Err(why) => return Err(why),
            }
        }
        Ok(sent)
    }

    /// As [`Tx::send_with`], with all checks.
    #[inline(never)]
    fn send_checked(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), SendError> {
        let mut frame = self.alloc().ok_or(SendError::Full)?;
        if !frame.resize(len) {
            return Err(self.too_long(len, frame.into_words()));
        }
        write(&mut frame);
        self.push_or_recycle(frame)
    }

    #[cold]
    fn too_long(&mut self, len: usize, words: Words) -> SendError {
        let frame = Frame::from_words(words);
        let room = frame.capacity();
        self.cache.recycle(frame);
        SendError::TooLong { len, room }
    }

    /// Allocates a packet of `len` bytes in the parts that it needs, to be filled through
    /// [`fragments_mut`](Frame::fragments_mut) and pushed. The bytes initially have old contents.
    ///
    /// # Errors
    /// As [`send`](Tx::send).
    pub fn alloc_long(&mut self, len: usize) -> Result<Frame, SendError> {
        if len > self.acceptance.longest() {
            return Err(SendError::OverMtu { len, most: self.acceptance.longest() });
        }
        let mut frame = self.alloc().ok_or(SendError::Full)?;
        let room = frame.capacity();
        let (parts, most) = (len.div_ceil(room) as u32, self.acceptance.parts());
        if parts > most {
            self.cache.recycle(frame);
            return Err(match most {
                1 => SendError::TooLong { len, room },
                _ => SendError::TooManyParts { parts, most },
            });
        }
        frame.resize(len.min(room));
        for start in (room..len).step_by(room) {
            let Some(mut part) = self.alloc() else {
                self.cache.recycle(frame);
                return Err(SendError::Full);
            };
            part.resize((len - start).min(room));
            let appended = frame.append(part);
            assert!(appended.is_ok(), "the parts that can be sent fit into a chain");
        }
        Ok(frame)
    }

    #[cold]
    fn send_long(&mut self, packet: &[u8]) -> Result<(), SendError> {
        let mut frame = self.alloc_long(packet.len())?;
        frame.write_at(0, packet);
        self.push_or_recycle(frame)
    }

    fn push_or_recycle(&mut self, frame: Frame) -> Result<(), SendError> {
        match self.push(frame) {
            Ok(()) => self.failure().map_err(Self::failed),
            Err(rejected) => {
                self.cache.recycle(rejected.frame);
                Err(rejected.why)
            }
        }
    }

    /// Allocates an empty frame to be filled and pushed; `None` when no frame is free.
    #[inline]
    pub fn alloc(&mut self) -> Option<Frame> {
        self.flush_late();
        let chunk = match self.cache.pop() {
            Some(chunk) => chunk,
            None => self.take_late()?,
        };
        Some(self.cache.frame(chunk))
    }

    /// Returns a frame that was not sent, to be used again by this half.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.cache.recycle(frame);
    }

    /// Sends a frame without a copy; it may come from any `Rx` of the same memory.
    ///
    /// # Errors
    /// [`Rejected`] with the frame and the reason.
    // Always inline: passing a frame through memory takes as long as everything else.
    #[inline(always)]
    pub fn push(&mut self, frame: Frame) -> Result<(), Rejected> {
        let is_plain = self.ring.credit() > 0
            && self.cache.handle().is_same(frame.region())
            && frame.is_plain()
            && self.acceptance.is_plain(frame.len());
        if !is_plain {
            return self.push_checked(frame.into_words());
        }
        if !self.put_plain(frame) {
            // An error is reported by the next call, since this packet was passed to the kernel.
            self.transmit_due();
        }
        Ok(())
    }

    /// As [`Tx::push`], with all checks.
    #[inline(never)]
    fn push_checked(&mut self, words: Words) -> Result<(), Rejected> {
        let frame = Frame::from_words(words);
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
        self.given.frames += parts;
        self.counters.sent += 1;
        self.transmit_due();
        Ok(())
    }

    /// Writes the descriptor of a plain packet on credit; `false` when no credit is left.
    #[inline]
    fn put_plain(&mut self, frame: Frame) -> bool {
        let descriptor = self.give(frame.into_chunk(), 0);
        self.given.frames += 1;
        self.counters.sent += 1;
        self.ring.put_on_credit(descriptor)
    }

    /// As [`Tx::put_plain`], for packets in the next chunks of the cache.
    fn put_filled(&mut self, count: u32, len: usize) -> Result<(), SendError> {
        let side = self.side;
        let (region, chunks) = self.cache.take_filled(count);
        let window = region.window(len).expect("the packets were filled");
        self.ring.put_all_on_credit(chunks.iter().rev().map(|chunk| window.give(*chunk, side)));
        self.given.frames += count;
        self.counters.sent += u64::from(count);
        if self.ring.credit() > 0 { Ok(()) } else { self.settle() }
    }

    /// Sends the queued packets if the batch is complete or has waited too long.
    #[inline(never)]
    fn transmit_due(&mut self) {
        if self.ring.pending() >= self.batch || self.delay.note() {
            self.transmit();
        } else {
            self.renew_credit();
        }
    }

    /// As [`Tx::transmit_due`]; returns errors.
    #[inline(never)]
    fn settle(&mut self) -> Result<(), SendError> {
        self.transmit_due();
        self.failure().map_err(Self::failed)
    }

    /// Grants credit for plain packets up to the end of the batch, unless each packet must be
    /// checked.
    fn renew_credit(&mut self) {
        let is_watched =
            self.failed.is_some() || self.delay.is_set() || self.acceptance.has_metadata();
        let most = if is_watched { 0 } else { self.batch.saturating_sub(self.ring.pending()) };
        self.ring.set_credit(most);
    }

    /// Sends the queued packets, and takes back completed frames.
    ///
    /// # Errors
    /// When the interface or the socket has failed, also in an earlier call.
    pub fn flush(&mut self) -> Result<()> {
        self.transmit();
        self.failure()
    }

    /// Collects packets until the batch is dropped or has `size` packets; then they are sent.
    pub fn batch(&mut self, size: u32) -> Batch<'_> {
        let before = mem::replace(&mut self.batch, size.max(1));
        self.renew_credit();
        Batch { tx: self, before }
    }

    /// Number of frames that the kernel has not returned; of all sockets on a shared queue.
    pub fn in_flight(&self) -> u32 {
        self.completion.inspect(Completion::in_flight) + self.given.frames
    }

    /// Takes back frames that were transmitted.
    pub fn reap(&mut self) {
        self.flush_late();
        self.collect();
    }

    /// Transmit times of packets that [requested](Frame::request) one, in the order in which their
    /// frames returned; of all sockets on a shared queue. The number kept is that of the slots of
    /// the completion ring; newer times replace the oldest.
    pub fn transmissions(&mut self) -> impl Iterator<Item = Transmitted> {
        self.reap();
        std::iter::from_fn(|| self.completion.with(Completion::transmitted))
    }

    /// Number of free frames in the cache of this half.
    pub fn cached(&self) -> u32 {
        self.cache.count()
    }

    /// The counters of this half.
    pub fn counters(&self) -> TxCounters {
        TxCounters {
            faults: self.ring.faults() + self.completion.inspect(Completion::faults),
            timestamps_lost: self.completion.inspect(Completion::timestamps_lost),
            ..self.counters
        }
    }

    pub(super) fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    pub(super) fn common_completion(&self) -> Option<&Arc<Mutex<Completion>>> {
        self.completion.common()
    }

    /// Sends packets that have waited too long for their batch.
    #[inline]
    fn flush_late(&mut self) {
        if self.delay.is_over() {
            self.transmit();
        }
    }

    fn collect(&mut self) {
        let given = mem::take(&mut self.given);
        let cache = &mut self.cache;
        let collected = self.completion.with(|ring| ring.collect(given, cache));
        self.counters.completed += u64::from(collected.completed);
        self.counters.invalid += u64::from(collected.invalid);
    }

    #[inline]
    fn refusal(&self, frame: &Frame) -> Option<SendError> {
        if !self.cache.handle().is_same(frame.region()) {
            return Some(SendError::Foreign);
        }
        self.acceptance.refusal(frame)
    }

    /// Number of free slots in the ring, after a system call if there are too few.
    #[inline]
    fn room(&mut self, parts: u32) -> u32 {
        let room = self.ring.free(parts);
        if room >= parts {
            return room;
        }
        self.transmit();
        self.ring.free(parts)
    }

    /// Writes the descriptors of a frame, for which there must be space.
    #[inline]
    fn put(&mut self, frame: Frame) {
        let mut left = frame.count();
        let mut options = if frame.has_request() { DESCRIPTOR_TX_METADATA } else { 0 };
        if self.acceptance.has_metadata() {
            let is_stamped = frame.requested().is_some_and(Request::has_timestamp);
            frame.note_stamped(is_stamped);
            self.given.timestamps += u32::from(is_stamped);
        }
        for part in frame.into_parts() {
            left -= 1;
            let goes_on = if left > 0 { DESCRIPTOR_CONTINUES } else { 0 };
            let descriptor = self.give(part, options | goes_on);
            let is_put = self.ring.put(descriptor);
            assert!(is_put, "there was room for every part");
            // Requests are announced once per packet.
            options = 0;
        }
    }

    /// With an empty cache, takes completed frames, then others of the memory. If all are in use,
    /// the kernel may only be waiting for a system call.
    #[cold]
    fn take_late(&mut self) -> Option<u32> {
        self.collect();
        if let Some(chunk) = self.cache.take() {
            return Some(chunk);
        }
        self.transmit();
        self.collect();
        let chunk = self.cache.take();
        self.counters.full += u64::from(chunk.is_none());
        chunk
    }

    fn transmit(&mut self) {
        if self.ring.pending() == 0 && self.in_flight() == 0 {
            return self.renew_credit();
        }
        let given = mem::take(&mut self.given);
        // Counted before the kernel can send them, since others on a shared queue wait for them,
        // too.
        if self.completion.with(|completion| completion.add(given)) > 0 {
            self.collect();
        }
        self.ring.publish();
        self.delay.end();
        if !self.bound.opening.options.needs_wakeup || self.ring.needs_wakeup() {
            self.kick();
            // In copy mode most frames have returned by now; used again immediately, they are still
            // in the cache of this processor.
            self.collect();
        }
        self.renew_credit();
    }

    /// Calls the kernel as long as it transmits packets and leaves some.
    fn kick(&mut self) {
        let mut before = self.ring.outstanding();
        for _ in 0..KICKS {
            if before == 0 {
                return;
            }
            self.counters.kicks += 1;
            match self.bound.link().kick_transmit() {
                Ok(Kick::Done) => return,
                Ok(Kick::Later) => self.counters.kicks_refused += 1,
                Ok(Kick::Dropped) => {
                    self.counters.kicks_refused += 1;
                    self.counters.dropped += u64::from(!self.bound.is_zero_copy());
                }
                Err(error) => return self.failed = Some(error),
            }
            let left = self.ring.outstanding();
            if left == before {
                return;
            }
            before = left;
        }
    }

    /// Returns the error since the last call.
    fn failure(&mut self) -> Result<()> {
        if self.failed.is_none() {
            return Ok(());
        }
        self.failed.take().map_or(Ok(()), |error| Err(self.bound.explain(error)))
    }

    /// Passes a chunk to the kernel; returns its descriptor.
    #[inline]
    fn give(&self, (chunk, offset, len): (u32, u32, u32), options: u32) -> Descriptor {
        let region = self.cache.handle().region();
        let address = region.geometry.address(chunk) + u64::from(offset);
        region.give(chunk, self.side);
        Descriptor { address, len, options }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        // Queued packets are sent.
        if self.ring.pending() > 0 {
            self.transmit();
        }
    }
}

/// A [`Tx`] that collects packets; see [`Tx::batch`].
#[derive(Debug)]
#[must_use = "a batch that is dropped immediately has no effect"]
pub struct Batch<'a> {
    tx: &'a mut Tx,
    before: u32,
}

impl Batch<'_> {
    /// Sends the queued packets.
    ///
    /// # Errors
    /// As [`Tx::flush`], for the whole batch.
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
        match self.tx.ring.pending() {
            0 => self.tx.renew_credit(),
            _ => self.tx.transmit(),
        }
    }
}
