//! Free chunks that one half of a socket keeps for itself.

use super::frame::Frame;
use super::handle::Handle;
use crate::limits::{CACHE, MAGAZINE};

/// Last in, first out; exchanges magazines with the depot when empty or full.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Never grows: its capacity is [`CACHE`].
    chunks: Vec<u32>,
    handle: Handle,
}

impl Cache {
    pub fn new(handle: Handle) -> Self {
        Self { chunks: Vec::with_capacity(CACHE), handle }
    }

    #[inline]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
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

    /// A chunk that the caller owns.
    #[inline]
    pub fn put(&mut self, chunk: u32) {
        if self.chunks.len() == CACHE {
            self.spill();
        }
        self.chunks.push(chunk);
    }

    /// An empty frame.
    #[inline]
    pub fn alloc(&mut self) -> Option<Frame> {
        let chunk = self.take()?;
        Some(Frame::empty(self.handle.pointer(), chunk))
    }

    /// Takes a frame, with all its fragments, to be used again.
    #[inline]
    pub fn recycle(&mut self, frame: Frame) {
        if !self.handle.is_same(frame.region()) {
            return drop(frame);
        }
        for (chunk, _, _) in frame.into_parts() {
            self.put(chunk);
        }
    }

    #[cold]
    fn spill(&mut self) {
        let keep = self.chunks.len() - MAGAZINE;
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
