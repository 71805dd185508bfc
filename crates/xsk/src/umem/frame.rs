//! `Frame`: one chunk of memory, or the chain of a long packet, that the program owns.

use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::count::bring_home;
use super::region::Region;
use crate::limits::FRAGMENTS;
use crate::steer::redirect::abi::Metadata;
use crate::sync::Ordering;

/// A packet in memory that is shared with the kernel. It dereferences to the bytes of its first
/// chunk, which are all bytes unless it [`is_fragmented`](Frame::is_fragmented).
///
/// It cannot be cloned. It can be moved to other threads, pushed into a `Tx` of the same memory
/// without a copy, or dropped, which frees its chunks. It keeps the memory alive.
pub struct Frame {
    region: NonNull<Region>,
    chunk: u32,
    /// Bytes of data in the first chunk.
    len: u32,
    /// The next chunk of the packet, whose offset and length are in its record; `NONE` at the end.
    next: u32,
    /// Offset of the data in the first chunk.
    offset: u16,
    /// Number of chunks after the first.
    more: u8,
    /// See [`options`].
    options: u8,
}

/// A frame as words, which must be converted back to a frame.
#[derive(Debug)]
#[must_use = "otherwise the frame is lost"]
pub(crate) struct Words(NonNull<Region>, u64, u64);

/// Flags for metadata of a frame.
pub(crate) mod options {
    /// Transmit metadata is before the data.
    pub const TX_METADATA: u8 = 1;
    /// Receive metadata may be before the place of received data.
    pub const RX_METADATA: u8 = 2;
}

// SAFETY: a frame owns its chunks exclusively, and the region is shared by atomic counts.
unsafe impl Send for Frame {}
// SAFETY: a shared reference only reads the bytes.
unsafe impl Sync for Frame {}

impl Frame {
    /// Creates an empty frame of a chunk that the caller owned.
    #[inline]
    pub(super) fn empty(region: NonNull<Region>, chunk: u32) -> Self {
        // SAFETY: alive, because the chunk is counted; only shared access.
        let offset = unsafe { region.as_ref() }.geometry.transmit_offset();
        Self::of(region, chunk, offset as u16, 0)
    }

    #[inline]
    fn of(region: NonNull<Region>, chunk: u32, offset: u16, len: u32) -> Self {
        Self { region, chunk, len, next: NONE, offset, more: 0, options: 0 }
    }

    /// Creates a frame of a chunk that the kernel returned with data. `None`, and the caller keeps
    /// the chunk, if the data would exceed the chunk.
    #[inline(always)]
    pub(crate) fn filled(
        region: NonNull<Region>,
        chunk: u32,
        offset: u32,
        len: u32,
    ) -> Option<Self> {
        // SAFETY: alive, because the chunk is counted; only shared access.
        let size = unsafe { region.as_ref() }.geometry.size;
        let is_inside = offset <= size && len <= size - offset;
        is_inside.then(|| Self::of(region, chunk, offset as u16, len))
    }

    /// Number of its first chunk in the memory, from 0; unique among existing frames.
    #[inline]
    pub fn number(&self) -> u32 {
        self.chunk
    }

