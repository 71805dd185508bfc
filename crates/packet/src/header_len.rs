//! Lengths of headers in bytes, without options.

/// Ethernet, without VLAN tags.
pub const ETHERNET: usize = 14;
/// One VLAN tag.
pub const VLAN: usize = 4;
/// IPv4.
pub const IPV4: usize = 20;
/// IPv6, without extension headers.
pub const IPV6: usize = 40;
/// TCP.
pub const TCP: usize = 20;
/// UDP.
pub const UDP: usize = 8;
/// An ICMP or ICMPv6 message of any type, before its data.
pub const ICMP: usize = 8;
