//! An address prefix such as `10.1.0.0/16`; a lone address is a prefix of full length.
//!
//! Rule: bits behind the prefix are zero; text that says otherwise is refused rather than guessed.

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
    /// `None` when the length exceeds the address or bits behind it are set.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let prefix = Self { address, length };
        (length <= prefix.longest() && prefix.network() == address).then_some(prefix)
    }

    pub const fn address(self) -> IpAddr {
        self.address
    }

    pub const fn length(self) -> u8 {
        self.length
    }

    pub const fn longest(self) -> u8 {
        match self.address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        }
    }

    /// The address with all bits behind the length cleared.
    fn network(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & mask4(self.length)).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & mask6(self.length)).into()
            }
        }
    }
}

/// The first `length` of 32 bits.
pub fn mask4(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

/// The first `length` of 128 bits.
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
}
