//! The half that receives.

mod waiting;

use std::mem;
use std::sync::{Arc, Mutex};

use sys::net::xsk::DESCRIPTOR_CONTINUES;

use super::Bound;
use super::fill::Fill;
use super::share::Share;
use super::stats::{RxCounters, Stats};
use crate::Result;
use crate::limits::{AHEAD, FRAGMENTS};
use crate::ring::{Consumer, Descriptor};
use crate::steer::Entry;
use crate::umem::{Cache, Frame, Place, Side, Words, options};
use crate::wait::Waiter;

/// Receives in one thread at a time.
///
/// Whatever is done with packets, the kernel is given as many empty frames: one store a batch, at
/// its end, or for a few packets at the start of the next one. While a program holds on to frames,
/// others of the memory take their place.
#[derive(Debug)]
pub struct Rx {
    /// In the map of sockets; gone first, so that packets fall back to the stack.
    entry: Option<Entry>,
    // The rings come before the last holder, which closes the socket.
    ring: Consumer<Descriptor>,
    fill: Share<Fill>,
    cache: Cache,
    /// Frames that came with packets since the fill ring was filled.
    returned: u32,
    /// Whose the frames were that come.
    side: Side,
    /// What each packet comes with: see `umem::options`.
    options: u8,
    counters: RxCounters,
    waiter: Waiter,
    bound: Arc<Bound>,
}

impl Rx {
    /// Fills the fill ring: a driver may want frames before it is bound.
    pub(super) fn new(
        ring: Consumer<Descriptor>,
        fill: Share<Fill>,
        cache: Cache,
        bound: Arc<Bound>,
        waiter: Waiter,
    ) -> Self {
        let mut rx = Self {
            entry: None,
            ring,
            fill,
            cache,
            returned: 0,
            side: Side::fill(bound.shared_pool().number()),
            options: 0,
            counters: RxCounters::default(),
            waiter,
            bound,
        };
        rx.refill();
        rx
    }

    pub(super) fn set_entry(&mut self, entry: Entry) {
        self.entry = Some(entry);
    }

    /// Packets come with the redirect program's metadata.
    pub(super) fn set_metadata(&mut self) {
        if self.fill.look(Fill::wipes) {
            self.options = options::RX_METADATA;
        }
    }

    pub(super) fn common_fill(&self) -> Option<&Arc<Mutex<Fill>>> {
        self.fill.common()
    }

    /// Handles up to `most` packets that are there, none if there are none; tells how many. Each
    /// frame is used again when `handle` returns.
    #[inline(always)]
    pub fn for_each(&mut self, most: usize, mut handle: impl FnMut(&mut Frame)) -> usize {
        let mut batch = self.batch(most);
        let mut count = 0;
        while let Some(mut frame) = batch.next() {
            handle(&mut frame);
            batch.rx.cache.recycle(frame);
            count += 1;
        }
        count
    }

