//! An address with a prefix length, such as `10.1.2.3/16`; without a length, a lone address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::ParseError;
use super::prefix::{masked, network_contains};

/// An address and the length of its network in bits. Host bits may be set, as in the address of
/// an interface; a [`Prefix`](crate::Prefix) has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct AddressPrefix {
    address: IpAddr,
    length: u8,
}

impl AddressPrefix {
    /// `None` when the length exceeds the address.
    pub const fn new(address: IpAddr, length: u8) -> Option<Self> {
        let prefix = Self { address, length };
        if length <= prefix.longest() { Some(prefix) } else { None }
    }

    /// A lone address: a prefix of full length.
    pub const fn host(address: IpAddr) -> Self {
        let length = if address.is_ipv4() { 32 } else { 128 };
        Self { address, length }
    }

    /// The address, with host bits as they were given.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Length of the prefix in bits.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether the address is IPv4.
    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    const fn longest(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// The network: the same length, with all host bits cleared.
    #[must_use]
    pub fn network(self) -> Self {
        Self { address: masked(self.address, self.length), length: self.length }
    }

    /// Whether the address is in the same network.
    pub fn contains(self, address: IpAddr) -> bool {
        network_contains(self.address, self.length, address)
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for AddressPrefix {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr =
            address.parse().map_err(|_| ParseError::new(text, "no IPv4 or IPv6 address"))?;
        let host = Self::host(address);
        let Some(length) = length else { return Ok(host) };
        let length = length.parse().ok().and_then(|length| Self::new(address, length));
        length.ok_or_else(|| {
            ParseError::new(text, format!("the length is a number up to {}", host.length))
        })
    }
}

impl TryFrom<String> for AddressPrefix {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<AddressPrefix> for String {
    fn from(prefix: AddressPrefix) -> Self {
        prefix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_membership() {
        for (text, shown, network, inside, outside) in [
            ("10.1.2.3/16", "10.1.2.3/16", "10.1.0.0/16", "10.1.255.1", "10.2.0.0"),
            ("0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/0", "255.255.255.255", "::"),
            ("10.1.2.3", "10.1.2.3/32", "10.1.2.3/32", "10.1.2.3", "10.1.2.4"),
            ("fd00::1/64", "fd00::1/64", "fd00::/64", "fd00::ffff", "fd00:0:0:1::"),
            ("::/0", "::/0", "::/0", "ff02::1", "0.0.0.0"),
        ] {
            let prefix: AddressPrefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), shown);
            assert_eq!(prefix.network().to_string(), network);
            assert!(prefix.contains(inside.parse().unwrap()), "{text} has {inside}");
            assert!(!prefix.contains(outside.parse().unwrap()), "{text} has no {outside}");
        }
    }

    #[test]
    fn what_is_no_prefix() {
        for (text, why) in [
            ("10.0.0.0/33", "up to 32"),
            ("::/129", "up to 128"),
            ("x/8", "no IPv4"),
            ("", "no IP"),
        ] {
            assert!(text.parse::<AddressPrefix>().unwrap_err().to_string().contains(why), "{text}");
        }
    }
}
