//! An address with a length, such as `10.1.0.0/16` or `fd00::1/64`; without one, a lone address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Address and length in bits. Bits behind the length may be set: an interface's address has
/// them, a network has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// `None` when the length exceeds the address.
    pub const fn new(address: IpAddr, length: u8) -> Option<Self> {
        let prefix = Self { address, length };
        if length <= prefix.longest() { Some(prefix) } else { None }
    }

    /// The address alone, in full length.
    pub const fn host(address: IpAddr) -> Self {
        let length = if address.is_ipv4() { 32 } else { 128 };
        Self { address, length }
    }

    pub const fn address(self) -> IpAddr {
        self.address
    }

    pub const fn length(self) -> u8 {
        self.length
    }

    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    const fn longest(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// With all bits behind the length cleared.
    #[must_use]
    pub fn network(self) -> Self {
        Self { address: cut(self.address, self.length), length: self.length }
    }

    pub fn contains(self, address: IpAddr) -> bool {
        self.is_ipv4() == address.is_ipv4()
            && cut(address, self.length) == cut(self.address, self.length)
    }
}

/// The first `length` bits of an address.
fn cut(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr =
            address.parse().map_err(|_| format!("`{text}` is no IPv4 or IPv6 address"))?;
        let host = Self::host(address);
        let Some(length) = length else { return Ok(host) };
        let length = length.parse().ok().and_then(|length| Self::new(address, length));
        length.ok_or_else(|| format!("`{text}`: the length is a number up to {}", host.length))
    }
}

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Prefix> for String {
    fn from(prefix: Prefix) -> Self {
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
            let prefix: Prefix = text.parse().unwrap();
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
            assert!(text.parse::<Prefix>().unwrap_err().contains(why), "{text}");
        }
    }
}
