//! `Region`: the memory, and one record for each of its chunks.

use std::fmt;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use super::bound::BoundSocket;
use super::bytes::Bytes;
use super::chunk::Chunk;
use super::depot::Depot;
use super::geometry::Geometry;
use crate::limits::RETIREMENT;
use crate::ring::Descriptor;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Memory, its division into chunks, and the owners of the chunks.
pub(crate) struct Region {
    pub memory: Bytes,
    pub geometry: Geometry,
    /// Flags of the registration with the kernel, see `sys::net::xsk`.
    pub registration_flags: u32,
    /// Why huge pages are not used although they were requested.
    pub refused: Option<sys::Error>,
    pub chunks: Box<[Chunk]>,
    /// The [`Side`] of each chunk while the kernel has it, otherwise 0. Separate from the records,
    /// since the packet path accesses only the owners: this needs fewer cache lines.
    owners: Box<[AtomicU32]>,
    pub depot: Depot,
    /// Number of handles in the upper half, of frames outside of the depot in the lower half.
    pub count: AtomicU64,
    /// The next number for a pool; 0 means no owner.
    next_pool: AtomicU32,
    /// Sockets that are bound with this memory, one of which can lend its registration.
    bound: Mutex<Vec<Weak<dyn BoundSocket>>>,
    /// Pools of closed sockets to whose frames a driver may still write, and the time when they
    /// were closed.
    retired: Mutex<Vec<(u32, Instant)>>,
    /// Whether `retired` has entries.
    has_retired: AtomicBool,
}

/// The place of transmitted packets of one length in every chunk, as numbers that can remain in
/// registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    base: NonNull<u8>,
    owners: &'a [AtomicU32],
    size: u32,
    offset: u32,
    /// Bytes from the offset on; they are inside of a chunk.
    len: u32,
}

impl<'a> Window<'a> {
    /// The bytes of this place in one chunk.
    ///
    /// # Safety
    /// The caller owns the chunk as long as the bytes are used.
    #[inline]
    pub unsafe fn bytes(&self, chunk: u32) -> &'a mut [u8] {
        assert!((chunk as usize) < self.owners.len(), "chunk {chunk} is one of this memory");
        // SAFETY: the memory has a chunk of `size` bytes for each owner, and `window` checked that
        // offset and length are inside.
        let start = unsafe { self.base.add(self.address(chunk) as usize) };
        // SAFETY: as above, and the chunk is the caller's.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), self.len as usize) }
    }

    /// Marks one chunk as owned by the kernel, and returns its descriptor.
    #[inline]
    pub fn give(&self, chunk: u32, to: Side) -> Descriptor {
        self.owners[chunk as usize].store(to.0, Ordering::Relaxed);
        Descriptor { address: self.address(chunk), len: self.len, options: 0 }
    }

    #[inline]
    fn address(&self, chunk: u32) -> u64 {
        u64::from(chunk) * u64::from(self.size) + u64::from(self.offset)
    }
}

/// The ring and pool through which the kernel got a chunk: the pool in the upper bits, 1 in the
/// lowest bit for tx. Pools, and thus sides, are never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side(u32);

impl Side {
    pub fn fill(pool: u32) -> Self {
        Self(pool << 1)
    }

    pub fn tx(pool: u32) -> Self {
        Self(pool << 1 | 1)
    }

    pub fn is_tx(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn pool(self) -> u32 {
        self.0 >> 1
    }
}

impl Region {
    pub fn new(memory: Bytes, geometry: Geometry, flags: u32) -> Self {
        let chunks: Box<[Chunk]> = (0..geometry.frames).map(|_| Chunk::default()).collect();
        let owners = (0..geometry.frames).map(|_| AtomicU32::new(0)).collect();
        Self {
            memory,
            geometry,
            registration_flags: flags,
            refused: None,
            depot: Depot::default(),
            chunks,
            owners,
            count: AtomicU64::new(0),
            next_pool: AtomicU32::new(1),
            bound: Mutex::default(),
            retired: Mutex::default(),
            has_retired: AtomicBool::new(false),
        }
    }

    /// Address of the first byte of a chunk.
    #[inline]
    pub fn start(&self, chunk: u32) -> NonNull<u8> {
        let at = self.geometry.address(chunk) as usize;
        assert!(chunk < self.geometry.frames, "chunk {chunk} is one of this memory");
        // SAFETY: the memory has `frames` chunks of `size` bytes, and `chunk` is one of them.
        unsafe { self.memory.as_ptr().add(at) }
    }

    /// The place of transmitted packets of `len` bytes in each chunk; `None` if a chunk is too
    /// small.
    #[inline]
    pub fn window(&self, len: usize) -> Option<Window<'_>> {
        let fits = len <= self.geometry.transmit_room() as usize;
        fits.then(|| Window {
            base: self.memory.as_ptr(),
            owners: &self.owners,
            size: self.geometry.size,
            offset: self.geometry.transmit_offset(),
            len: len as u32,
        })
    }

    /// Prefetches the first bytes at an address from the kernel into the cache of this processor.
    /// An address outside of the memory is harmless.
    #[inline]
    pub fn prefetch(&self, address: u64) {
        let at = self.geometry.distance(address);
        let place = self.memory.as_ptr().as_ptr().wrapping_add(at as usize);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch neither reads nor faults, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(place.cast());
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = place;
    }

    /// Number of a new pool.
    pub fn new_pool(&self) -> u32 {
        let next = |pool: u32| (pool < 1 << 31).then_some(pool + 1);
        let pool = self.next_pool.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        pool.expect("fewer than 2^31 sockets are opened on one memory")
    }

    /// Marks a chunk as owned by the kernel.
    #[inline]
    pub fn give(&self, chunk: u32, to: Side) {
        self.owners[chunk as usize].store(to.0, Ordering::Relaxed);
    }

