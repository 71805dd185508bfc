//! Names of numbers that nft prints, where they differ from those of the rule language.

pub(crate) use crate::language::text::names::{DSCP, Names, number};

/// IP protocols.
pub(crate) const PROTOCOLS: Names = &[
    ("icmp", 1),
    ("igmp", 2),
    ("ipencap", 4),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("ipv6", 41),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("ipv6-icmp", 58),
    ("icmpv6", 58),
    ("ospf", 89),
    ("comp", 108),
    ("vrrp", 112),
    ("sctp", 132),
    ("udplite", 136),
];

/// EtherTypes of `meta protocol` and `ether type`.
pub(super) const ETHER_TYPES: Names = &[
    ("ip", 0x0800),
    ("arp", 0x0806),
    ("ip6", 0x86dd),
    ("8021q", 0x8100),
    ("8021ad", 0x88a8),
    ("vlan", 0x8100),
];

/// EtherTypes of the families of `meta nfproto`.
pub(super) const FAMILIES: Names = &[("ipv4", 0x0800), ("ipv6", 0x86dd)];

/// Bits of the TCP flags.
pub(crate) const TCP_FLAGS: Names = &[
    ("fin", 0x01),
    ("syn", 0x02),
    ("rst", 0x04),
    ("psh", 0x08),
    ("ack", 0x10),
    ("urg", 0x20),
    ("ecn", 0x40),
    ("cwr", 0x80),
];

/// Types of ICMP.
pub(crate) const ICMP_TYPES: Names = &[
    ("echo-reply", 0),
    ("destination-unreachable", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("router-advertisement", 9),
    ("router-solicitation", 10),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
    ("timestamp-request", 13),
    ("timestamp-reply", 14),
    ("info-request", 15),
    ("info-reply", 16),
    ("address-mask-request", 17),
    ("address-mask-reply", 18),
];

/// Codes of ICMP.
pub(super) const ICMP_CODES: Names = &[
    ("net-unreachable", 0),
    ("host-unreachable", 1),
    ("prot-unreachable", 2),
    ("port-unreachable", 3),
    ("frag-needed", 4),
    ("net-prohibited", 9),
    ("host-prohibited", 10),
    ("admin-prohibited", 13),
];

/// Types of ICMPv6.
pub(crate) const ICMPV6_TYPES: Names = &[
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-listener-query", 130),
    ("mld-listener-report", 131),
    ("mld-listener-done", 132),
    ("mld-listener-reduction", 132),
    ("nd-router-solicit", 133),
    ("nd-router-advert", 134),
    ("nd-neighbor-solicit", 135),
    ("nd-neighbor-advert", 136),
    ("nd-redirect", 137),
    ("router-renumbering", 138),
    ("ind-neighbor-solicit", 141),
    ("ind-neighbor-advert", 142),
    ("mld2-listener-report", 143),
];

/// Codes of ICMPv6.
pub(super) const ICMPV6_CODES: Names = &[
    ("no-route", 0),
    ("admin-prohibited", 1),
    ("addr-unreachable", 3),
    ("port-unreachable", 4),
    ("policy-fail", 5),
    ("reject-route", 6),
];
