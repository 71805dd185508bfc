//! Where packets were captured: the interface's name and what its packets start with.

use std::fmt;

/// What packets start with: a number of the registry at <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// An interface of a capture. A pcap file has exactly one, without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface, if the file states one.
    pub name: Option<String>,
    /// Type of the link-layer header of its packets.
    pub link_type: LinkType,
    /// Bytes kept of each packet; 0 when all are.
    pub snaplen: u32,
    /// Which section of a pcapng file describes it, from 0. Sections that were appended to each
    /// other describe the same interface again.
    pub section: usize,
}

impl LinkType {
    /// BSD loopback: a 4-byte protocol family before the packet.
    pub const NULL: Self = Self(0);
    /// Ethernet without frame check sequence.
    pub const ETHERNET: Self = Self(1);
    /// Starts with an IPv4 or IPv6 header.
    pub const RAW: Self = Self(101);
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Bare IPv4 packets.
    pub const IPV4: Self = Self(228);
    /// Bare IPv6 packets.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::RAW => "raw IP",
            Self::LINUX_SLL => "Linux cooked v1",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            Self::LINUX_SLL2 => "Linux cooked v2",
            Self(number) => return write!(f, "link type {number}"),
        };
        write!(f, "{name} ({})", self.0)
    }
}
