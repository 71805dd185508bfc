//! `Cache`: free chunks of one half of a socket.

use super::frame::{Frame, Words};
use super::handle::Handle;
use super::region::{Region, Side};
use crate::limits::{CACHE, MAGAZINE, MAGAZINES};

/// A stack of free chunks that exchanges magazines with the depot when it is empty or full.
#[derive(Debug)]
pub(crate) struct Cache {
    chunks: Box<[u32; CACHE]>,
    /// Number of used entries of `chunks`, from the first on.
    count: usize,
    /// Most chunks that are kept.
    most: usize,
    /// Number of chunks that move together; small in small memory, so that no half keeps chunks for
    /// which another one waits.
    magazine: usize,
    handle: Handle,
}

impl Cache {
    pub fn new(handle: Handle) -> Self {
        let magazine = handle.geometry().magazine();
        Self {
            chunks: Box::new([0; CACHE]),
            count: 0,
            most: MAGAZINES * magazine,
            magazine,
            handle,
        }
    }

    /// Number of chunks.
    pub fn count(&self) -> u32 {
        self.count as u32
    }

    #[inline]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether a chunk can be taken.
    pub fn has_free(&mut self) -> bool {
        self.count > 0 || self.fetch()
    }

    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.count == 0 {
            self.fetch();
        }
        self.pop()
    }

    /// As [`Cache::take`], without the depot.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        Some(self.chunks[self.count])
    }

    /// A chunk that the caller owns.
    #[inline]
    pub fn put(&mut self, chunk: u32) {
        if self.count >= self.most {
            self.spill();
        }
        self.chunks[self.count] = chunk;
        self.count += 1;
    }

    /// Lets `write` fill up to `most` packets of `len` bytes in the chunks that are taken next;
    /// returns their number. They remain here until [`Cache::take_filled`].
    #[inline]
    pub fn fill(&mut self, most: u32, len: usize, write: &mut impl FnMut(&mut [u8])) -> u32 {
        let Some(window) = self.handle.region().window(len) else { return 0 };
        let rest = self.count.saturating_sub(most as usize);
        let chunks = &self.chunks[rest..self.count];
        for &chunk in chunks.iter().rev() {
            // SAFETY: the chunk is in this cache, which is borrowed exclusively.
            write(unsafe { window.bytes(chunk) });
        }
        chunks.len() as u32
    }

    /// Takes the next `count` chunks, the last one first; the caller owns them.
    ///
    /// # Panics
    /// When there are fewer.
    #[inline]
    pub fn take_filled(&mut self, count: u32) -> (&Region, &[u32]) {
        let all = self.count;
        self.count = all.checked_sub(count as usize).expect("filled chunks remain here");
        (self.handle.region(), &self.chunks[self.count..all])
    }

    /// Takes the chunks of these addresses that the kernel got from this side; returns their
    /// number.
    #[inline]
    pub fn regain(&mut self, mut addresses: impl ExactSizeIterator<Item = u64>, from: Side) -> u32 {
        let mut total = 0;
        while addresses.len() > 0 {
            if self.count >= self.most {
                self.spill();
            }
            let room = &mut self.chunks[self.count..self.most];
            let taken = self.handle.region().take_all(&mut addresses, from, room);
            self.count += taken;
            total += taken as u32;
        }
        total
    }

    /// Returns an empty frame of a chunk that the caller owned.
    #[inline]
    pub fn frame(&self, chunk: u32) -> Frame {
        Frame::empty(self.handle.pointer(), chunk)
    }

    /// Puts all chunks of a frame.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        if frame.is_fragmented() || !self.handle.is_same(frame.region()) {
            return self.recycle_other(frame.into_words());
        }
        self.put(frame.into_chunk().0);
    }

    #[cold]
    fn recycle_other(&mut self, words: Words) {
        let frame = Frame::from_words(words);
        if !self.handle.is_same(frame.region()) {
            return drop(frame);
        }
        for (chunk, _, _) in frame.into_parts() {
            self.put(chunk);
        }
    }

    /// Returns a magazine or more to the depot: in small memory, magazines from the depot may be
    /// larger than this cache.
    #[cold]
    fn spill(&mut self) {
        let all = self.count;
        self.count = all.min(self.most) - self.magazine;
        for magazine in self.chunks[self.count..all].chunks(MAGAZINE) {
            self.handle.bring_home(magazine);
        }
    }

    /// Takes a magazine from the depot into the empty cache; `false` when the depot is empty, too.
    #[cold]
    fn fetch(&mut self) -> bool {
        let room = self.chunks[self.count..].first_chunk_mut().expect("there is room");
        let count = self.handle.fetch(room);
        self.count += count;
        count > 0
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for magazine in self.chunks[..self.count].chunks(MAGAZINE) {
            self.handle.bring_home(magazine);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::umem::Umem;

    #[test]
    fn chunks_of_one_half_reach_another() {
        for frames in [1, 8, 64, 128, 1000, 4096] {
            let umem = Umem::builder().frames(frames).build().unwrap();
            let cache = || Cache::new(umem.handle().clone());
            let (mut from, mut to) = (cache(), cache());
            let all: Vec<u32> = std::iter::from_fn(|| from.take()).collect();
            assert_eq!(all.len(), frames as usize);
            for chunk in all {
                to.put(chunk);
            }
            let got: Vec<u32> = std::iter::from_fn(|| from.take()).collect();
            let kept = frames as usize - got.len();
            assert!(kept <= CACHE && kept <= (frames as usize / 8).max(MAGAZINES), "{kept} kept");
            got.into_iter().for_each(|chunk| from.put(chunk));
            drop((from, to));
            assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
        }
    }
}
