//! IP protocol numbers, by name and number.

use std::fmt;
use std::str::FromStr;

use super::ParseError;

/// A protocol number of the IPv4 header, or a next header of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: Self = Self(1);
    /// An IPv4 packet inside the packet.
    pub const IN_IPV4: Self = Self(4);
    /// Transmission Control Protocol (RFC 9293).
    pub const TCP: Self = Self(6);
    /// User Datagram Protocol (RFC 768).
    pub const UDP: Self = Self(17);
    /// Datagram Congestion Control Protocol (RFC 4340).
    pub const DCCP: Self = Self(33);
    /// An IPv6 packet inside the packet.
    pub const IN_IPV6: Self = Self(41);
    /// IPv6 routing header.
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header.
    pub const FRAGMENT: Self = Self(44);
    /// Generic Routing Encapsulation (RFC 2784).
    pub const GRE: Self = Self(47);
    /// IPsec Encapsulating Security Payload (RFC 4303).
    pub const ESP: Self = Self(50);
    /// Authentication header.
    pub const AH: Self = Self(51);
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
    /// Nothing follows the header.
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// IPv6 destination options.
    pub const DESTINATION_OPTIONS: Self = Self(60);
    /// An Ethernet frame with a header of two bytes (RFC 3378).
    pub const ETHER_IP: Self = Self(97);
    /// Stream Control Transmission Protocol (RFC 9260).
    pub const SCTP: Self = Self(132);
    /// Mobility header of Mobile IPv6 (RFC 6275).
    pub const MOBILITY: Self = Self(135);
    /// UDP-Lite (RFC 3828).
    pub const UDPLITE: Self = Self(136);
    /// MPLS in IP (RFC 4023).
    pub const MPLS: Self = Self(137);
    /// An Ethernet frame (RFC 8986).
    pub const ETHERNET: Self = Self(143);

    /// Whether the payload begins with source and destination port.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::DCCP | Self::SCTP | Self::UDPLITE)
    }

    /// Whether further headers of an IPv6 packet may follow. A mobility header does not count:
    /// nothing follows it (RFC 6275, section 6.1.1).
    pub const fn is_extension(self) -> bool {
        matches!(
            self,
            Self::HOP_BY_HOP
                | Self::ROUTING
                | Self::FRAGMENT
                | Self::AH
                | Self::DESTINATION_OPTIONS
        )
    }

    /// Offset of the checksum that covers the transport's header and payload.
    pub const fn checksum_offset(self) -> Option<usize> {
        match self {
            Self::ICMP | Self::ICMPV6 => Some(2),
            Self::UDP | Self::UDPLITE => Some(6),
            Self::TCP => Some(16),
            _ => None,
        }
    }

    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, protocol)| *protocol == self).map(|(name, _)| *name)
    }
}

impl fmt::Display for IpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for IpProtocol {
    type Err = ParseError;

    fn from_str(word: &str) -> Result<Self, ParseError> {
        if let Some((_, protocol)) = NAMES.iter().find(|(name, _)| *name == word) {
            return Ok(*protocol);
        }
        let number = word.parse().map_err(|_| ParseError::new(word, EXPECTED))?;
        Ok(Self(number))
    }
}

const EXPECTED: &str =
    "no protocol: tcp, udp, icmp, icmpv6, sctp, dccp, udplite, gre, esp, ah or a number";

const NAMES: &[(&str, IpProtocol)] = &[
    ("icmp", IpProtocol::ICMP),
    ("tcp", IpProtocol::TCP),
    ("udp", IpProtocol::UDP),
    ("dccp", IpProtocol::DCCP),
    ("gre", IpProtocol::GRE),
    ("esp", IpProtocol::ESP),
    ("ah", IpProtocol::AH),
    ("icmpv6", IpProtocol::ICMPV6),
    ("sctp", IpProtocol::SCTP),
    ("udplite", IpProtocol::UDPLITE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (word, number, shown) in
            [("udp", 17, "udp"), ("17", 17, "udp"), ("icmpv6", 58, "icmpv6"), ("89", 89, "89")]
        {
            let protocol: IpProtocol = word.parse().unwrap();
            assert_eq!((protocol.0, protocol.to_string().as_str()), (number, shown), "{word}");
        }
        assert_eq!(format!("{:>5}", IpProtocol::UDP), "  udp");
        for word in ["", "UDP", "256", "-1", "http"] {
            assert!(word.parse::<IpProtocol>().is_err(), "{word}");
        }
    }
}
