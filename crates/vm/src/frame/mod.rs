//! A received frame as a driver lays it out: headroom, metadata, packet, tailroom.
//!
//! ```text
//! 0        40          meta     data             end       3776      4096
//! | xdp_frame | headroom | meta ..| packet ........| tailroom | shared info |
//! ```
//!
//! Positions are offsets into the packet's buffer; the region that programs can touch is
//! `meta..end`. The sizes are those of a test run in the kernel (a page for each frame).

use spec::Input;

use crate::error::{Error, Result};
use crate::memory::{Memory, Slab};

/// Bytes in front of a packet; the kernel's `XDP_PACKET_HEADROOM`.
pub const HEADROOM: u64 = 256;
/// Bytes of one buffer: a page.
pub const BUFFER: u64 = 4096;
/// Bytes at the buffer's end that stay the driver's: `skb_shared_info`, aligned.
pub const SHARED_INFO: u64 = 320;

/// Where the packet is in its buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    meta: u64,
    data: u64,
    end: u64,
}

impl Frame {
    pub fn install(memory: &mut Memory) -> Self {
        memory.install_packet(Slab::new(BUFFER).expect("a page is far below the limit"));
        Self { meta: HEADROOM, data: HEADROOM, end: HEADROOM }
    }

    /// Lays a packet out in the buffer.
    pub fn put(&mut self, memory: &mut Memory, input: &Input) -> Result<()> {
        let (len, meta) = (input.packet.len() as u64, input.metadata.len() as u64);
        if len > BUFFER - HEADROOM - SHARED_INFO {
            return Err(Error::Packet(format!("{len} bytes are more than one buffer holds")));
        }
        *self = Self { meta: HEADROOM - meta, data: HEADROOM, end: HEADROOM + len };
        memory.start_packet(self.meta, self.end - self.meta);
        let buffer = memory.packet_buffer_mut();
        buffer[self.meta as usize..self.data as usize].copy_from_slice(&input.metadata);
        buffer[self.data as usize..self.end as usize].copy_from_slice(&input.packet);
        Ok(())
    }

    pub fn data(&self) -> u64 {
        self.data
    }

    pub fn data_end(&self) -> u64 {
        self.end
    }

    pub fn data_meta(&self) -> u64 {
        self.meta
    }
}
