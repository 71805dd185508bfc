//! Attributes of received packets: `struct redirect_metadata`, written by the redirect program.
//!
//! Rule: they have a fixed place in a frame, directly before the place of received packets. The
//! mark there is cleared before the kernel gets the frame, so that a mark found later was written
//! for the received packet, and is neither that of an older packet nor payload.

use std::array;

use crate::steer::redirect::abi::Metadata;
use crate::umem::Frame;

/// Attributes of a received packet; see [`Frame::received`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The hash of the device, and the fields that it covers.
    pub hash: Option<(u32, HashType)>,
    /// When the packet was received.
    pub timestamp: Option<Timestamp>,
    /// The outermost VLAN tag.
    pub vlan: Option<Vlan>,
}

/// The receive time of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Nanoseconds of the clock.
    pub ns: u64,
    /// The clock of the time.
    pub clock: Clock,
}

/// The clock of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The clock of the device.
    Device,
    /// `CLOCK_MONOTONIC`, read by the redirect program.
    Monotonic,
}

/// The outermost VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Priority (upper 3 bits), drop eligible bit, and number.
    pub control: u16,
    /// 0x8100 or 0x88a8.
    pub protocol: u16,
    /// The tag is still in the packet; otherwise the device removed it.
    pub is_inside: bool,
}

/// The fields that a hash covers: `enum xdp_rss_hash_type` of `net/xdp.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashType(pub u32);

impl HashType {
    /// The hash covers IPv4 addresses.
    pub fn has_ipv4(self) -> bool {
        self.0 & 1 != 0
    }

    /// The hash covers IPv6 addresses.
    pub fn has_ipv6(self) -> bool {
        self.0 & 2 != 0
    }

    /// The hash covers ports, or the equivalent of the transport protocol.
    pub fn has_ports(self) -> bool {
        self.0 & 8 != 0
    }
}

impl Vlan {
    /// The VLAN id, 0 to 4095.
    pub fn number(self) -> u16 {
        self.control & 0xfff
    }
}

impl Frame {
    /// The attributes that the redirect program wrote for this packet, if the interface was opened
    /// with [`rx_metadata`](crate::steer::Options). `None` without them, without space for them, or
    /// when the packet was not received. A [request](Frame::request) for the same packet overwrites
    /// them.
    pub fn received(&self) -> Option<Received> {
        let front = self.received_front()?;
        let metadata = Metadata::from_bytes(&array::from_fn(|i| front[i]));
        (metadata.magic == MAGIC).then(|| Received::from(metadata))
    }
}

impl From<Metadata> for Received {
    fn from(from: Metadata) -> Self {
        let has = |bit: u32| from.valid & bit != 0;
        let clock = if has(SOFTWARE_TIMESTAMP) { Clock::Monotonic } else { Clock::Device };
        let vlan =
            Vlan { control: from.vlan_tci, protocol: from.vlan_proto, is_inside: has(VLAN_INSIDE) };
        Self {
            hash: has(HASH).then_some((from.hash, HashType(from.hash_type))),
            timestamp: has(TIMESTAMP).then_some(Timestamp { ns: from.timestamp_ns, clock }),
            vlan: has(VLAN).then_some(vlan),
        }
    }
}

/// `REDIRECT_METADATA_*` of `bpf/redirect/redirect.abi.h`.
const HASH: u32 = 1;
const TIMESTAMP: u32 = 2;
const VLAN: u32 = 4;
const SOFTWARE_TIMESTAMP: u32 = 8;
const VLAN_INSIDE: u32 = 16;
const MAGIC: u32 = 0x6d79_6178;
