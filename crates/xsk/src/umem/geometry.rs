//! The division of memory into frames, and the place of packets in frames.

use sys::net::xsk::UNALIGNED_OFFSET_SHIFT;

use crate::limits::MAGAZINE;

/// The division of memory into frames; all sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub frames: u32,
    /// Size of a frame; a power of two unless `unaligned`.
    pub size: u32,
    pub headroom: u32,
    /// Space for transmit metadata before a packet, or 0.
    pub metadata: u32,
    pub unaligned: bool,
}

/// The place of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub chunk: u32,
    pub offset: u32,
}

impl Geometry {
    /// Number of frames that move together between a cache and the depot, so that both halves of a
    /// socket keep at most a quarter of the memory.
    pub fn magazine(&self) -> usize {
        (self.frames as usize / 32).clamp(1, MAGAZINE)
    }

    pub fn bytes(&self) -> usize {
        self.frames as usize * self.size as usize
    }

    /// The address for the fill ring: the start of the frame.
    #[inline]
    pub fn address(&self, chunk: u32) -> u64 {
        u64::from(chunk) * u64::from(self.size)
    }

    /// Offset in the memory of the data of an rx descriptor; not checked.
    #[inline]
    pub fn distance(&self, address: u64) -> u64 {
        if !self.unaligned {
            return address;
        }
        let base = address & ((1 << UNALIGNED_OFFSET_SHIFT) - 1);
        base + (address >> UNALIGNED_OFFSET_SHIFT)
    }

    /// The place of an address in an rx or completion ring; `None` when it is outside.
    #[inline]
    pub fn place(&self, address: u64) -> Option<Place> {
        let place =
            if self.unaligned { self.unaligned_place(address) } else { self.split(address) };
        (place.chunk < self.frames).then_some(place)
    }

    /// In unaligned mode the upper bits hold the offset of the data from the start of the frame.
    fn unaligned_place(&self, address: u64) -> Place {
        let base = address & ((1 << UNALIGNED_OFFSET_SHIFT) - 1);
        let place = self.split_by_division(base);
        Place { offset: place.offset + (address >> UNALIGNED_OFFSET_SHIFT) as u32, ..place }
    }

    fn split_by_division(&self, base: u64) -> Place {
        let (size, most) = (u64::from(self.size), u64::from(u32::MAX));
        Place { chunk: (base / size).min(most) as u32, offset: (base % size) as u32 }
    }

    #[inline]
    fn split(&self, address: u64) -> Place {
        let shift = self.size.trailing_zeros();
        let chunk = (address >> shift).min(u64::from(u32::MAX)) as u32;
        Place { chunk, offset: address as u32 & (self.size - 1) }
    }

    /// Offset of a received packet in its frame.
    #[inline]
    pub fn receive_offset(&self) -> u32 {
        self.headroom.saturating_add(KERNEL_HEADROOM)
    }

    pub fn receive_room(&self) -> u32 {
        self.size.saturating_sub(self.receive_offset())
    }

    /// Offset of the data of an empty frame.
    #[inline]
    pub fn transmit_offset(&self) -> u32 {
        self.headroom.saturating_add(self.metadata)
    }

    #[inline]
    pub fn transmit_room(&self) -> u32 {
        self.size - self.transmit_offset()
    }
}

/// Bytes of `struct xsk_tx_metadata` before a packet. Linux before 6.15 knows the first 16, and
/// accepts any multiple of 8 below 256.
pub(crate) const TRANSMIT_METADATA: u32 = 24;
/// `XDP_PACKET_HEADROOM`: bytes before a packet that XDP programs may use.
const KERNEL_HEADROOM: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_frame_and_offset() {
        let aligned =
            Geometry { frames: 4, size: 2048, headroom: 0, metadata: 0, unaligned: false };
        let unaligned = Geometry { size: 3000, unaligned: true, ..aligned };
        let offset = |bytes: u64| bytes << UNALIGNED_OFFSET_SHIFT;
        let table = [
            (aligned, 0, Some((0, 0))),
            (aligned, 2048 + 256, Some((1, 256))),
            (aligned, 4 * 2048 - 1, Some((3, 2047))),
            (aligned, 4 * 2048, None),
            (aligned, u64::MAX, None),
            (unaligned, 3000 | offset(256), Some((1, 256))),
            (unaligned, 3000 + 20, Some((1, 20))),
            (unaligned, 12_000, None),
            (unaligned, u64::MAX, None),
        ];
        for (geometry, address, wanted) in table {
            let place = geometry.place(address).map(|place| (place.chunk, place.offset));
            assert_eq!(place, wanted, "{address:#x} in {geometry:?}");
        }
    }
}
