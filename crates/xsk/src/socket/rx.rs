//! The receiving half of a socket.

mod any;
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

/// The receiving half of a socket, for one thread at a time.
///
/// The kernel is given one empty frame for each packet, by one store per batch: at its end or, for
/// few packets, at the start of the next one. While a program keeps frames, other frames of the
/// memory replace them.
#[derive(Debug)]
pub struct Rx {
    /// The entry in the map of sockets, dropped first, so that packets go to the stack again.
    entry: Option<Entry>,
    // The rings come first, so that they are unmapped before the last holder closes the socket.
    ring: Consumer<Descriptor>,
    fill: Share<Fill>,
    cache: Cache,
    /// Number of frames that came with packets since the fill ring was filled.
    returned: u32,
    /// The owner mark of received frames.
    side: Side,
    /// Metadata of each packet: see `umem::options`.
    options: u8,
    counters: RxCounters,
    waiter: Waiter,
    bound: Arc<Bound>,
}

impl Rx {
    /// Creates the half and fills the fill ring, since a driver may need frames when it is bound.
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

    /// Declares that packets have the metadata of the redirect program.
    pub(super) fn set_metadata(&mut self) {
        if self.fill.inspect(Fill::clears_marks) {
            self.options = options::RX_METADATA;
        }
    }

    pub(super) fn common_fill(&self) -> Option<&Arc<Mutex<Fill>>> {
        self.fill.common()
    }

    /// Calls `handle` for up to `most` received packets, without waiting; returns their number.
    /// Each frame is used again when `handle` returns.
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

    /// Returns up to `most` received packets, each as a frame that the program owns. Packets that
    /// are not taken from the batch remain for the next one.
    #[inline]
    pub fn batch(&mut self, most: usize) -> Batch<'_> {
        let ready = self.ring.available(u32::try_from(most).unwrap_or(u32::MAX));
        match ready {
            0 => self.refill(),
            _ => (0..AHEAD).for_each(|distance| self.prefetch(distance)),
        }
        Batch { rx: self, packets: most }
    }

    /// Copies the next packet into `buffer` and returns its length. If it exceeds that of the
    /// buffer, the rest is lost. `None` when no packet was received.
    pub fn try_recv(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let mut len = None;
        self.for_each(1, |frame| {
            frame.copy_to(buffer);
            len = Some(frame.packet_len());
        });
        len
    }

    /// Returns a frame, to be filled again.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.cache.recycle(frame);
    }

    /// Number of free frames in the cache of this half.
    pub fn cached(&self) -> u32 {
        self.cache.count()
    }

    /// The counters of this half.
    pub fn counters(&self) -> RxCounters {
        RxCounters { faults: self.ring.faults() + self.fill.inspect(Fill::faults), ..self.counters }
    }

    /// The counters of this half and of the kernel.
    ///
    /// # Errors
    /// When the kernel does not return its counters.
    pub fn stats(&self) -> Result<Stats> {
        let kernel = self.bound.socket().statistics()?;
        Ok(Stats { rx: self.counters(), kernel, ..Stats::default() })
    }

    /// Passes empty frames to the kernel, and counts when there are too few.
    fn refill(&mut self) {
        let is_enough = self.feed();
        self.counters.starved += u64::from(!is_enough);
    }

    /// Passes empty frames to the kernel; `false` when there were too few.
    fn feed(&mut self) -> bool {
        let returned = mem::take(&mut self.returned);
        let cache = &mut self.cache;
        let (is_enough, must_kick) =
            self.fill.with(|fill| (fill.refill(returned, cache), fill.needs_wakeup()));
        if must_kick {
            self.counters.kicks += 1;
            // Errors of the interface are reported by `wait` and when sending.
            let _ = self.bound.link().kick_receive();
        }
        is_enough
    }

    /// Prefetches the start of the packet at this distance from the next one.
    #[inline]
    fn prefetch(&self, distance: u32) {
        if let Some(descriptor) = self.ring.ahead(distance) {
            self.cache.handle().region().prefetch(descriptor.address);
        }
    }

    /// Returns the frame of a descriptor, if this socket had passed it to the kernel.
    // Always inline, and with numbers as arguments where it is not: see `Tx::push`.
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

    /// Puts a chunk back whose descriptor has data outside of it.
    #[cold]
    fn put_invalid(&mut self, chunk: u32) {
        self.counters.invalid += 1;
        self.cache.put(chunk);
    }

    /// Takes a packet of several parts; `None` when its end has not been received.
    #[cold]
    fn complete(&mut self) -> Option<Option<Words>> {
        let most = self.ring.entries().min(FRAGMENTS as u32);
        let view = self.ring.peek(u32::MAX);
        let goes_on = |at: &u32| view.at(*at).options & DESCRIPTOR_CONTINUES != 0;
        let last = (0..view.len()).find(|at| !goes_on(at));
        // The kernel publishes whole packets of fewer parts: this one would never end.
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

    /// Joins the next descriptors to one packet; if one is invalid, all its frames are used again.
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

/// An iterator over received packets; see [`Rx::batch`].
#[derive(Debug)]
#[must_use = "packets that are not taken remain in the ring"]
pub struct Batch<'a> {
    rx: &'a mut Rx,
    /// Number of packets that may still be taken.
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
    /// Returns a frame, to be filled again.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        self.rx.cache.recycle(frame);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let rx = &mut *self.rx;
        if rx.ring.release() && rx.fill.inspect(|fill| fill.is_due(rx.returned)) {
            rx.refill();
        }
    }
}