    /// Up to `most` packets that are there, each as a frame that the program owns. What is not
    /// taken from the batch stays for the next one.
    #[inline]
    pub fn batch(&mut self, most: usize) -> Batch<'_> {
        let ready = self.ring.available(u32::try_from(most).unwrap_or(u32::MAX));
        match ready {
            0 => self.refill(),
            _ => (0..AHEAD).for_each(|distance| self.prefetch(distance)),
        }
        Batch { rx: self, packets: most }
    }

    /// Copies the next packet into `buffer` and tells its length, which may be more than the
    /// buffer's: then the rest is lost. `None` when no packet is there.
    pub fn try_recv(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let mut len = None;
        self.for_each(1, |frame| {
            frame.copy_to(buffer);
            len = Some(frame.packet_len());
        });
        len
    }

    /// Gives a frame back to be filled again.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.cache.recycle(frame);
    }

    /// Free frames that this half keeps for itself.
    pub fn cached(&self) -> u32 {
        self.cache.count()
    }

    pub fn counters(&self) -> RxCounters {
        RxCounters { faults: self.ring.faults() + self.fill.look(Fill::faults), ..self.counters }
    }

    /// What this half and the kernel counted.
    pub fn stats(&self) -> Result<Stats> {
        let kernel = self.bound.socket().statistics()?;
        Ok(Stats { rx: self.counters(), kernel, ..Stats::default() })
    }

    /// Gives the kernel as many empty frames as it lacks and there are.
    fn refill(&mut self) {
        let is_enough = self.feed();
        self.counters.starved += u64::from(!is_enough);
    }

    /// As [`Rx::refill`]; `false` when there were too few.
    fn feed(&mut self) -> bool {
        let returned = mem::take(&mut self.returned);
        let cache = &mut self.cache;
        let (is_enough, must_kick) =
            self.fill.with(|fill| (fill.refill(returned, cache), fill.needs_wakeup()));
        if must_kick {
            self.counters.kicks += 1;
            // What is wrong with the interface shows in `wait` and when sending.
            let _ = self.bound.link().kick_receive();
        }
        is_enough
    }

    /// Has the start of a packet come nearer that is so many behind the next one.
    #[inline]
    fn prefetch(&self, distance: u32) {
        if let Some(descriptor) = self.ring.ahead(distance) {
            self.cache.handle().region().prefetch(descriptor.address);
        }
    }

    /// The frame that a descriptor names, if the kernel had it from this socket.
    // Always inline, and by numbers where it is not: see `Tx::push`.
    #[inline(always)]
    fn accept(&mut self, descriptor: Descriptor) -> Option<Frame> {
        let handle = self.cache.handle();
        let region = handle.region();
        let place = region.geometry.place(descriptor.address);
        let (side, is_shared) = (self.side, self.fill.common().is_some());
        let is_ours = |place: &Place| match is_shared {
            false => region.take(place.chunk, side),
            true => region.take_from_many(place.chunk, side),
        };
        let Some(place) = place.filter(is_ours) else {
            self.counters.invalid += 1;
            return None;
        };
        self.returned += 1;
        let frame = Frame::filled(handle.pointer(), place.chunk, place.offset, descriptor.len);
        let Some(mut frame) = frame else {
            self.put_invalid(place.chunk);
            return None;
        };
        frame.note_received(self.options);
        Some(frame)
    }

    /// A chunk that came back with data outside of it.
    #[cold]
    fn put_invalid(&mut self, chunk: u32) {
        self.counters.invalid += 1;
        self.cache.put(chunk);
    }

    /// A packet of several parts; `None` when its end is not there.
    #[cold]
    fn complete(&mut self) -> Option<Option<Words>> {
        let most = self.ring.entries().min(FRAGMENTS as u32);
        let view = self.ring.peek(u32::MAX);
        let goes_on = |at: &u32| view.at(*at).options & DESCRIPTOR_CONTINUES != 0;
        let last = (0..view.len()).find(|at| !goes_on(at));
        // The kernel publishes packets whole and of fewer parts: this one would never end.
        let is_endless = last.is_none() && view.len() >= most;
        let parts = last.map(|last| last + 1).or(is_endless.then_some(view.len()))?;
        let packet = self.join(parts);
        if is_endless && let Some(packet) = packet {
            self.counters.too_long += 1;
            self.cache.recycle(packet);
            return Some(None);
        }
        Some(packet.map(Frame::into_words))
    }

    /// The next descriptors as one packet; all its frames are used again when one is wrong.
    fn join(&mut self, parts: u32) -> Option<Frame> {
        let mut packet: Option<Frame> = None;
        for at in 0..parts {
            let descriptor = self.ring.take();
            let part = descriptor.and_then(|descriptor| self.accept(descriptor));
            packet = match (packet, part) {
                (None, part) if at == 0 => part,
                (Some(mut packet), Some(part)) => match packet.append(part) {
                    Ok(()) => Some(packet),
                    Err(part) => {
                        self.counters.too_long += 1;
                        self.discard([packet, part])
                    }
                },
                (packet, part) => self.discard(packet.into_iter().chain(part)),
            };
        }
        packet
    }

    fn discard(&mut self, frames: impl IntoIterator<Item = Frame>) -> Option<Frame> {
        frames.into_iter().for_each(|frame| self.cache.recycle(frame));
        None
    }
}

/// Packets that are there; see [`Rx::batch`].
#[derive(Debug)]
#[must_use = "packets that are not taken stay"]
pub struct Batch<'a> {
    rx: &'a mut Rx,
    /// Packets that may still be taken.
    packets: usize,
}

impl Iterator for Batch<'_> {
    type Item = Frame;

    #[inline(always)]
    fn next(&mut self) -> Option<Frame> {
        while self.packets > 0 {
            let descriptor = self.rx.ring.first()?;
            self.rx.prefetch(AHEAD);
            let frame = if descriptor.options & DESCRIPTOR_CONTINUES == 0 {
                self.rx.ring.advance();
                self.rx.accept(descriptor)
            } else {
                self.rx.complete()?.map(Frame::from_words)
            };
            if let Some(frame) = frame {
                self.packets -= 1;
                self.rx.counters.received += 1;
                return Some(frame);
            }
        }
        None
    }
}

impl Batch<'_> {
    /// Gives a frame back to be filled again.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.rx.cache.recycle(frame);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let rx = &mut *self.rx;
        if rx.ring.release() && rx.fill.look(|fill| fill.is_due(rx.returned)) {
            rx.refill();
        }
    }
}
