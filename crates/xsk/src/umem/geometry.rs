//! How memory is cut into frames, and where in a frame a packet lies.

use sys::net::xsk::UNALIGNED_OFFSET_SHIFT;

use crate::limits::MAGAZINE;

/// All sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub frames: u32,
    /// Of a frame; a power of two unless `unaligned`.
    pub size: u32,
    pub headroom: u32,
    /// Room for transmit metadata in front of a packet, or 0.
    pub metadata: u32,
    pub unaligned: bool,
}

/// A place that a descriptor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub chunk: u32,
    pub offset: u32,
}

impl Geometry {
    /// Frames that move between a cache and the depot at once: all halves of a socket together
    /// keep at most a quarter of the memory.
    pub fn magazine(&self) -> usize {
        (self.frames as usize / 32).clamp(1, MAGAZINE)
    }

    pub fn bytes(&self) -> usize {
        self.frames as usize * self.size as usize
    }

    /// What the fill ring is given: the start of the frame.
    #[inline]
    pub fn address(&self, chunk: u32) -> u64 {
        u64::from(chunk) * u64::from(self.size)
    }

    /// Bytes from the start of the memory to the data that an rx descriptor names; not checked.
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

    /// The offset of received data is in the upper bits, and counts from the start of the frame.
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

    /// Where the kernel puts a received packet in its frame.
    #[inline]
    pub fn receive_offset(&self) -> u32 {
        self.headroom.saturating_add(KERNEL_HEADROOM)
    }

    pub fn receive_room(&self) -> u32 {
        self.size.saturating_sub(self.receive_offset())
    }

    /// Where the data of an empty frame starts.
    #[inline]
    pub fn transmit_offset(&self) -> u32 {
        self.headroom.saturating_add(self.metadata)
    }

    #[inline]
    pub fn transmit_room(&self) -> u32 {
        self.size - self.transmit_offset()
    }
}

/// `XDP_PACKET_HEADROOM`: what XDP programs may use in front of a packet.
const KERNEL_HEADROOM: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_frame_and_offset() {
        let aligned =
            Geometry { frames: 4, size: 2048, headroom: 0, metadata: 0, unaligned: false };
        let odd = Geometry { size: 3000, unaligned: true, ..aligned };
        let offset = |bytes: u64| bytes << UNALIGNED_OFFSET_SHIFT;
        let table = [
            (aligned, 0, Some((0, 0))),
            (aligned, 2048 + 256, Some((1, 256))),
            (aligned, 4 * 2048 - 1, Some((3, 2047))),
            (aligned, 4 * 2048, None),
            (aligned, u64::MAX, None),
            (odd, 3000 | offset(256), Some((1, 256))),
            (odd, 3000 + 20, Some((1, 20))),
            (odd, 12_000, None),
            (odd, u64::MAX, None),
        ];
        for (geometry, address, wanted) in table {
            let place = geometry.place(address).map(|place| (place.chunk, place.offset));
            assert_eq!(place, wanted, "{address:#x} in {geometry:?}");
        }
    }
}
