//! A network interface, and what its hardware says of packets.

use packet::{AddressPrefix, Mac};
use serde::{Deserialize, Serialize};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Its number, from 1.
    pub index: u32,
    pub name: String,
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    #[serde(default)]
    pub mac: Mac,
    /// With the length of their networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressPrefix>,
    #[serde(default = "yes")]
    pub up: bool,
    /// Whether IPv4 packets that come in here may be sent on; Linux starts with no.
    #[serde(default)]
    pub forward_ipv4: bool,
    #[serde(default)]
    pub forward_ipv6: bool,
    /// Bytes of hardware header in front of a packet of `mtu` bytes.
    #[serde(default = "ethernet_header")]
    pub header_len: u32,
    /// The MTU of IPv6 packets, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_ipv6: Option<u32>,
    /// What the metadata kfuncs answer for packets that come in here.
    #[serde(default, skip_serializing_if = "Received::is_empty")]
    pub received: Received,
}

/// What the hardware of an interface says of each received packet; what is absent it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Received {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<ReceivedHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<ReceivedVlan>,
}

/// Answer of `bpf_xdp_metadata_rx_hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedHash {
    pub value: u32,
    /// `enum xdp_rss_hash_type`.
    #[serde(rename = "type", default)]
    pub kind: u32,
}

/// Answer of `bpf_xdp_metadata_rx_vlan_tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedVlan {
    /// `0x8100` or `0x88a8`.
    pub protocol: u16,
    /// Priority, drop bit and VLAN number.
    pub tci: u16,
}

impl Received {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Interface {
    /// Up, with an MTU of 1500, no addresses, not forwarding.
    pub fn new(index: u32, name: impl Into<String>) -> Self {
        Self {
            index,
            name: name.into(),
            mtu: ethernet_mtu(),
            mac: Mac::default(),
            addresses: Vec::new(),
            up: true,
            forward_ipv4: false,
            forward_ipv6: false,
            header_len: ethernet_header(),
            mtu_ipv6: None,
            received: Received::default(),
        }
    }

    /// Adds an address such as `10.0.0.1/24`.
    #[must_use]
    pub fn with_address(mut self, address: AddressPrefix) -> Self {
        self.addresses.push(address);
        self
    }

    /// Lets packets of both families be sent on.
    #[must_use]
    pub fn forwarding(mut self) -> Self {
        self.forward_ipv4 = true;
        self.forward_ipv6 = true;
        self
    }
}

const fn ethernet_mtu() -> u32 {
    1500
}

const fn ethernet_header() -> u32 {
    14
}

const fn yes() -> bool {
    true
}
