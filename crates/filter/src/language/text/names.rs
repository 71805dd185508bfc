//! Names of numbers, with one table per field.
//!
//! A number may have several names, of which the first is written. Names of ports are only read:
//! a port number is as clear, and does not suggest a protocol.

/// Names and their numbers.
pub(crate) type Names = &'static [(&'static str, u16)];

/// The number of a name.
pub(crate) fn number(names: Names, word: &str) -> Option<u16> {
    names.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

/// The name of a number.
pub(super) fn name(names: Names, number: u128) -> Option<&'static str> {
    names.iter().find(|(_, one)| u128::from(*one) == number).map(|(name, _)| *name)
}

/// No names.
pub(super) const NONE: Names = &[];

/// EtherTypes (IANA).
pub(super) const ETHERTYPES: Names = &[
    ("ipv4", 0x0800),
    ("arp", 0x0806),
    ("ipv6", 0x86dd),
    ("lldp", 0x88cc),
    ("mpls", 0x8847),
    ("mpls-multicast", 0x8848),
    ("pppoe-discovery", 0x8863),
    ("pppoe", 0x8864),
    ("eapol", 0x888e),
    ("macsec", 0x88e5),
    ("ptp", 0x88f7),
    ("rarp", 0x8035),
    ("slow", 0x8809),
];

/// IP protocols whose names are tests of their own.
pub(super) const PROTOCOLS: Names = &[
    ("icmp", 1),
    ("igmp", 2),
    ("ipip", 4),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("sit", 41),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", 58),
    ("no-next-header", 59),
    ("eigrp", 88),
    ("ospf", 89),
    ("pim", 103),
    ("vrrp", 112),
    ("sctp", 132),
    ("udplite", 136),
];

/// Ports that are common in rules and floods.
pub(super) const PORTS: Names = &[
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("dns", 53),
    ("domain", 53),
    ("dhcp-server", 67),
    ("dhcp-client", 68),
    ("tftp", 69),
    ("http", 80),
    ("pop3", 110),
    ("portmap", 111),
    ("ntp", 123),
    ("imap", 143),
    ("snmp", 161),
    ("bgp", 179),
    ("ldap", 389),
    ("cldap", 389),
    ("https", 443),
    ("smb", 445),
    ("syslog", 514),
    ("imaps", 993),
    ("pop3s", 995),
    ("chargen", 19),
    ("ssdp", 1900),
    ("mysql", 3306),
    ("rdp", 3389),
    ("postgresql", 5432),
    ("sip", 5060),
    ("mdns", 5353),
    ("memcached", 11211),
    ("wireguard", 51820),
    ("vxlan", 4789),
];

/// DiffServ code points: RFC 2474, 2597, 3246, 5865, 8622.
pub(crate) const DSCP: Names = &[
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// Types of ICMP (IANA), without deprecated ones.
pub(super) const ICMP: Names = &[
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
    ("extended-echo-request", 42),
    ("extended-echo-reply", 43),
];

/// Types of ICMPv6.
pub(super) const ICMPV6: Names = &[
    ("destination-unreachable", 1),
    ("packet-too-big", 2),
    ("time-exceeded", 3),
    ("parameter-problem", 4),
    ("echo-request", 128),
    ("echo-reply", 129),
    ("mld-query", 130),
    ("mld-report", 131),
    ("mld-done", 132),
    ("router-solicitation", 133),
    ("router-advertisement", 134),
    ("neighbor-solicitation", 135),
    ("neighbor-advertisement", 136),
    ("redirect", 137),
    ("mld2-report", 143),
    ("extended-echo-request", 160),
    ("extended-echo-reply", 161),
];

/// Codes of ICMP, with their type in the high byte.
pub(super) const ICMP_CODES: Names = &[
    ("net-unreachable", 0x0300),
    ("host-unreachable", 0x0301),
    ("protocol-unreachable", 0x0302),
    ("port-unreachable", 0x0303),
    ("fragmentation-needed", 0x0304),
    ("net-prohibited", 0x0309),
    ("host-prohibited", 0x030a),
    ("admin-prohibited", 0x030d),
    ("ttl-exceeded", 0x0b00),
    ("reassembly-timeout", 0x0b01),
];

/// Codes of ICMPv6, with their type in the high byte.
pub(super) const ICMPV6_CODES: Names = &[
    ("no-route", 0x0100),
    ("admin-prohibited", 0x0101),
    ("beyond-scope", 0x0102),
    ("address-unreachable", 0x0103),
    ("port-unreachable", 0x0104),
    ("hop-limit-exceeded", 0x0300),
    ("reassembly-timeout", 0x0301),
];

/// Values of `abi::Fragment`.
pub(super) const FRAGMENTS: Names = &[("whole", 0), ("first", 1), ("later", 2)];

/// Bits of the TCP header's flags.
pub(super) const TCP_FLAGS: Names = &[
    ("fin", 0x01),
    ("syn", 0x02),
    ("rst", 0x04),
    ("psh", 0x08),
    ("ack", 0x10),
    ("urg", 0x20),
    ("ece", 0x40),
    ("cwr", 0x80),
];

/// Bits of `abi::Extension`.
pub(super) const EXTENSIONS: Names = &[
    ("hop-by-hop", 0x01),
    ("routing", 0x02),
    ("fragment-header", 0x04),
    ("destination", 0x08),
    ("authentication", 0x10),
];
