//! Requirements on packets that are sent through a socket.
//!
//! Rule: no packet that the kernel would reject gets into the ring. The kernel drops and counts a
//! packet with an invalid descriptor, and older kernels keep its frame, too (`xskq_cons_read_desc`
//! in `net/xdp/xsk_queue.h`). An invalid request stops transmission permanently, and its frame is
//! completed repeatedly while the kernel still reads it (seen on 6.18.44). Packets above the MTU
//! are lost silently.

use super::refusal::SendError;
use crate::device::Device;
use crate::limits::TRANSMIT_PARTS;
use crate::metadata::Abilities;
use crate::umem::Frame;

/// The limits of a socket; the default accepts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acceptance {
    /// Most bytes of a packet.
    longest: usize,
    parts: u32,
    /// Bytes that must be free before each part, for requests.
    metadata: u32,
    can: Abilities,
}

/// How a socket was bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub is_multi_buffer: bool,
    pub is_zero_copy: bool,
    /// Bytes of transmit metadata before each packet of its memory.
    pub metadata: u32,
    /// The kernel computes checksums when it copies.
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

    /// The limits for a tx ring with this number of slots.
    pub fn with_slots(self, slots: u32) -> Self {
        Self { parts: self.parts.min(slots), ..self }
    }

    /// Most parts of a packet.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// Most bytes of a packet.
    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn has_metadata(&self) -> bool {
        self.metadata > 0
    }

    /// Whether a packet of one part, of `len` bytes and without a request is accepted, apart from
    /// its metadata.
    #[inline]
    pub fn is_plain(&self, len: usize) -> bool {
        // Subtracting one makes an empty packet the longest of all.
        len.wrapping_sub(1) < self.longest
    }

    #[inline]
    pub fn refusal(&self, frame: &Frame) -> Option<SendError> {
        self.check(frame).err()
    }

    fn check(&self, frame: &Frame) -> Result<(), SendError> {
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

/// Bytes of an Ethernet header and one VLAN tag, which the stack permits in addition to the MTU
/// (`__is_skb_forwardable` in `include/linux/netdevice.h` at v6.18).
const HEADERS: usize = 18;

#[cfg(test)]
mod tests {
    use sys::net::XdpFeatures;

    use super::*;
    use crate::Umem;
    use crate::metadata::{Offload, RequestError};

    const CHECKSUM: Offload = Offload::Checksum { start: 14, offset: 16 };
    const TIMESTAMP: Offload = Offload::Timestamp { number: 1 };
    const LAUNCH: Offload = Offload::Launch { at_ns: 1 };

    /// A device with zero copy of 4 segments that reports the features `xsk`.
    fn device(xsk: u64) -> Device {
        let features = XdpFeatures { zero_copy_segments: 4, xsk, ..XdpFeatures::default() };
        Device { mtu: 9000, features: Some(features), ..Device::default() }
    }

    fn binding(is_zero_copy: bool) -> Binding {
        let is_software_checksum = true;
        Binding { is_multi_buffer: true, is_zero_copy, metadata: 24, is_software_checksum }
    }

    fn frame(umem: &Umem, parts: u32) -> Frame {
        let part = || {
            let mut frame = umem.alloc().unwrap();
            assert!(frame.resize(60));
            frame
        };
        let mut first = part();
        (1..parts).for_each(|_| first.append(part()).unwrap());
        first
    }

    #[test]
    fn requests_are_accepted_as_the_device_reports() {
        let umem = Umem::builder().frames(4).transmit_metadata(true).build().unwrap();
        // Bits as in `NETDEV_XSK_FLAGS_*`: timestamp, checksum, launch time.
        for (xsk, is_zero_copy, granted) in [
            (0b000, true, [false, false, false]),
            (0b001, true, [true, false, false]),
            (0b010, true, [false, true, false]),
            (0b100, true, [false, false, true]),
            (0b111, true, [true, true, true]),
            (0b000, false, [true, true, false]),
            (0b100, false, [true, true, true]),
        ] {
            let acceptance = Acceptance::new(&device(xsk), binding(is_zero_copy));
            for (offload, is_granted) in [TIMESTAMP, CHECKSUM, LAUNCH].into_iter().zip(granted) {
                let mut frame = frame(&umem, 1);
                frame.request(offload).unwrap();
                let refusal = acceptance.refusal(&frame);
                assert_eq!(refusal.is_none(), is_granted, "{offload:?}, {xsk:#b}: {refusal:?}");
            }
        }
    }

    #[test]
    fn the_device_limits_the_number_of_parts() {
        let umem = Umem::builder().frames(64).transmit_metadata(true).build().unwrap();
        let silent = Device { features: None, ..device(0) };
        for (name, device, is_zero_copy, most) in [
            ("zero copy", device(0), true, 4),
            ("zero copy, not reported", silent, true, 1),
            ("copy", device(0), false, 18),
        ] {
            let acceptance = Acceptance::new(&device, binding(is_zero_copy));
            assert_eq!(acceptance.parts(), most, "{name}");
            assert!(acceptance.refusal(&frame(&umem, most)).is_none(), "{name}");
            assert!(acceptance.refusal(&frame(&umem, most + 1)).is_some(), "{name}");
        }
    }

    #[test]
    fn the_kernel_sums_one_part_and_a_device_all() {
        let umem = Umem::builder().frames(4).transmit_metadata(true).build().unwrap();
        let mut frame = frame(&umem, 2);
        frame.request(CHECKSUM).unwrap();
        let refusal =
            |is_zero_copy| Acceptance::new(&device(0b010), binding(is_zero_copy)).refusal(&frame);
        assert!(refusal(true).is_none());
        assert!(matches!(refusal(false), Some(SendError::Request(RequestError::Fragmented))));
    }

    #[test]
    fn the_default_accepts_nothing() {
        let umem = Umem::builder().frames(4).build().unwrap();
        assert!(Acceptance::default().refusal(&frame(&umem, 1)).is_some());
    }
}
