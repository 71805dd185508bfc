//! What the redirect program says of a packet: `struct redirect_metadata`.
//!
//! Rule: it stands at one place of a frame, right in front of where the kernel puts packets. Its
//! mark there is wiped off before the kernel gets the frame, so that one found later was written
//! for the packet that came in it, and is neither an older packet's nor somebody's payload.

use std::array;

use crate::steer::redirect::abi::Metadata;
use crate::umem::Frame;

/// What is known of a received packet; see [`Frame::received`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The device's, over what [`HashType`] says.
    pub hash: Option<(u32, HashType)>,
    pub timestamp: Option<Timestamp>,
    pub vlan: Option<Vlan>,
}

/// When a packet was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    pub ns: u64,
    pub clock: Clock,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The device's own.
    Device,
    /// `CLOCK_MONOTONIC`, when the program ran.
    Monotonic,
}

/// The outermost VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Priority (upper 3 bits), drop bit, and number.
    pub control: u16,
    /// 0x8100 or 0x88a8.
    pub protocol: u16,
    /// It is still in the packet; else the device took it off.
    pub is_inside: bool,
}

/// What a hash was made of: `enum xdp_rss_hash_type` of `net/xdp.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashType(pub u32);

impl HashType {
    pub fn has_ipv4(self) -> bool {
        self.0 & 1 != 0
    }

    pub fn has_ipv6(self) -> bool {
        self.0 & 2 != 0
    }

    /// Ports, or what the transport has instead, are in it.
    pub fn has_ports(self) -> bool {
        self.0 & 8 != 0
    }
}

impl Vlan {
    /// 0 to 4095.
    pub fn number(self) -> u16 {
        self.control & 0xfff
    }
}

impl Frame {
    /// What the redirect program wrote of this packet, if the interface was opened with
    /// [`rx_metadata`](crate::steer::Options). `None` where it did not, had no room, or the
    /// packet was not received. A [request](Frame::request) for the same packet takes its place.
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
