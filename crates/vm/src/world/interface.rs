//! A network interface, and the metadata that its hardware provides.

use packet::{AddressPrefix, Mac};
use serde::{Deserialize, Serialize};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Interface index, from 1.
    pub index: u32,
    pub name: String,
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    #[serde(default)]
    pub mac: Mac,
    /// Addresses with the prefix lengths of their networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressPrefix>,
    #[serde(default = "yes")]
    pub up: bool,
    /// Whether IPv4 packets received here may be forwarded; false by default, as in Linux.
    #[serde(default)]
    pub forward_ipv4: bool,
    #[serde(default)]
    pub forward_ipv6: bool,
    /// Bytes of the hardware header before a packet of `mtu` bytes.
    #[serde(default = "ethernet_header")]
    pub header_len: u32,
    /// MTU of IPv6 packets, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_ipv6: Option<u32>,
    /// Metadata of packets received here, as the metadata kfuncs return it.
    #[serde(default, skip_serializing_if = "Received::is_empty")]
    pub received: Received,
}

/// Metadata that the hardware provides for each received packet; absent parts are not supported.
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

/// Result of `bpf_xdp_metadata_rx_hash`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedHash {
    pub value: u32,
    /// `enum xdp_rss_hash_type`.
    #[serde(rename = "type", default)]
    pub kind: u32,
}

/// Result of `bpf_xdp_metadata_rx_vlan_tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceivedVlan {
    /// EtherType of the tag: `0x8100` or `0x88a8`.
    pub protocol: u16,
    /// Tag control information: priority, drop bit and VLAN identifier.
    pub tci: u16,
}

impl Received {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Interface {
    /// An interface that is up, with an MTU of 1500, without addresses and forwarding.
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

    /// Enables forwarding of both families.
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
