//! Free chunks that one half of a socket keeps for itself.

use super::frame::{Frame, Words};
use super::handle::Handle;
use crate::limits::{CACHE, MAGAZINE, MAGAZINES};

/// Last in, first out; exchanges magazines with the depot when empty or full.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Never grows: its capacity is [`CACHE`].
    chunks: Vec<u32>,
    /// Chunks that move at once. In small memory they are few, so that no half keeps what another
    /// one waits for.
    magazine: usize,
    handle: Handle,
}

impl Cache {
    pub fn new(handle: Handle) -> Self {
        let magazine = handle.geometry().magazine();
        Self { chunks: Vec::with_capacity(CACHE), magazine, handle }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.chunks.len() as u32
    }

    #[inline]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whether a chunk can be taken.
    pub fn has_free(&mut self) -> bool {
        !self.chunks.is_empty() || self.handle.fetch(&mut self.chunks) > 0
    }

    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.chunks.is_empty() {
            self.handle.fetch(&mut self.chunks);
        }
        self.chunks.pop()
    }

    /// As [`Cache::take`], of those that are at hand.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        self.chunks.pop()
    }

    /// A chunk that the caller owns.
    #[inline]
    pub fn put(&mut self, chunk: u32) {
        if self.chunks.len() >= MAGAZINES * self.magazine {
            self.spill();
        }
        self.chunks.push(chunk);
    }

    /// An empty frame of a chunk that the caller owned.
    #[inline]
    pub fn frame(&self, chunk: u32) -> Frame {
        Frame::empty(self.handle.pointer(), chunk)
    }

    /// Takes a frame, with all its fragments, to be used again.
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

    #[cold]
    fn spill(&mut self) {
        let keep = self.chunks.len() - self.magazine;
        self.handle.bring_home(&self.chunks[keep..]);
        self.chunks.truncate(keep);
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for magazine in self.chunks.chunks(MAGAZINE) {
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
    fn what_one_half_gives_back_another_one_gets() {
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
