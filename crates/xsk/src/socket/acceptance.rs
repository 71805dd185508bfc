//! What a packet must be like to be sent through a socket.
//!
//! Rule: the kernel drops a packet with a descriptor that it does not like and counts it; before
//! 6.18 it keeps the frame, too. At a request that it does not like it stops for good, and gives the
//! frame back time and again while it still looks at it (seen on 6.18.44). What is over the MTU it
//! loses without a word. So nothing of that kind gets into the ring.

use super::refusal::SendError;
use crate::device::Device;
use crate::limits::TRANSMIT_PARTS;
use crate::metadata::Abilities;
use crate::umem::Frame;

/// The default accepts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acceptance {
    /// Bytes of a packet.
    longest: usize,
    parts: u32,
    /// Bytes that must be in front of each part, for requests.
    metadata: u32,
    can: Abilities,
}

/// How a socket was bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub is_multi_buffer: bool,
    pub is_zero_copy: bool,
    /// Bytes of transmit metadata in its memory.
    pub metadata: u32,
    /// The kernel is to compute checksums itself, when it copies.
    pub is_software_checksum: bool,
}

impl Acceptance {
    pub fn new(device: &Device, bound: Binding) -> Self {
        let features = device.features.unwrap_or_default();
        let copies = !bound.is_zero_copy;
        let parts = match (bound.is_multi_buffer, bound.is_zero_copy) {
            (false, _) => 1,
            (true, false) => TRANSMIT_PARTS,
            (true, true) => features.zero_copy_segments.clamp(1, TRANSMIT_PARTS),
        };
        Self {
            longest: device.mtu as usize + HEADERS,
            parts,
            metadata: bound.metadata,
            can: Abilities {
                checksum: copies || features.tx_checksum(),
                long_checksum: !copies || !bound.is_software_checksum,
                timestamp: copies || features.tx_timestamp(),
                launch: features.launch_time(),
            },
        }
    }

    /// For a tx ring of so many slots.
    pub fn with_slots(self, slots: u32) -> Self {
        Self { parts: self.parts.min(slots), ..self }
    }

    /// Parts that a packet may have.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// Bytes that a packet may have.
    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn has_metadata(&self) -> bool {
        self.metadata > 0
    }

    /// Whether a packet is accepted at first sight.
    #[inline]
    pub fn is_plain(&self, frame: &Frame) -> bool {
        // One less: an empty packet is then the longest of all.
        let fits = frame.len().wrapping_sub(1) < self.longest;
        fits && frame.is_plain() && self.metadata == 0
    }

    #[inline]
    pub fn refusal(&self, frame: &Frame) -> Option<SendError> {
        if self.is_plain(frame) { None } else { self.closer(frame).err() }
    }

    fn closer(&self, frame: &Frame) -> Result<(), SendError> {
        let parts = frame.count();
        if parts > 1 && self.parts == 1 {
            return Err(SendError::Fragmented { parts });
        }
        if parts > self.parts {
            return Err(SendError::TooManyParts { parts, most: self.parts });
        }
        let mut len = 0;
        for (_, headroom, part) in frame.parts() {
            if part == 0 {
                return Err(SendError::Empty);
            }
            if headroom < self.metadata {
                return Err(SendError::NoHeadroom { headroom, needed: self.metadata });
            }
            len += part as usize;
        }
        if len > self.longest {
            return Err(SendError::OverMtu { len, most: self.longest });
        }
        match frame.requested() {
            Some(request) => Ok(request.refusal(frame, self.can)?),
            None => Ok(()),
        }
    }
}

/// An Ethernet header and one VLAN tag: what the stack lets through beside the MTU
/// (`__is_skb_forwardable` in `include/linux/netdevice.h` at v6.18).
const HEADERS: usize = 18;
