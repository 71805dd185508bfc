//! The stream that is read: a buffer that shows whole records, and a count of bytes.
//!
//! Rule: the buffer grows with bytes that came, never with a number that a file claims.

use std::fmt;
use std::io::{ErrorKind, Read};

use crate::error::{Error, Result};
use crate::limits::CHUNK;

pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// What is read but not consumed is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Bytes consumed.
    offset: u64,
}

impl<R: Read> Source<R> {
    /// Creates a source at offset 0 of `input`.
    pub fn new(input: R) -> Self {
        Self { input, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0 }
    }

    /// Number of bytes consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next bytes without consuming them: `wanted`, or less at the end of the stream.
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8]> {
        while self.end - self.start < wanted {
            self.make_room(wanted);
            if self.read()? == 0 {
                break;
            }
        }
        let end = self.end.min(self.start + wanted);
        Ok(&self.buffer[self.start..end])
    }

    /// The next bytes of what starts here. [`Error::Truncated`] when the stream has less.
    pub fn whole(&mut self, wanted: usize) -> Result<&[u8]> {
        let offset = self.offset;
        // Borrows the same bytes again: the borrow checker rejects a reference across the loop.
        let found = self.peek(wanted)?.len();
        if found < wanted {
            return Err(Error::Truncated { offset, missing: (wanted - found) as u64 });
        }
        Ok(&self.buffer[self.start..self.start + wanted])
    }

    /// Passes bytes that `whole` or `peek` showed.
    pub fn consume(&mut self, len: usize) {
        assert!(len <= self.end - self.start, "only bytes that were shown are consumed");
        self.start += len;
        self.offset += len as u64;
    }

    /// Passes bytes of what starts here, without holding them all.
    pub fn skip(&mut self, len: u64) -> Result<()> {
        let offset = self.offset;
        let mut missing = len;
        while missing > 0 {
            let wanted = missing.min(CHUNK as u64) as usize;
            let found = self.peek(wanted)?.len();
            if found == 0 {
                return Err(Error::Truncated { offset, missing });
            }
            self.consume(found);
            missing -= found as u64;
        }
        Ok(())
    }

    /// Room for at least one more byte of `wanted`.
    fn make_room(&mut self, wanted: usize) {
        if self.start > 0 && self.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(wanted.min(self.buffer.len() * 2), 0);
        }
    }

    fn read(&mut self) -> Result<usize> {
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(len) => {
                    self.end += len;
                    return Ok(len);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset = self.offset + (self.end - self.start) as u64;
                    return Err(Error::Read { offset, source });
                }
            }
        }
    }
}

impl<R> fmt::Debug for Source<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("offset", &self.offset).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: usize = 1 << 30;

    #[test]
    fn a_claim_is_no_allocation() {
        for len in [0, 10, CHUNK, 3 * CHUNK] {
            let mut source = Source::new(std::io::repeat(7).take(len as u64));
            assert_eq!(source.peek(CLAIM).unwrap().len(), len);
            assert!(source.buffer.len() <= CHUNK.max(2 * len), "{len}");
            let error = source.whole(CLAIM).unwrap_err();
            let missing = (CLAIM - len) as u64;
            assert!(matches!(error, Error::Truncated { offset: 0, missing: m } if m == missing));
        }
    }

    #[test]
    fn what_is_skipped_is_not_held() {
        let mut source = Source::new(std::io::repeat(7).take(10 * CHUNK as u64 + 3));
        source.skip(10 * CHUNK as u64).unwrap();
        assert_eq!((source.offset(), source.buffer.len()), (10 * CHUNK as u64, CHUNK));
        let error = source.skip(5).unwrap_err();
        assert!(matches!(error, Error::Truncated { missing: 2, .. }), "{error}");
    }

    #[test]
    fn records_over_the_buffers_end() {
        let input: Vec<u8> = (0..3 * CHUNK).map(|index| (index % 251) as u8).collect();
        let mut source = Source::new(&input[..]);
        let mut at = 0;
        while at < input.len() {
            let len = 1000.min(input.len() - at);
            assert_eq!(source.whole(len).unwrap(), &input[at..at + len]);
            source.consume(len);
            at += len;
        }
        assert!(source.peek(1).unwrap().is_empty());
        assert_eq!(source.buffer.len(), CHUNK);
    }
}
