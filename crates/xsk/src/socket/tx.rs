//! The half that sends.

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
    /// Whose the frames are that are sent.
    side: Side,
    /// Descriptors that wait before the kernel is called.
    batch: u32,
    /// To the kernel, since the completion ring was looked at.
    given: Given,
    acceptance: Acceptance,
    counters: TxCounters,
    delay: Delay,
    waiter: Waiter,
    /// What the kernel answered that is not just "later".
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

    /// It takes no packet before it knows how the socket was bound.
    pub(super) fn set_acceptance(&mut self, acceptance: Acceptance) {
        // A packet that the ring can never hold would wait for good.
        self.acceptance = acceptance.with_slots(self.ring.entries());
        self.renew_credit();
    }

    /// Copies one packet, Ethernet header first, into a frame and sends it. With multi-buffer on
    /// it may be longer than a frame.
    #[inline]
    pub fn send(&mut self, packet: &[u8]) -> Result<(), SendError> {
        match self.send_with(packet.len(), |bytes| bytes.copy_from_slice(packet)) {
            Err(SendError::TooLong { .. }) if self.acceptance.parts() > 1 => self.send_long(packet),
            other => other,
        }
    }

    /// Sends a packet of `len` bytes that `write` fills in place. The bytes hold something old.
    #[inline]
    pub fn send_with(
        &mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), SendError> {
        let is_plain = self.ring.credit() > 0 && self.acceptance.is_plain(len);
        // Chunks, not frames, come from what is not inlined: numbers stay in registers.
        let Some(chunk) = (if is_plain { self.cache.pop() } else { None }) else {
            return self.send_closely(len, write);
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

    /// Sends up to `count` packets of `len` bytes each, that `write` fills in place, in the order
    /// of its calls; tells how many, which is fewer when there is no room for more. The bytes hold
    /// something old. In a [batch](Tx::batch) this is the fastest way: the books of all packets are
    /// kept together. If `write` panics, packets that it filled may not be sent.
    ///
    /// # Errors
    /// As [`send_with`](Tx::send_with); the packets before the one that failed are taken.
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
            match self.send_closely(len, &mut write) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => break,
                Err(why) => return Err(why),
            }
        }
        Ok(sent)
    }

    /// As [`Tx::send_with`], where more is to be seen to.
    #[inline(never)]
    fn send_closely(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> Result<(), SendError> {
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

    /// A packet of `len` bytes in as many parts as it needs, to be filled through
    /// [`fragments_mut`](Frame::fragments_mut) and pushed. The bytes hold something old.
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
            assert!(appended.is_ok(), "as many parts as can be sent fit into a chain");
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

    /// An empty frame to be filled and pushed; `None` when none is free.
    #[inline]
    pub fn alloc(&mut self) -> Option<Frame> {
        self.flush_late();
        let chunk = match self.cache.pop() {
            Some(chunk) => chunk,
            None => self.take_late()?,
        };
        Some(self.cache.frame(chunk))
    }

    /// Gives a frame that was not sent back for use by this half.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.cache.recycle(frame);
    }

    /// Sends a frame without a copy; it may come from any `Rx` of the same memory.
    // Always inline: to pass a frame through memory takes as long as all the rest.
    #[inline(always)]
    pub fn push(&mut self, frame: Frame) -> Result<(), Rejected> {
        let is_plain = self.ring.credit() > 0
            && self.cache.handle().is_same(frame.region())
            && frame.is_plain()
            && self.acceptance.is_plain(frame.len());
        if !is_plain {
            return self.push_closely(frame.into_words());
        }
        if !self.put_plain(frame) {
            // What goes wrong is told next time: this packet is on its way.
            self.transmit_due();
        }
        Ok(())
    }

    /// As [`Tx::push`], where more is to be seen to.
    #[inline(never)]
    fn push_closely(&mut self, words: Words) -> Result<(), Rejected> {
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

    /// Writes the descriptor of a plain packet, for which there is credit; `false` when there is
    /// no more of it.
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

    /// Sends what waits if it is a batch, or has waited too long.
    #[inline(never)]
    fn transmit_due(&mut self) {
        if self.ring.pending() >= self.batch || self.delay.note() {
            self.transmit();
        } else {
            self.renew_credit();
        }
    }

    /// As [`Tx::transmit_due`]; tells what went wrong.
    #[inline(never)]
    fn settle(&mut self) -> Result<(), SendError> {
        self.transmit_due();
        self.failure().map_err(Self::failed)
    }

    /// Plain packets up to the end of the batch need no closer look, unless there is something
    /// that each packet must be asked for.
    fn renew_credit(&mut self) {
        let is_watched =
            self.failed.is_some() || self.delay.is_set() || self.acceptance.has_metadata();
        let most = if is_watched { 0 } else { self.batch.saturating_sub(self.ring.pending()) };
        self.ring.set_credit(most);
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
        self.renew_credit();
        Batch { tx: self, before }
    }

    /// Frames that the kernel has not given back; of all sockets on a shared queue.
    pub fn in_flight(&self) -> u32 {
        self.completion.look(Completion::in_flight) + self.given.frames
    }

    /// Takes back frames that were sent.
    pub fn reap(&mut self) {
        self.flush_late();
        self.collect();
    }

    /// When packets were transmitted whose frames [asked](Frame::request) for it and came back, in
    /// the order in which they did; of all sockets on a shared queue. As many as the completion
    /// ring has slots are kept, the oldest are lost to newer ones.
    pub fn transmissions(&mut self) -> impl Iterator<Item = Transmitted> {
        self.reap();
        std::iter::from_fn(|| self.completion.with(Completion::transmitted))
    }

    /// Free frames that this half keeps for itself.
    pub fn cached(&self) -> u32 {
        self.cache.count()
    }

    pub fn counters(&self) -> TxCounters {
        TxCounters {
            faults: self.ring.faults() + self.completion.look(Completion::faults),
            timestamps_lost: self.completion.look(Completion::timestamps_lost),
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
        let mut options = if frame.asked() { DESCRIPTOR_TX_METADATA } else { 0 };
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
            // What is asked for is said once a packet.
            options = 0;
        }
    }

    /// None is at hand: frames that were sent, then others of the memory; if all are in use,
    /// perhaps the kernel only waits to be called.
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
        // Counted before the kernel can send them: others on a shared queue wait for these, too.
        if self.completion.with(|completion| completion.add(given)) > 0 {
            self.collect();
        }
        self.ring.publish();
        self.delay.end();
        if !self.bound.opening.is_wakeup_told || self.ring.needs_wakeup() {
            self.kick();
            // In copy mode most frames are back by now; used again at once they are still in this
            // processor's cache.
            self.collect();
        }
        self.renew_credit();
    }

    /// Calls the kernel as long as it takes packets and leaves some.
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

    /// What went wrong since this was last asked.
    fn failure(&mut self) -> Result<()> {
        if self.failed.is_none() {
            return Ok(());
        }
        self.failed.take().map_or(Ok(()), |error| Err(self.bound.explain(error)))
    }

    /// The chunk is the kernel's from now on, which the descriptor tells it.
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
        match self.tx.ring.pending() {
            0 => self.tx.renew_credit(),
            _ => self.tx.transmit(),
        }
    }
}