    /// Most bytes of data in the first chunk, from its present start.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.geometry_size() - usize::from(self.offset)
    }

    /// Bytes before the data.
    #[inline]
    pub fn headroom(&self) -> usize {
        usize::from(self.offset)
    }

    /// Bytes after the data of the first chunk.
    #[inline]
    pub fn tailroom(&self) -> usize {
        self.capacity() - self.len as usize
    }

    /// Whether the packet continues in other chunks: see [`fragments`](Frame::fragments).
    #[inline]
    pub fn is_fragmented(&self) -> bool {
        self.more > 0
    }

    /// Replaces the data of an unfragmented frame. `false` if the bytes do not fit.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let has_room = self.resize(bytes.len());
        if has_room {
            self.copy_from_slice(bytes);
        }
        has_room
    }

    /// Sets the length of the data in the first chunk; added bytes have old contents. `false` if
    /// the length does not fit.
    #[inline]
    pub fn resize(&mut self, len: usize) -> bool {
        let has_room = len <= self.capacity();
        if has_room {
            self.len = len as u32;
        }
        has_room
    }

    /// Moves the start of the data: forward to drop bytes, backward to add headroom to the data.
    /// `false` if there are too few bytes, or a [request](Frame::request) was added already.
    #[inline]
    pub fn move_head(&mut self, by: isize) -> bool {
        let by = by as i64;
        let fits =
            (-i64::from(self.offset)..=i64::from(self.len)).contains(&by) && !self.has_request();
        if fits {
            self.offset = (i64::from(self.offset) + by) as u16;
            self.len = (i64::from(self.len) - by) as u32;
        }
        fits
    }

    /// The `len` bytes before the data, where XDP programs write metadata; `None` with less
    /// headroom.
    pub fn front(&self, len: usize) -> Option<&[u8]> {
        let start = usize::from(self.offset).checked_sub(len)?;
        // SAFETY: `start..start + len` is inside the chunk, which this frame owns.
        Some(unsafe { slice::from_raw_parts(self.place(start).as_ptr(), len) })
    }

    /// As [`Frame::front`], for writing.
    pub fn front_mut(&mut self, len: usize) -> Option<&mut [u8]> {
        let start = usize::from(self.offset).checked_sub(len)?;
        // SAFETY: `start..start + len` is inside the chunk, which this frame owns exclusively.
        Some(unsafe { slice::from_raw_parts_mut(self.place(start).as_ptr(), len) })
    }

    /// Appends a frame of the same memory as the continuation of this packet. Returns it if it is
    /// of other memory, or the packet would have too many chunks.
    pub fn append(&mut self, mut tail: Self) -> Result<(), Self> {
        let more = usize::from(self.more) + usize::from(tail.more) + 1;
        if tail.region != self.region || more >= FRAGMENTS {
            return Err(tail);
        }
        let region = self.shared();
        let span = u64::from(tail.offset) << 32 | u64::from(tail.len);
        region.chunks[tail.chunk as usize].extra.store(span, Ordering::Relaxed);
        region.chunks[tail.chunk as usize].next.store(tail.next, Ordering::Relaxed);
        match self.last_fragment() {
            None => self.next = tail.chunk,
            Some(last) => {
                self.shared().chunks[last as usize].next.store(tail.chunk, Ordering::Relaxed);
            }
        }
        self.more = more as u8;
        // Its chunks now count with this frame.
        (tail.next, tail.more) = (NONE, 0);
        mem::forget(tail);
        Ok(())
    }

    /// Whether the frame is of this memory.
    pub fn is_of(&self, umem: &super::Umem) -> bool {
        umem.handle.is_same(self.region)
    }

    /// Whether it is one chunk without a request.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.more == 0 && self.options & options::TX_METADATA == 0
    }

    /// Whether a request is before the data.
    #[inline]
    pub(crate) fn has_request(&self) -> bool {
        self.options & options::TX_METADATA != 0
    }

    /// The place of a request, if the memory was registered with requests.
    pub(crate) fn request_front(&mut self) -> Option<&mut [u8]> {
        let room = self.shared().geometry.metadata as usize;
        if room == 0 { None } else { self.front_mut(room) }
    }

    /// Declares that a request was written.
    pub(crate) fn note_request(&mut self) {
        self.options |= options::TX_METADATA;
    }

    /// Stores a number with the first chunk, to be read when the packet was transmitted.
    pub(crate) fn note_number(&self, number: u64) {
        self.shared().chunks[self.chunk as usize].extra.store(number, Ordering::Relaxed);
    }

    /// Stores whether the transmit time is requested, when the frame is passed to the kernel.
    pub(crate) fn note_stamped(&self, is_stamped: bool) {
        let data = is_stamped.then_some(u32::from(self.offset));
        self.shared().set_stamped(self.chunk, data);
    }

    /// Adds flags of received metadata.
    #[inline]
    pub(crate) fn note_received(&mut self, options: u8) {
        self.options |= options;
    }

    /// The place of the metadata of the redirect program; `None` if the frame was not received with
    /// it.
    pub(crate) fn received_front(&self) -> Option<&[u8]> {
        let is_received = self.options & options::RX_METADATA != 0;
        let start = self.shared().geometry.receive_offset() as usize - RECEIVED;
        // SAFETY: before the place of received packets, inside the chunk, which this frame owns.
        is_received.then(|| unsafe { slice::from_raw_parts(self.place(start).as_ptr(), RECEIVED) })
    }

    #[inline]
    pub(crate) fn region(&self) -> NonNull<Region> {
        self.region
    }

    /// Chunk, offset and length of each part of the packet, in order.
    pub(crate) fn parts(&self) -> Parts<'_> {
        let first = (self.chunk, u32::from(self.offset), self.len);
        let parts = IntoParts { region: self.region, now: Some(first), next: self.next };
        Parts { parts, _frame: PhantomData }
    }

    /// Number of parts of the packet.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        u32::from(self.more) + 1
    }

    /// Chunk, offset and length of a frame of one part; the caller owns the chunk.
    #[inline]
    pub(crate) fn into_chunk(self) -> (u32, u32, u32) {
        assert!(self.more == 0, "the frame is of one part");
        let part = (self.chunk, u32::from(self.offset), self.len);
        mem::forget(self);
        part
    }

    /// The frame as words, for functions that are not inlined: passing words in registers costs a
    /// fraction of passing a frame in memory.
    #[inline]
    pub(crate) fn into_words(self) -> Words {
        let words = self.words();
        mem::forget(self);
        words
    }

    #[inline]
    fn words(&self) -> Words {
        let first = u64::from(self.len) << 32 | u64::from(self.chunk);
        let bytes = u64::from(self.options) << 8 | u64::from(self.more);
        let second = (bytes << 16 | u64::from(self.offset)) << 32 | u64::from(self.next);
        Words(self.region, first, second)
    }

    /// The inverse of [`Frame::into_words`].
    #[inline]
    pub(crate) fn from_words(Words(region, first, second): Words) -> Self {
        Self {
            region,
            chunk: first as u32,
            len: (first >> 32) as u32,
            next: second as u32,
            offset: (second >> 32) as u16,
            more: (second >> 48) as u8,
            options: (second >> 56) as u8,
        }
    }

    /// As [`Frame::parts`]; the caller owns the chunks.
    #[inline]
    pub(crate) fn into_parts(self) -> IntoParts {
        let first = (self.chunk, u32::from(self.offset), self.len);
        let parts = IntoParts { region: self.region, now: Some(first), next: self.next };
        mem::forget(self);
        parts
    }

    fn last_fragment(&self) -> Option<u32> {
        let mut last = (self.next != NONE).then_some(self.next)?;
        for _ in 0..FRAGMENTS {
            match self.shared().chunks[last as usize].next.load(Ordering::Relaxed) {
                NONE => return Some(last),
                next => last = next,
            }
        }
        unreachable!("a packet has at most {FRAGMENTS} chunks");
    }

    #[inline]
    fn shared(&self) -> &Region {
        // SAFETY: alive, because the chunks of this frame are counted; only shared access.
        unsafe { self.region.as_ref() }
    }

    #[inline]
    fn geometry_size(&self) -> usize {
        self.shared().geometry.size as usize
    }

    #[inline]
    fn place(&self, offset: usize) -> NonNull<u8> {
        let start = self.shared().start(self.chunk);
        // SAFETY: callers ask only for offsets inside the chunk.
        unsafe { start.add(offset) }
    }
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.place(usize::from(self.offset));
        // SAFETY: offset and length are always inside the chunk (`filled`, `resize`, `move_head`),
        // and this frame owns it.
        unsafe { slice::from_raw_parts(start.as_ptr(), self.len as usize) }
    }
}

