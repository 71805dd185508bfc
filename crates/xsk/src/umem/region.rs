//! The memory itself, and one record for each chunk of it.

use std::fmt;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use super::bytes::Bytes;
use super::chunk::Chunk;
use super::depot::Depot;
use super::geometry::Geometry;
use crate::limits::RETIREMENT;
use crate::ring::Descriptor;
use crate::socket::Bound;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

pub(crate) struct Region {
    pub memory: Bytes,
    pub geometry: Geometry,
    /// Flags and sizes for the kernel, see `sys::net::xsk`.
    pub registration_flags: u32,
    /// Why there are no huge pages.
    pub refused: Option<sys::Error>,
    pub chunks: Box<[Chunk]>,
    /// The [`Side`] of each chunk while the kernel has it, else 0. Apart from the records, since
    /// the path of packets touches nothing else of a chunk's books: fewer lines of the cache.
    owners: Box<[AtomicU32]>,
    pub depot: Depot,
    /// Handles in the upper half, frames outside of the depot in the lower.
    pub count: AtomicU64,
    /// Numbers for sockets; 0 is nobody's.
    next_pool: AtomicU32,
    /// Sockets that are bound with this memory: one of them can lend its registration.
    bound: Mutex<Vec<Weak<Bound>>>,
    /// Closed sockets whose frames a driver may still write to, and when they were closed.
    retired: Mutex<Vec<(u32, Instant)>>,
    /// Whether there are any.
    has_retired: AtomicBool,
}

/// The same place in every chunk of some memory; by numbers, so that they can stay in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    base: NonNull<u8>,
    owners: &'a [AtomicU32],
    size: u32,
    offset: u32,
    /// From the offset on these many bytes are inside of a chunk.
    len: u32,
}

impl<'a> Window<'a> {
    /// Its bytes in one chunk.
    ///
    /// # Safety
    /// Nobody else has the chunk as long as the bytes are used.
    #[inline]
    pub unsafe fn bytes(&self, chunk: u32) -> &'a mut [u8] {
        assert!((chunk as usize) < self.owners.len(), "chunk {chunk} is one of this memory");
        // SAFETY: the memory has a chunk of `size` bytes for each owner, and `window` saw to it
        // that offset and length are inside.
        let start = unsafe { self.base.add(self.address(chunk) as usize) };
        // SAFETY: as above, and the chunk is the caller's.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), self.len as usize) }
    }

    /// One chunk is the kernel's from now on, for which this is the descriptor.
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

