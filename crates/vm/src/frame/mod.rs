//! A received frame as a driver lays it out: headroom, metadata, packet, tailroom, fragments.
//!
//! ```text
//! 0        40          meta     data             end       3776      4096
//! | xdp_frame | headroom | meta ..| packet ........| tailroom | shared info | page | page ..
//! ```
//!
//! Positions are offsets into the packet's buffer. Programs access `meta..end` by address and the
//! pages after it only through helpers. The sizes are those of a test run in the kernel: a page for
//! the head of a frame, then a page for each fragment.
//! Not here: moving the ends (`adjust`), copies across fragments (`bytes`).

mod adjust;
mod bytes;
mod fragments;
mod saved;
#[cfg(test)]
mod tests;

use spec::Input;

use crate::error::{Error, InvalidPacket, Result};
use crate::memory::{Memory, Slab};
use fragments::Fragments;
pub(crate) use saved::Saved;

/// Bytes before a packet; the kernel's `XDP_PACKET_HEADROOM`.
pub const HEADROOM: u64 = 256;
/// Bytes of one buffer: a page.
pub const BUFFER: u64 = 4096;
/// Bytes at the buffer's end that are reserved for the driver: `skb_shared_info`, aligned.
pub const SHARED_INFO: u64 = 320;
/// Bytes at the buffer's start that are reserved for the driver: `struct xdp_frame`.
pub const FRAME_INFO: u64 = 40;
/// Position at which the packet's part in the first buffer must end.
pub const HARD_END: u64 = BUFFER - SHARED_INFO;
/// Maximum number of fragments of a frame; the kernel's `MAX_SKB_FRAGS`.
pub const FRAGMENTS: usize = 17;
/// Bytes of the shortest frame: an Ethernet header.
pub const SHORTEST: u64 = 14;
/// Bytes of the longest metadata: the headroom without `struct xdp_frame`.
pub const METADATA: u64 = HEADROOM - FRAME_INFO;

/// Position of the packet in its buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    meta: u64,
    data: u64,
    end: u64,
    fragments: Fragments,
    /// Whether programs may extend the packet into the rest of the last fragment's page; not every
    /// driver permits it.
    pub grows: bool,
    /// End of the zeros in the headroom that no packet has overwritten.
    lowest: u64,
}

impl Frame {
    /// An empty frame whose buffer is installed in `memory`.
    pub fn install(memory: &mut Memory) -> Self {
        let bytes = BUFFER * (1 + FRAGMENTS as u64);
        memory.install_packet(Slab::new(bytes).expect("a few pages are far below the limit"));
        Self { meta: HEADROOM, data: HEADROOM, end: HEADROOM, lowest: HEADROOM, ..Self::default() }
    }

    /// Stores a packet: bytes beyond the first buffer go into fragments.
    pub fn put(&mut self, memory: &mut Memory, input: &Input) -> Result<()> {
        check(input).map_err(Error::Packet)?;
        let Input { packet, metadata, .. } = input;
        let room = (HARD_END - HEADROOM) as usize;
        let (head, rest) = packet.split_at(packet.len().min(room));
        let lowest = self.lowest as usize;
        self.meta = HEADROOM - metadata.len() as u64;
        self.data = HEADROOM;
        self.end = HEADROOM + head.len() as u64;
        self.lowest = self.meta;
        let buffer = memory.packet_buffer_mut();
        buffer[lowest.min(self.meta as usize)..self.meta as usize].fill(0);
        buffer[self.meta as usize..self.data as usize].copy_from_slice(metadata);
        buffer[self.data as usize..self.end as usize].copy_from_slice(head);
        self.fragments.fill(&mut buffer[BUFFER as usize..], rest);
        memory.start_packet(self.meta, self.end - self.meta);
        Ok(())
    }

    /// Position of the packet's first byte.
    pub fn data(&self) -> u64 {
        self.data
    }

    /// Position after the last byte in the first buffer.
    pub fn data_end(&self) -> u64 {
        self.end
    }

    /// Position of the first byte of metadata.
    pub fn data_meta(&self) -> u64 {
        self.meta
    }

    /// Whether the packet continues after its first buffer.
    pub fn is_split(&self) -> bool {
        !self.fragments.is_empty()
    }

    /// Updates the packet's region after its ends moved; older pointers become stale.
    pub fn moved(&mut self, memory: &mut Memory) {
        self.lowest = self.lowest.min(self.meta);
        memory.move_packet(self.meta, self.end - self.meta);
    }
}

fn check(input: &Input) -> std::result::Result<(), InvalidPacket> {
    let (len, meta) = (input.packet.len() as u64, input.metadata.len() as u64);
    let longest = HARD_END - HEADROOM + FRAGMENTS as u64 * BUFFER;
    if len < SHORTEST {
        Err(InvalidPacket::TooShort { len })
    } else if len > longest {
        Err(InvalidPacket::TooLong { len, longest })
    } else if meta > METADATA || !meta.is_multiple_of(4) {
        Err(InvalidPacket::Metadata { len: meta, longest: METADATA })
    } else {
        Ok(())
    }
}
