//! A place in a frame, and where the packet ends that is being read.

use crate::Reason;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    frame: &'a [u8],
    at: usize,
    limit: usize,
}

impl<'a> Cursor<'a> {
    /// `limit` is no more than the frame is long.
    pub fn new(frame: &'a [u8], at: usize, limit: usize) -> Self {
        Self { frame, at, limit }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    /// The packet ends after so many more bytes.
    pub fn end_after(&mut self, bytes: usize) {
        self.limit = self.at + bytes;
    }

    pub fn peek(&self, size: usize) -> Option<&'a [u8]> {
        if self.left() < size { None } else { self.frame.get(self.at..self.at + size) }
    }

    pub fn take(&mut self, size: usize) -> Result<&'a [u8], Reason> {
        let bytes = self.peek(size).ok_or(Reason::Truncated)?;
        self.at += size;
        Ok(bytes)
    }
}

/// Two bytes in network order; callers have taken enough.
pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Any number of bytes in network order, as a number.
pub(super) fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
