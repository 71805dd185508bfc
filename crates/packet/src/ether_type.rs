//! EtherTypes: the protocol that follows an Ethernet header, a VLAN tag or a tunnel header.

use std::fmt;

/// A type number of IEEE 802.3; numbers below [`EtherType::FIRST`] are a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// The lowest type, 1536; the field of an 802.3 frame with a smaller number is its length.
    pub const FIRST: Self = Self(0x0600);
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// Address Resolution Protocol.
    pub const ARP: Self = Self(0x0806);
    /// A whole Ethernet frame inside GRE or Geneve.
    pub const BRIDGED: Self = Self(0x6558);
    /// A customer VLAN tag, IEEE 802.1Q.
    pub const VLAN: Self = Self(0x8100);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// MPLS unicast (RFC 3032).
    pub const MPLS: Self = Self(0x8847);
    /// MPLS with an upstream-assigned label, once multicast (RFC 5332).
    pub const MPLS_MULTICAST: Self = Self(0x8848);
    /// PPPoE in the session stage (RFC 2516).
    pub const PPPOE_SESSION: Self = Self(0x8864);
    /// A service provider's VLAN tag, IEEE 802.1ad.
    pub const SERVICE_VLAN: Self = Self(0x88a8);
    /// A provider's VLAN tag of devices from before IEEE 802.1ad.
    pub const LEGACY_VLAN: Self = Self(0x9100);
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}