    /// Takes a chunk back if the kernel got it from this side. Only one thread at a time may take
    /// from one side.
    #[inline]
    #[must_use]
    pub fn take(&self, chunk: u32, from: Side) -> bool {
        let owner = &self.owners[chunk as usize];
        let is_given = owner.load(Ordering::Relaxed) == from.0;
        if is_given {
            owner.store(0, Ordering::Relaxed);
        }
        is_given
    }

    /// As [`Region::take`], for the chunk of an address from the kernel.
    #[inline]
    pub fn take_at(&self, address: u64, from: Side) -> Option<u32> {
        let place = self.geometry.place(address)?;
        self.take(place.chunk, from).then_some(place.chunk)
    }

    /// As [`Region::take_at`], for the addresses that fit into `into`, which receives the chunks;
    /// returns their number.
    #[inline]
    pub fn take_all(
        &self,
        addresses: &mut impl Iterator<Item = u64>,
        from: Side,
        into: &mut [u32],
    ) -> usize {
        let (geometry, owners, addresses) =
            (self.geometry, &*self.owners, addresses.take(into.len()));
        if geometry.unaligned {
            let chunk =
                |address| geometry.place(address).map_or(usize::MAX, |at| at.chunk as usize);
            return take_each(addresses.map(chunk), owners, from, into);
        }
        let shift = geometry.size.trailing_zeros();
        take_each(addresses.map(|address| (address >> shift) as usize), owners, from, into)
    }

    /// As [`Region::take`], where several threads may take from the same side: one of them
    /// succeeds.
    #[inline]
    #[must_use]
    pub fn take_from_many(&self, chunk: u32, from: Side) -> bool {
        let owner = &self.owners[chunk as usize];
        owner.compare_exchange(from.0, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Records whether the transmit time of a packet is requested, with its first chunk, and the
    /// offset of its `data`, before which the kernel writes the time.
    #[inline]
    pub fn set_stamped(&self, chunk: u32, data: Option<u32>) {
        let mark = data.map_or(0, |offset| STAMPED | offset);
        self.chunks[chunk as usize].next.store(mark, Ordering::Relaxed);
    }

    /// Offset of the data of a transmitted chunk, and the number of its request for the transmit
    /// time. `None` without a request.
    pub fn stamped(&self, chunk: u32) -> Option<(u32, u64)> {
        let record = &self.chunks[chunk as usize];
        let mark = record.next.load(Ordering::Relaxed);
        let is_stamped = mark & STAMPED != 0 && mark != u32::MAX;
        is_stamped.then(|| (mark & !STAMPED, record.extra.load(Ordering::Relaxed)))
    }

    /// Clears the mark of the redirect program, so that a later mark belongs to the next packet.
    /// The caller must own the chunk.
    #[inline]
    pub fn clear_mark(&self, chunk: u32) {
        let at = self.geometry.receive_offset() as usize - MARK;
        // SAFETY: before the place of received packets, inside the chunk.
        let mark = unsafe { self.start(chunk).add(at) };
        // SAFETY: the caller owns the chunk, so no other thread accesses its bytes.
        unsafe { mark.cast::<[u8; MARK]>().write([0; MARK]) };
    }

    /// The side from which the kernel got the chunk; `None` if it does not have it.
    pub fn owner(&self, chunk: u32) -> Option<Side> {
        match self.owners[chunk as usize].load(Ordering::Relaxed) {
            0 => None,
            word => Some(Side(word)),
        }
    }

    /// Marks the frames of a closed socket for a later return to the depot.
    pub fn retire(&self, pool: u32) {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.push((pool, Instant::now()));
        self.has_retired.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn has_retired(&self) -> bool {
        self.has_retired.load(Ordering::Relaxed)
    }

    /// Pools of closed sockets whose frames cannot return yet.
    pub fn retired(&self) -> Vec<u32> {
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.iter().map(|(pool, _)| *pool).collect()
    }

    /// Removes and returns the pools of closed sockets whose frames can return now.
    pub fn released(&self) -> Vec<u32> {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |(_, since): &mut (u32, Instant)| since.elapsed() >= RETIREMENT;
        let over = retired.extract_if(.., is_over).map(|(pool, _)| pool).collect();
        self.has_retired.store(!retired.is_empty(), Ordering::Relaxed);
        over
    }

    /// Records a socket that was bound with this memory.
    pub fn remember(&self, socket: Weak<dyn BoundSocket>) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.retain(|socket| socket.strong_count() > 0);
        bound.push(socket);
    }

    /// All open sockets that are bound with this memory.
    pub fn living(&self) -> Vec<Arc<dyn BoundSocket>> {
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.iter().filter_map(Weak::upgrade).collect()
    }

    /// An open socket that is bound with this memory.
    pub fn bound(&self) -> Option<Arc<dyn BoundSocket>> {
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.iter().find_map(Weak::upgrade)
    }
}

/// Takes those of these chunks that exist and that the kernel got from this side.
// With numbers and slices, so that everything remains in registers.
#[inline]
fn take_each(
    chunks: impl Iterator<Item = usize>,
    owners: &[AtomicU32],
    from: Side,
    into: &mut [u32],
) -> usize {
    let mut count = 0;
    for chunk in chunks {
        if let Some(owner) = owners.get(chunk)
            && owner.load(Ordering::Relaxed) == from.0
        {
            owner.store(0, Ordering::Relaxed);
            into[count] = chunk as u32;
            count += 1;
        }
    }
    count
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("geometry", &self.geometry).finish_non_exhaustive()
    }
}

/// A bit that is not used in numbers of chunks.
const STAMPED: u32 = 1 << 31;
/// Bytes of the mark at the end of the redirect program's metadata.
const MARK: usize = 4;
