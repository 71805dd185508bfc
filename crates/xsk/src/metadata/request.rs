//! `struct xsk_tx_metadata` (`linux/if_xdp.h`) as bytes before a packet.
//!
//! ```text
//! 0      8            10             12   16            24
//! │ flags│ csum_start │ csum_offset  │  0 │ launch_time │    request
//! │ flags│ tx_timestamp                   │             │    after transmission
//! ```

use sys::net::xsk::{REQUEST_CHECKSUM, REQUEST_LAUNCH_TIME, REQUEST_TIMESTAMP};

use crate::umem::TRANSMIT_METADATA;

/// The request for one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    flags: u64,
    start: u16,
    offset: u16,
    launch_ns: u64,
}

impl Request {
    pub const SIZE: usize = TRANSMIT_METADATA as usize;

    pub fn read(bytes: &[u8]) -> Self {
        Self {
            flags: u64::from_ne_bytes(field(bytes, 0)),
            start: u16::from_ne_bytes(field(bytes, 8)),
            offset: u16::from_ne_bytes(field(bytes, 10)),
            launch_ns: u64::from_ne_bytes(field(bytes, 16)),
        }
    }

    /// Writes all of [`SIZE`](Self::SIZE) bytes.
    pub fn write(self, bytes: &mut [u8]) {
        bytes[0..8].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[8..10].copy_from_slice(&self.start.to_ne_bytes());
        bytes[10..12].copy_from_slice(&self.offset.to_ne_bytes());
        bytes[12..16].fill(0);
        bytes[16..24].copy_from_slice(&self.launch_ns.to_ne_bytes());
    }

    pub fn with_checksum(self, start: u16, offset: u16) -> Self {
        Self { flags: self.flags | REQUEST_CHECKSUM, start, offset, ..self }
    }

    pub fn with_timestamp(self) -> Self {
        Self { flags: self.flags | REQUEST_TIMESTAMP, ..self }
    }

    pub fn with_launch(self, launch_ns: u64) -> Self {
        Self { flags: self.flags | REQUEST_LAUNCH_TIME, launch_ns, ..self }
    }

    /// End of the checksum field, if a checksum is requested.
    pub fn checksum_end(self) -> Option<usize> {
        let end = usize::from(self.start) + usize::from(self.offset) + 2;
        (self.flags & REQUEST_CHECKSUM != 0).then_some(end)
    }

    pub fn has_timestamp(self) -> bool {
        self.flags & REQUEST_TIMESTAMP != 0
    }

    pub fn has_launch(self) -> bool {
        self.flags & REQUEST_LAUNCH_TIME != 0
    }

    /// The transmit time that the kernel wrote over the request. `None` when it wrote nothing: then
    /// the upper half still has the zeros of the request, and every clock is beyond five seconds.
    pub fn timestamp(bytes: &[u8]) -> Option<u64> {
        let timestamp = u64::from_ne_bytes(field(bytes, 8));
        let is_written = timestamp >> 32 != 0;
        is_written.then_some(timestamp)
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_kernel_reads_them() {
        let request = Request::default().with_checksum(0x0102, 0x0304).with_launch(7);
        let mut bytes = [0xff; 24];
        request.write(&mut bytes);
        let flags = 0b110u64.to_ne_bytes();
        assert_eq!(bytes[..8], flags);
        assert_eq!(bytes[8..10], 0x0102u16.to_ne_bytes());
        assert_eq!(bytes[10..12], 0x0304u16.to_ne_bytes());
        assert_eq!(bytes[12..16], [0; 4]);
        assert_eq!(bytes[16..], 7u64.to_ne_bytes());
        assert_eq!(Request::read(&bytes), request);
        assert_eq!(request.checksum_end(), Some(0x0406 + 2));
        assert!(!request.has_timestamp() && request.has_launch());
    }

    #[test]
    fn a_timestamp_that_was_not_written_is_none() {
        let mut bytes = [0; 24];
        Request::default().with_timestamp().with_checksum(0xffff, 0xffff).write(&mut bytes);
        assert_eq!(Request::timestamp(&bytes), None);
        let now = 1_700_000_000_000_000_000u64;
        bytes[8..16].copy_from_slice(&now.to_ne_bytes());
        assert_eq!(Request::timestamp(&bytes), Some(now));
    }
}
