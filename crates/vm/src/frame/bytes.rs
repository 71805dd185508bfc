//! The packet as one sequence of bytes across its fragments.
//!
//! Offsets count from the packet's first byte. A range outside the packet is `None`; the helper
//! chooses the error.

use super::Frame;
use crate::memory::Memory;

impl Frame {
    /// Length of the packet in bytes, including fragments.
    pub fn len(&self) -> u64 {
        self.end - self.data + self.fragments.total()
    }

    /// Number of the packet's bytes in its first buffer.
    pub fn linear_len(&self) -> u64 {
        self.end - self.data
    }

    /// Address of `len` bytes in the first buffer; `None` if they are not all there.
    pub fn linear(&self, memory: &Memory, offset: u64, len: u64) -> Option<u64> {
        let end = offset.checked_add(len)?;
        (end <= self.linear_len()).then(|| memory.packet().at(self.data + offset))
    }

    /// Copies bytes from the packet; `None`, without copying, if some are outside.
    pub fn copy_out(&self, memory: &Memory, offset: u64, into: &mut [u8]) -> Option<()> {
        self.check(offset, into.len())?;
        let buffer = memory.packet_buffer();
        self.pieces(offset, into.len(), |at, range| {
            let len = range.len();
            into[range].copy_from_slice(&buffer[at..at + len]);
        });
        Some(())
    }

    /// Copies bytes into the packet; `None`, without copying, if some are outside.
    pub fn copy_in(&self, memory: &mut Memory, offset: u64, from: &[u8]) -> Option<()> {
        self.check(offset, from.len())?;
        let buffer = memory.packet_buffer_mut();
        self.pieces(offset, from.len(), |at, range| {
            let len = range.len();
            buffer[at..at + len].copy_from_slice(&from[range]);
        });
        Some(())
    }

    /// Appends the packet's bytes to `into`.
    pub fn append_packet(&self, memory: &Memory, into: &mut Vec<u8>) {
        let buffer = memory.packet_buffer();
        into.extend_from_slice(&buffer[self.data as usize..self.end as usize]);
        for fragment in self.fragments.iter() {
            let at = fragment.start() as usize;
            into.extend_from_slice(&buffer[at..at + fragment.len() as usize]);
        }
    }

    /// The part of the packet in its first buffer.
    pub fn head<'a>(&self, memory: &'a Memory) -> &'a [u8] {
        &memory.packet_buffer()[self.data as usize..self.end as usize]
    }

    pub fn metadata<'a>(&self, memory: &'a Memory) -> &'a [u8] {
        &memory.packet_buffer()[self.meta as usize..self.data as usize]
    }

    fn check(&self, offset: u64, len: usize) -> Option<()> {
        (offset.checked_add(len as u64)? <= self.len()).then_some(())
    }

    /// Calls `copy` with the offset of each piece in the buffer and its range of the whole.
    fn pieces(&self, offset: u64, len: usize, mut copy: impl FnMut(usize, std::ops::Range<usize>)) {
        let head = (self.data, self.linear_len());
        let rest = self.fragments.iter().map(|fragment| (fragment.start(), fragment.len()));
        let (mut skip, mut done) = (offset, 0);
        for (start, held) in std::iter::once(head).chain(rest) {
            if skip >= held {
                skip -= held;
                continue;
            }
            let take = ((held - skip) as usize).min(len - done);
            copy((start + skip) as usize, done..done + take);
            done += take;
            skip = 0;
        }
    }
}
