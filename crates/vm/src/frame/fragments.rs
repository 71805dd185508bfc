//! The part of a packet after its first buffer: up to 17 pages, each partly used.
//!
//! Rule: every fragment is inside its page and not empty, except in a page that was just pulled,
//! and `total` is the sum of their lengths.

use super::{BUFFER, FRAGMENTS};

/// Position of each fragment in the packet's buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fragments {
    list: [Fragment; FRAGMENTS],
    first: usize,
    end: usize,
    total: u64,
}

/// `len` bytes from `offset` of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fragment {
    /// Offset of the page in the packet's buffer.
    page: u64,
    offset: u64,
    len: u64,
}

impl Fragment {
    /// Offset in the packet's buffer.
    pub fn start(&self) -> u64 {
        self.page + self.offset
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Free bytes after it in its page.
    fn room(&self) -> u64 {
        BUFFER - self.offset - self.len
    }
}

impl Fragments {
    /// Copies `bytes` into the pages that they need.
    pub fn fill(&mut self, pages: &mut [u8], bytes: &[u8]) {
        let mut count = 0;
        for (page, chunk) in pages.chunks_mut(BUFFER as usize).zip(bytes.chunks(BUFFER as usize)) {
            page[..chunk.len()].copy_from_slice(chunk);
            let at = BUFFER * (1 + count as u64);
            self.list[count] = Fragment { page: at, offset: 0, len: chunk.len() as u64 };
            count += 1;
        }
        (self.first, self.end, self.total) = (0, count, bytes.len() as u64);
    }

    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Total number of bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Fragment> {
        self.list[self.first..self.end].iter()
    }

    /// Cuts up to `bytes` off the end; returns the number that could not be cut.
    pub fn shrink_tail(&mut self, mut bytes: u64) -> u64 {
        while bytes > 0 && !self.is_empty() {
            let last = &mut self.list[self.end - 1];
            let cut = bytes.min(last.len);
            last.len -= cut;
            bytes -= cut;
            self.total -= cut;
            if last.len == 0 {
                self.end -= 1;
            }
        }
        bytes
    }

    /// Cuts up to `bytes` off the start of the first fragment; returns their position and number.
    pub fn shrink_front(&mut self, bytes: u64) -> Option<(u64, u64)> {
        if self.is_empty() || bytes == 0 {
            return None;
        }
        let first = &mut self.list[self.first];
        let (at, cut) = (first.start(), bytes.min(first.len));
        first.offset += cut;
        first.len -= cut;
        self.total -= cut;
        if first.len == 0 {
            self.first += 1;
        }
        Some((at, cut))
    }

    /// Lengthens the last fragment if its page has enough room; returns the position of the new
    /// bytes.
    pub fn grow_tail(&mut self, bytes: u64) -> Option<u64> {
        let last = self.list[self.first..self.end].last_mut()?;
        if bytes > last.room() {
            return None;
        }
        let at = last.start() + last.len;
        last.len += bytes;
        self.total += bytes;
        Some(at)
    }
}
