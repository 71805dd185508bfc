//! `Handle`: keeps a region alive by a count of handles and of frames outside of the depot.

use std::ptr::NonNull;

use super::audit::Audit;
use super::count::{bring_home, release};
use super::frame::Frame;
use super::geometry::Geometry;
use super::region::{Region, Side};
use crate::limits::MAGAZINE;
use crate::sync::Ordering;

/// A handle to a region, which is freed with the last handle or frame.
#[derive(Debug)]
pub(crate) struct Handle {
    region: NonNull<Region>,
}

// SAFETY: a region is shared between threads by its count; its fields are atomic, locked or
// constant, and the bytes belong to the owner of the chunk.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// Creates the first handle, and puts all chunks into the depot.
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

    /// The region's address, for frames, which are counted as well.
    #[inline]
    pub fn pointer(&self) -> NonNull<Region> {
        self.region
    }

    #[inline]
    pub fn is_same(&self, region: NonNull<Region>) -> bool {
        self.region == region
    }

    /// Takes a magazine from the depot into `chunks`, and counts its chunks; returns their number.
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

    /// Returns chunks that the caller owned to the depot, at most a magazine.
    pub fn bring_home(&self, chunks: &[u32]) {
        bring_home(self.region, chunks);
    }

    /// Takes one frame from the depot, and returns the rest of its magazine. The packet path uses a
    /// [`Cache`](super::Cache) instead.
    pub fn alloc(&self) -> Option<Frame> {
        let mut chunks = [0; MAGAZINE];
        let count = self.fetch(&mut chunks);
        let (chunk, rest) = chunks[..count].split_last()?;
        if !rest.is_empty() {
            self.bring_home(rest);
        }
        Some(Frame::empty(self.region, *chunk))
    }

    /// Returns to the depot all frames that the kernel had from closed sockets of a pool; returns
    /// their number.
    pub fn reclaim(&self, pool: u32) -> u32 {
        let count = self.collect(pool);
        release(self.region, u64::from(count));
        count
    }

    /// As [`Handle::reclaim`], but after a delay, because a driver may still write to the frames.
    /// They are no longer counted, so they do not keep the memory alive; the kernel holds the pages
    /// itself.
    pub fn retire(&self, pool: u32) {
        let region = self.region();
        let is_its = |chunk: &u32| region.owner(*chunk).is_some_and(|side| side.pool() == pool);
        let count = (0..region.geometry.frames).filter(is_its).count();
        region.retire(pool);
        release(self.region, count as u64);
    }

    /// Returns to the depot the frames of zero-copy sockets that were closed long enough ago.
    #[cold]
    pub fn reclaim_retired(&self) {
        for pool in self.region().released() {
            self.collect(pool);
        }
    }

    /// Puts all frames that the kernel had from closed sockets into the depot; returns their
    /// number.
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
            // Only a program that leaks handles gets here. Long before the count overflows, further
            // handles are rejected, and the count remains unchanged.
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

/// One handle in the count, whose lower half counts frames.
const HANDLE: u64 = 1 << 32;
/// Largest count, with space for one more handle of each possible thread.
const MOST_COUNTED: u64 = u64::MAX / 2;