impl DerefMut for Frame {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let start = self.place(usize::from(self.offset));
        // SAFETY: as in `deref`, and it owns the chunk exclusively.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), self.len as usize) }
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        free(self.words());
    }
}

/// Returns all chunks of a frame to the depot. Separate from `drop`, which is on every path that
/// may panic: a frame whose address is not passed need not be in memory.
#[inline(never)]
fn free(words: Words) {
    let frame = ManuallyDrop::new(Frame::from_words(words));
    if frame.more == 0 {
        return bring_home(frame.region, &[frame.chunk]);
    }
    let mut chunks = [0; FRAGMENTS];
    let count = frame.count() as usize;
    for (place, (chunk, _, _)) in chunks.iter_mut().zip(frame.parts()) {
        *place = chunk;
    }
    bring_home(frame.region, &chunks[..count]);
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("chunk", &self.chunk)
            .field("offset", &self.offset)
            .field("len", &self.len)
            .field("more", &self.more)
            .finish_non_exhaustive()
    }
}

/// An iterator over parts; see [`Frame::parts`]. Reads the record of a chunk before it returns the
/// chunk.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(super) parts: IntoParts,
    _frame: PhantomData<&'a Frame>,
}

impl Iterator for Parts<'_> {
    type Item = (u32, u32, u32);

    fn next(&mut self) -> Option<Self::Item> {
        self.parts.next()
    }
}

/// An iterator over parts that the caller owns; see [`Frame::into_parts`].
#[derive(Debug)]
pub(crate) struct IntoParts {
    region: NonNull<Region>,
    now: Option<(u32, u32, u32)>,
    /// The chunk after `now`.
    next: u32,
}

impl IntoParts {
    pub(super) fn region(&self) -> NonNull<Region> {
        self.region
    }
}

impl Iterator for IntoParts {
    type Item = (u32, u32, u32);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let part = self.now.take()?;
        if self.next != NONE {
            // SAFETY: alive, because the remaining chunks are counted; only shared access.
            let region = unsafe { self.region.as_ref() };
            self.now = self::part(region, self.next);
            self.next = region.chunks[self.next as usize].next.load(Ordering::Relaxed);
        }
        Some(part)
    }
}

/// A fragment as described by its record.
fn part(region: &Region, chunk: u32) -> Option<(u32, u32, u32)> {
    if chunk == NONE {
        return None;
    }
    let span = region.chunks[chunk as usize].extra.load(Ordering::Relaxed);
    Some((chunk, (span >> 32) as u32, span as u32))
}

/// Bytes of `struct redirect_metadata`.
const RECEIVED: usize = Metadata::SIZE;
/// No chunk.
const NONE: u32 = u32::MAX;
