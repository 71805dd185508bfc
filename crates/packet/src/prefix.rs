//! A network such as `10.1.0.0/16`; a lone address is a prefix of full length.
//!
//! Rule: host bits are zero; text that sets them is rejected rather than corrected.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::ParseError;

/// Network address and length in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// `None` when the length exceeds the address or host bits are set.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let prefix = Self { address, length };
        (length <= prefix.longest() && prefix.network() == address).then_some(prefix)
    }

    /// The address of the network; host bits are zero.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Length of the prefix in bits.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Length of an address of this family in bits: 32 or 128.
    pub const fn longest(self) -> u8 {
        match self.address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        }
    }

    /// Whether the address is in the network; addresses of the other family never are.
    pub fn contains(self, address: IpAddr) -> bool {
        network_contains(self.address, self.length, address)
    }

    /// The address with all host bits cleared.
    fn network(self) -> IpAddr {
        masked(self.address, self.length)
    }
}

/// Whether the first `length` bits of both addresses are equal, and their family.
pub fn network_contains(network: IpAddr, length: u8, address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, length) == masked(address, length)
}

/// The first `length` bits of an address; the others are zero.
pub(super) fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & mask4(length)).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & mask6(length)).into(),
    }
}

/// A mask with the first `length` of 32 bits set.
pub fn mask4(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

/// A mask with the first `length` of 128 bits set.
pub fn mask6(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length == self.longest() {
            true => self.address.fmt(f),
            false => write!(f, "{}/{}", self.address, self.length),
        }
    }
}

impl FromStr for Prefix {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr =
            address.parse().map_err(|_| ParseError::new(text, "no IPv4 or IPv6 address"))?;
        let longest = Self { address, length: 0 }.longest();
        let length = match length {
            None => longest,
            Some(digits) => {
                digits.parse().ok().filter(|length| *length <= longest).ok_or_else(|| {
                    ParseError::new(text, format!("the length is a number up to {longest}"))
                })?
            }
        };
        let network = Self { address, length }.network();
        Self::new(address, length).ok_or_else(|| {
            ParseError::new(text, format!("host bits are set; did you mean {network}/{length}?"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, length, shown) in [
            ("10.1.0.2", 32, "10.1.0.2"),
            ("10.1.0.2/32", 32, "10.1.0.2"),
            ("10.1.0.0/16", 16, "10.1.0.0/16"),
            ("0.0.0.0/0", 0, "0.0.0.0/0"),
            ("2001:db8::/64", 64, "2001:db8::/64"),
            ("::/0", 0, "::/0"),
            ("2001:db8::1", 128, "2001:db8::1"),
        ] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!((prefix.length(), prefix.to_string().as_str()), (length, shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_prefix() {
        for (text, reason) in [
            ("10.1.0.2/24", "10.1.0.0/24?"),
            ("2001:db8::1/64", "2001:db8::/64?"),
            ("10.1.0.0/33", "up to 32"),
            ("::/129", "up to 128"),
            ("10.1.0.0/-1", "up to 32"),
            ("10.1.0", "no IPv4 or IPv6"),
            ("", "no IPv4 or IPv6"),
        ] {
            let error = text.parse::<Prefix>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
    #[test]
    fn networks_contain_their_addresses() {
        for (network, length, ip, inside) in [
            ("10.0.0.0", 8, "10.9.9.9", true),
            ("10.0.0.0", 24, "10.0.0.9", true),
            ("10.0.0.0", 24, "10.0.1.0", false),
            ("10.0.0.0", 24, "10.0.1.9", false),
            ("0.0.0.0", 0, "1.2.3.4", true),
            ("0.0.0.0", 0, "192.0.2.1", true),
            ("0.0.0.0", 0, "::1", false),
            ("10.0.0.1", 32, "10.0.0.1", true),
            ("10.0.0.1", 32, "10.0.0.2", false),
            ("fd00::", 64, "fd00::2", true),
            ("fd00::", 64, "fd00::9", true),
            ("fd00::", 64, "fd00:0:0:1::2", false),
            ("::", 0, "fd00::2", true),
            ("::", 0, "10.0.0.1", false),
        ] {
            let (network, ip) = (network.parse().unwrap(), ip.parse().unwrap());
            assert_eq!(network_contains(network, length, ip), inside, "{network}/{length} {ip}");
            assert_eq!(Prefix::new(network, length).unwrap().contains(ip), inside);
        }
    }
}
