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
    /// Starts with an IPv4 or IPv6 header; the number of BSD, which some writers store.
    pub const RAW_BSD: Self = Self(12);
    /// Starts with an IPv4 or IPv6 header; the number of OpenBSD, which some writers store.
    pub const RAW_OPENBSD: Self = Self(14);
    /// Starts with an IPv4 or IPv6 header.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: a 4-byte protocol family in network byte order before the packet.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Bare IPv4 packets.
    pub const IPV4: Self = Self(228);
    /// Bare IPv6 packets.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// Name of the type; `None` for one that is not common.
    pub fn name(self) -> Option<&'static str> {
        let known = NAMES.iter().find(|(number, _)| *number == self.0);
        known.map(|(_, name)| *name)
    }

    /// How to get a capture of Ethernet frames instead of one of this type.
    pub fn remedy(self) -> &'static str {
        if WIRELESS.contains(&self.0) {
            "capture without monitor mode, which gives Ethernet frames"
        } else if POINT_TO_POINT.contains(&self.0) {
            "capture with `tcpdump -i any`, which gives Linux cooked packets"
        } else {
            "capture on an Ethernet interface"
        }
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// Names of common types.
const NAMES: &[(u16, &str)] = &[
    (0, "BSD loopback"),
    (1, "Ethernet"),
    (6, "Token Ring"),
    (9, "PPP"),
    (10, "FDDI"),
    (12, "raw IP"),
    (14, "raw IP"),
    (50, "PPP over HDLC"),
    (51, "PPPoE"),
    (101, "raw IP"),
    (104, "Cisco HDLC"),
    (105, "802.11"),
    (107, "frame relay"),
    (108, "OpenBSD loopback"),
    (113, "Linux cooked v1"),
    (117, "OpenBSD packet filter log"),
    (119, "802.11 with Prism header"),
    (127, "802.11 with radiotap header"),
    (163, "802.11 with AVS header"),
    (166, "PPP with direction"),
    (187, "Bluetooth HCI H4"),
    (189, "USB, Linux header"),
    (192, "per-packet information"),
    (195, "802.15.4"),
    (201, "Bluetooth HCI H4 with direction"),
    (204, "PPP with direction"),
    (220, "USB, Linux header with padding"),
    (227, "SocketCAN"),
    (228, "raw IPv4"),
    (229, "raw IPv6"),
    (230, "802.15.4 without check sequence"),
    (239, "netfilter log"),
    (249, "USBPcap"),
    (251, "Bluetooth Low Energy"),
    (253, "netlink"),
    (276, "Linux cooked v2"),
];
/// Types of wireless networks, whose interfaces also give Ethernet frames.
const WIRELESS: [u16; 5] = [105, 119, 127, 163, 192];
const POINT_TO_POINT: [u16; 6] = [9, 50, 51, 104, 166, 204];
