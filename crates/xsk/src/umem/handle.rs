//! What keeps a region alive: a count of handles and of frames that are not in the depot.

use std::ptr::NonNull;

use super::audit::Audit;
use super::count::{bring_home, release};
use super::frame::Frame;
use super::geometry::Geometry;
use super::region::{Region, Side};
use crate::limits::MAGAZINE;
use crate::sync::Ordering;

/// A handle; the last of handles and frames frees the region.
#[derive(Debug)]
pub(crate) struct Handle {
    region: NonNull<Region>,
}

// SAFETY: a region is shared between threads by its count; all it has is atomic, locked or
// constant, and the bytes belong to whoever owns the chunk.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// The first handle; all chunks go into the depot.
    pub fn new(region: Region) -> Self {
        let chunks: Vec<u32> = (0..region.geometry.frames).rev().collect();
        for magazine in chunks.chunks(region.geometry.magazine()) {
            region.depot.put(&region.chunks, magazine);
        }
        region.count.store(HANDLE, Ordering::Relaxed);
        Self { region: NonNull::from(Box::leak(Box::new(region))) }
    }

    #[inline]
    pub fn region(&self) -> &Region {
        // SAFETY: alive as long as it is counted, which this handle does; only shared access.
        unsafe { self.region.as_ref() }
    }

    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.region().geometry
    }

    /// For frames, which are counted as well.
    #[inline]
    pub fn pointer(&self) -> NonNull<Region> {
        self.region
    }

    #[inline]
    pub fn is_same(&self, region: NonNull<Region>) -> bool {
        self.region == region
    }

    /// A magazine from the depot into `chunks`; they are counted from now on.
    pub fn fetch(&self, chunks: &mut [u32; MAGAZINE]) -> usize {
        let region = self.region();
        let mut count = region.depot.take(&region.chunks, chunks);
        if count == 0 && region.has_retired() {
            self.reclaim_retired();
            count = region.depot.take(&region.chunks, chunks);
        }
        region.count.fetch_add(count as u64, Ordering::Relaxed);
        count
    }

    /// Chunks that somebody owned go home, at most a magazine.
    pub fn bring_home(&self, chunks: &[u32]) {
        bring_home(self.region, chunks);
    }

    /// One frame from the depot; the rest of its magazine goes back. Not for the path of packets,
    /// where a [`Cache`](super::Cache) serves.
    pub fn alloc(&self) -> Option<Frame> {
        let mut chunks = [0; MAGAZINE];
        let count = self.fetch(&mut chunks);
        let (chunk, rest) = chunks[..count].split_last()?;
        if !rest.is_empty() {
            self.bring_home(rest);
        }
        Some(Frame::empty(self.region, *chunk))
    }

    /// Everything that the kernel had from sockets that are closed goes home; tells how many.
    pub fn reclaim(&self, pool: u32) -> u32 {
        let count = self.collect(pool);
        release(self.region, u64::from(count));
        count
    }

    /// As [`Handle::reclaim`], but later: a driver may still write to the frames. They are counted
    /// no more, so they do not keep the memory; the kernel has its own hold on the pages.
    pub fn retire(&self, pool: u32) {
        let region = self.region();
        let is_its = |chunk: &u32| region.owner(*chunk).is_some_and(|side| side.pool() == pool);
        let count = (0..region.geometry.frames).filter(is_its).count();
        region.retire(pool);
        release(self.region, count as u64);
    }

    /// Brings home what closed sockets with zero copy have left long enough.
    #[cold]
    pub fn reclaim_retired(&self) {
        for pool in self.region().released() {
            self.collect(pool);
        }
    }

    /// All frames that the kernel had from closed sockets go into the depot; tells how many.
    fn collect(&self, pool: u32) -> u32 {
        let region = self.region();
        let (mut magazine, mut filled, mut count) = ([0; MAGAZINE], 0, 0);
        for chunk in 0..region.geometry.frames {
            if region.take(chunk, Side::fill(pool)) || region.take(chunk, Side::tx(pool)) {
                magazine[filled] = chunk;
                filled += 1;
                count += 1;
            }
            let is_last = chunk + 1 == region.geometry.frames;
            if filled == region.geometry.magazine() || is_last && filled > 0 {
                region.depot.put(&region.chunks, &magazine[..filled]);
                filled = 0;
            }
        }
        count
    }

    pub fn audit(&self) -> Audit {
        self.reclaim_retired();
        Audit::of(self.region())
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        let count = &self.region().count;
        if count.fetch_add(HANDLE, Ordering::Relaxed) > MOST_COUNTED {
            // Only a program that forgets handles comes here. Long before the count overflows it
            // is refused more, and the count stays as it was.
            count.fetch_sub(HANDLE, Ordering::Relaxed);
            panic!("fewer than 2^31 handles of one memory");
        }
        Self { region: self.region }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        release(self.region, HANDLE);
    }
}

/// One handle in the count.
const HANDLE: u64 = 1 << 32;
/// Leaves room for as many more as there can be threads.
const MOST_COUNTED: u64 = u64::MAX / 2;
