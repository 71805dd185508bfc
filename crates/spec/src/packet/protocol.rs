//! IP protocol numbers by name.

use std::fmt;
use std::str::FromStr;

use super::ParseError;

/// A protocol number of the IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    pub const ICMP: Self = Self(1);
    pub const TCP: Self = Self(6);
    pub const UDP: Self = Self(17);
    pub const DCCP: Self = Self(33);
    pub const ICMPV6: Self = Self(58);
    pub const SCTP: Self = Self(132);
    pub const UDPLITE: Self = Self(136);

    /// Packets begin with source and destination port.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::DCCP | Self::SCTP | Self::UDPLITE)
    }

    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, protocol)| *protocol == self).map(|(name, _)| *name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Protocol {
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

const NAMES: &[(&str, Protocol)] = &[
    ("icmp", Protocol::ICMP),
    ("tcp", Protocol::TCP),
    ("udp", Protocol::UDP),
    ("dccp", Protocol::DCCP),
    ("gre", Protocol(47)),
    ("esp", Protocol(50)),
    ("ah", Protocol(51)),
    ("icmpv6", Protocol::ICMPV6),
    ("sctp", Protocol::SCTP),
    ("udplite", Protocol::UDPLITE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (word, number, shown) in
            [("udp", 17, "udp"), ("17", 17, "udp"), ("icmpv6", 58, "icmpv6"), ("89", 89, "89")]
        {
            let protocol: Protocol = word.parse().unwrap();
            assert_eq!((protocol.0, protocol.to_string().as_str()), (number, shown), "{word}");
        }
        for word in ["", "UDP", "256", "-1", "http"] {
            assert!(word.parse::<Protocol>().is_err(), "{word}");
        }
    }
}