/// Into which ring of which socket a chunk was put: the socket's pool in the upper bits, 1 in the
/// lowest for tx. No pool is 0, so no side is.
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

    /// Where the bytes of a chunk start.
    #[inline]
    pub fn start(&self, chunk: u32) -> NonNull<u8> {
        let at = self.geometry.address(chunk) as usize;
        assert!(chunk < self.geometry.frames, "chunk {chunk} is one of this memory");
        // SAFETY: the memory has `frames` chunks of `size` bytes, and `chunk` is one of them.
        unsafe { self.memory.as_ptr().add(at) }
    }

    /// Where transmitted packets of `len` bytes lie in each chunk; `None` when it has no such room.
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

    /// Fetches the first bytes at an address of the kernel's into this processor's cache, so that
    /// whoever reads them soon need not wait. An address that is outside is no harm.
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

    /// A number for a new socket.
    pub fn new_pool(&self) -> u32 {
        let next = |pool: u32| (pool < 1 << 31).then_some(pool + 1);
        let pool = self.next_pool.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        pool.expect("fewer than 2^31 sockets are opened on one memory")
    }

    /// The chunk is the kernel's from now on.
    #[inline]
    pub fn give(&self, chunk: u32, to: Side) {
        self.owners[chunk as usize].store(to.0, Ordering::Relaxed);
    }

    /// The chunk is ours again, if the kernel had it from there. Only one thread at a time may
    /// take from one side.
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

    /// As [`Region::take`], of the chunk that an address of the kernel's is in.
    #[inline]
    pub fn take_at(&self, address: u64, from: Side) -> Option<u32> {
        let place = self.geometry.place(address)?;
        self.take(place.chunk, from).then_some(place.chunk)
    }

    /// As [`Region::take_at`], of as many addresses as there is room for in `into`, where it puts
    /// the chunks; tells how many.
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

    /// As [`Region::take`], where others may take from the same side at the same time: one of them
    /// gets it.
    #[inline]
    #[must_use]
    pub fn take_from_many(&self, chunk: u32, from: Side) -> bool {
        let owner = &self.owners[chunk as usize];
        owner.compare_exchange(from.0, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Notes whether somebody wants to know when the chunk, the first of a packet, is transmitted,
    /// and where its `data` starts: in front of that is the time.
    #[inline]
    pub fn set_stamped(&self, chunk: u32, data: Option<u32>) {
        let mark = data.map_or(0, |offset| STAMPED | offset);
        self.chunks[chunk as usize].next.store(mark, Ordering::Relaxed);
    }

    /// Where the data of a transmitted chunk starts, and the number that came with the wish to know
    /// the time. `None` when nobody wants to.
    pub fn stamped(&self, chunk: u32) -> Option<(u32, u64)> {
        let record = &self.chunks[chunk as usize];
        let mark = record.next.load(Ordering::Relaxed);
        let is_stamped = mark & STAMPED != 0 && mark != u32::MAX;
        is_stamped.then(|| (mark & !STAMPED, record.extra.load(Ordering::Relaxed)))
    }

    /// Wipes the redirect program's mark off, so that it says something only of the next packet.
    /// The caller owns the chunk.
    #[inline]
    pub fn wipe_mark(&self, chunk: u32) {
        let at = self.geometry.receive_offset() as usize - MARK;
        // SAFETY: in front of where packets are received, inside the chunk.
        let mark = unsafe { self.start(chunk).add(at) };
        // SAFETY: the caller owns the chunk, so nobody else looks at its bytes.
        unsafe { mark.cast::<[u8; MARK]>().write([0; MARK]) };
    }

    /// The pool whose socket the kernel has the chunk from, and whether for transmission.
    pub fn owner(&self, chunk: u32) -> Option<Side> {
        match self.owners[chunk as usize].load(Ordering::Relaxed) {
            0 => None,
            word => Some(Side(word)),
        }
    }

    /// The frames of a closed socket are to come home later.
    pub fn retire(&self, pool: u32) {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.push((pool, Instant::now()));
        self.has_retired.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn has_retired(&self) -> bool {
        self.has_retired.load(Ordering::Relaxed)
    }

    /// Closed sockets whose frames cannot come home yet.
    pub fn retired(&self) -> Vec<u32> {
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.iter().map(|(pool, _)| *pool).collect()
    }

    /// Closed sockets whose frames can come home now.
    pub fn released(&self) -> Vec<u32> {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |(_, since): &mut (u32, Instant)| since.elapsed() >= RETIREMENT;
        let over = retired.extract_if(.., is_over).map(|(pool, _)| pool).collect();
        self.has_retired.store(!retired.is_empty(), Ordering::Relaxed);
        over
    }

    /// Remembers a socket that was bound with this memory.
    pub fn remember(&self, socket: &Arc<Bound>) {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.retain(|socket| socket.strong_count() > 0);
        bound.push(Arc::downgrade(socket));
    }

    /// All living sockets that are bound with this memory.
    pub fn living(&self) -> Vec<Arc<Bound>> {
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.iter().filter_map(Weak::upgrade).collect()
    }

    /// A living socket that is bound with this memory.
    pub fn bound(&self) -> Option<Arc<Bound>> {
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.iter().find_map(Weak::upgrade)
    }
}

/// Of these chunks, some of which may not exist, takes those that the kernel had from there.
// By numbers and slices, so that all of it stays in registers.
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

/// A bit that no number of a chunk has.
const STAMPED: u32 = 1 << 31;
/// Bytes of the mark at the end of the redirect program's metadata.
const MARK: usize = 4;
