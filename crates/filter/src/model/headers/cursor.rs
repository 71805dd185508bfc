//! `Cursor`: a position in a frame, with the end of the current packet.

use crate::Reason;

/// A position in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    frame: &'a [u8],
    at: usize,
    limit: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at an offset; `limit` is the end of the packet, within the frame.
    pub fn new(frame: &'a [u8], at: usize, limit: usize) -> Self {
        Self { frame, at, limit }
    }

    /// The offset in the frame.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The end of the packet.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes up to the end of the packet.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    /// Sets the end of the packet after a number of bytes.
    pub fn end_after(&mut self, bytes: usize) {
        self.limit = self.at + bytes;
    }

    /// The next bytes, if the packet has them.
    pub fn peek(&self, size: usize) -> Option<&'a [u8]> {
        if self.left() < size { None } else { self.frame.get(self.at..self.at + size) }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// The packet is truncated.
    pub fn take(&mut self, size: usize) -> Result<&'a [u8], Reason> {
        let bytes = self.peek(size).ok_or(Reason::Truncated)?;
        self.at += size;
        Ok(bytes)
    }
}

/// Two bytes in network byte order.
///
/// # Panics
/// There are too few bytes.
pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A number from bytes in network byte order.
pub(super) fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
