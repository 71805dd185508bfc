//! Moves a packet's ends: head, metadata, tail, and pulling fragments into the first buffer.
//!
//! Limits and error numbers are those of `net/core/filter.c`, Linux 6.18. The caller must call
//! [`Frame::moved`] afterwards, also after an error: for the kernel's verifier, older packet
//! pointers are stale in both cases.

use super::{FRAME_INFO, Frame, HARD_END, SHORTEST};
use crate::errno::Errno;
use crate::memory::Memory;

/// Longest metadata that `skb_shared_info` can record.
const NOTED_METADATA: i64 = 255;

impl Frame {
    /// `bpf_xdp_adjust_head`: a positive `delta` removes bytes, a negative one adds some. Metadata
    /// moves with the head.
    pub fn adjust_head(&mut self, memory: &mut Memory, delta: i32) -> Result<(), Errno> {
        let length = self.data - self.meta;
        let data = self.data as i64 + i64::from(delta);
        let first = (FRAME_INFO + length) as i64;
        if data < first || data > self.end as i64 - SHORTEST as i64 {
            return Err(Errno::EINVAL);
        }
        let (from, data) = (self.meta as usize, data as u64);
        let to = (data - length) as usize;
        memory.packet_buffer_mut().copy_within(from..from + length as usize, to);
        (self.meta, self.data) = (data - length, data);
        Ok(())
    }

    /// `bpf_xdp_adjust_meta`: a negative `delta` lengthens the metadata.
    pub fn adjust_meta(&mut self, delta: i32) -> Result<(), Errno> {
        let meta = self.meta as i64 + i64::from(delta);
        if meta < FRAME_INFO as i64 || meta > self.data as i64 {
            return Err(Errno::EINVAL);
        }
        let length = self.data as i64 - meta;
        if length % 4 != 0 || length > NOTED_METADATA {
            return Err(Errno::EACCES);
        }
        self.meta = meta as u64;
        Ok(())
    }

    /// `bpf_xdp_adjust_tail`: a positive `delta` adds zeros, a negative one removes bytes.
    pub fn adjust_tail(&mut self, memory: &mut Memory, delta: i32) -> Result<(), Errno> {
        let bytes = u64::from(delta.unsigned_abs());
        if !self.is_split() {
            self.move_end(memory, i64::from(delta))
        } else if delta == i32::MIN {
            // The kernel negates it, which leaves it negative: no bytes are cut.
            Ok(())
        } else if delta < 0 {
            self.shrink_tail(bytes)
        } else {
            self.grow_tail(memory, bytes)
        }
    }

    fn move_end(&mut self, memory: &mut Memory, delta: i64) -> Result<(), Errno> {
        let end = self.end as i64 + delta;
        if end > HARD_END as i64 || end < (self.data + SHORTEST) as i64 {
            return Err(Errno::EINVAL);
        }
        let (old, end) = (self.end as usize, end as usize);
        if end > old {
            memory.packet_buffer_mut()[old..end].fill(0);
        }
        self.end = end as u64;
        Ok(())
    }

    fn shrink_tail(&mut self, bytes: u64) -> Result<(), Errno> {
        if bytes + SHORTEST > self.len() {
            return Err(Errno::EINVAL);
        }
        self.end -= self.fragments.shrink_tail(bytes);
        Ok(())
    }

    fn grow_tail(&mut self, memory: &mut Memory, bytes: u64) -> Result<(), Errno> {
        if !self.grows {
            return Err(Errno::EOPNOTSUPP);
        }
        let at = self.fragments.grow_tail(bytes).ok_or(Errno::EINVAL)? as usize;
        memory.packet_buffer_mut()[at..at + bytes as usize].fill(0);
        Ok(())
    }

    /// `bpf_xdp_pull_data`: makes the first buffer hold at least `len` bytes of the packet, moving
    /// its contents forward if the tailroom is too small.
    pub fn pull(&mut self, memory: &mut Memory, len: u32) -> Result<(), Errno> {
        let (len, held) = (u64::from(len), self.linear_len());
        if len > held { self.pull_more(memory, len - held) } else { Ok(()) }
    }

    fn pull_more(&mut self, memory: &mut Memory, mut missing: u64) -> Result<(), Errno> {
        let (headroom, tailroom) = (self.meta - FRAME_INFO, HARD_END - self.end);
        if missing > self.fragments.total() || missing > headroom + tailroom {
            return Err(Errno::EINVAL);
        }
        let buffer = memory.packet_buffer_mut();
        let shift = missing.saturating_sub(tailroom);
        let to = (self.meta - shift) as usize;
        buffer.copy_within(self.meta as usize..self.end as usize, to);
        self.meta -= shift;
        self.data -= shift;
        self.end -= shift;
        while let Some((at, bytes)) = self.fragments.shrink_front(missing) {
            buffer.copy_within(at as usize..(at + bytes) as usize, self.end as usize);
            self.end += bytes;
            missing -= bytes;
        }
        Ok(())
    }
}
