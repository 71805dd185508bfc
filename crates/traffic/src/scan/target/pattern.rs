//! `Pattern`: targets as a text describes them.
//!
//! ```text
//! 192.0.2.7                                       an address
//! 192.0.2.10-192.0.2.19                           a range
//! 10.0.0.0/8                                      a network
//! 10.0.0.0/8 subnets /24 hosts 0.0.0.1            the first address of each network
//! 2001:db8::/32 subnets /48 hosts ::1-::ff        low addresses (RFC 7707, 4.1.1)
//! 2001:db8:7::/64 hosts ipv4 192.0.2.0/24         addresses that contain an IPv4 address
//! 2001:db8:7::/64 hosts eui64 00:16:3e            interface identifiers from a vendor's MACs
//! ```

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use packet::{ParseError, Prefix};

use super::range::Range;
use super::{MAPPED, is_ipv4, number};

/// The same hosts in a number of subnets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// The first host of the first subnet.
    pub(super) first: u128,
    /// Number of subnets, less one.
    pub(super) last_subnet: u128,
    /// Bits of an address within a subnet.
    pub(super) shift: u32,
    /// Number of hosts in each subnet, less one.
    pub(super) last_host: u128,
}

impl Pattern {
    /// A pattern of one subnet: a range of addresses.
    fn range(text: &str, range: Range) -> Self {
        let (first, last_host) = (range.first, range.last - range.first);
        Self { text: text.to_owned(), first, last_subnet: 0, shift: 0, last_host }
    }

    /// Whether all of its addresses follow each other.
    pub(super) fn is_range(&self) -> bool {
        self.last_subnet == 0 || self.last_host == (1 << self.shift) - 1
    }

    /// From its first to its last address, with those between its subnets.
    pub(super) fn bounds(&self) -> Range {
        let last = self.first + (self.last_subnet << self.shift) + self.last_host;
        Range { first: self.first, last }
    }

    /// Number of addresses; `None` if there are more than 2^64.
    pub(super) fn len(&self) -> Option<u64> {
        let subnets = self.last_subnet.checked_add(1)?;
        let len = self.last_host.checked_add(1)?.checked_mul(subnets)?;
        u64::try_from(len).ok()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let invalid = |reason: &str| ParseError::new(text, reason);
        let words: Vec<&str> = text.split_whitespace().collect();
        let (network, rest) = words.split_first().ok_or_else(|| invalid(EXPECTED))?;
        if rest.is_empty() {
            return Ok(Self::range(text, range(text, network)?));
        }
        let prefix: Prefix = network.parse()?;
        let (length, rest) = match rest {
            ["subnets", length, rest @ ..] => (subnets(text, prefix, length)?, rest),
            rest => (prefix.length(), rest),
        };
        let hosts = match rest {
            ["hosts", rest @ ..] => hosts(text, prefix, length, rest)?,
            _ => return Err(invalid("expected `subnets /LENGTH`, `hosts HOSTS`, or both")),
        };
        let shift = u32::from(prefix.longest() - length);
        Ok(Self {
            text: text.to_owned(),
            first: number(prefix.address()) | hosts.first,
            last_subnet: (1_u128 << (length - prefix.length())) - 1,
            shift,
            last_host: hosts.last - hosts.first,
        })
    }
}

/// An address, two of them, or a network.
fn range(text: &str, word: &str) -> Result<Range, ParseError> {
    let Some((first, last)) = word.split_once('-') else {
        return Ok(Range::of(word.parse::<Prefix>()?));
    };
    let [first, last] = [first, last].map(|word| word.parse::<Prefix>());
    let (first, last) = (Range::of(first?), Range::of(last?));
    let range = Range { first: first.first, last: last.first };
    let alike = is_ipv4(range.first) == is_ipv4(range.last);
    let single = first.first == first.last && last.first == last.last;
    match alike && single && range.first <= range.last {
        true => Ok(range),
        false => Err(ParseError::new(
            text,
            "a range has two addresses of one family, the lower one first",
        )),
    }
}

/// The length of subnets.
fn subnets(text: &str, prefix: Prefix, word: &str) -> Result<u8, ParseError> {
    let expected = prefix.length()..=prefix.longest();
    let length = word.strip_prefix('/').and_then(|digits| digits.parse().ok());
    let length = length.filter(|length| expected.contains(length));
    // The number of subnets of ::/0 with all lengths would not be a number of 128 bits.
    let length = length.filter(|length| length - prefix.length() < 128);
    length.ok_or_else(|| {
        let (shortest, longest) = (expected.start(), expected.end());
        ParseError::new(text, format!("subnets have a length from /{shortest} to /{longest}"))
    })
}

/// The part of addresses that identifies a host in a subnet.
fn hosts(text: &str, prefix: Prefix, length: u8, words: &[&str]) -> Result<Range, ParseError> {
    let family = prefix.address().is_ipv4();
    let invalid = |reason: String| Err(ParseError::new(text, reason));
    let hosts = match (words, family) {
        (["ipv4", network], false) => match range(text, network)? {
            Range { first, last } if is_ipv4(first) => {
                Range { first: first ^ MAPPED, last: last ^ MAPPED }
            }
            _ => return invalid("`hosts ipv4` is followed by a network of IPv4".to_owned()),
        },
        (["eui64", vendor], false) => eui64(text, vendor)?,
        ([addresses], true) => {
            let Range { first, last } = range(text, addresses)?;
            Range { first: first ^ MAPPED, last: last ^ MAPPED }
        }
        ([addresses], false) => range(text, addresses)?,
        _ => {
            return invalid(
                "hosts are an address, a range, `ipv4 NETWORK` or `eui64 VENDOR`".to_owned(),
            );
        }
    };
    let bits = u32::from(prefix.longest() - length);
    match hosts.last.checked_shr(bits).unwrap_or(0) {
        0 => Ok(hosts),
        _ => invalid(format!("hosts have at most {bits} bits in a subnet of /{length}")),
    }
}

/// Interface identifiers from MAC addresses with a prefix of three bytes (RFC 4291, appendix A).
fn eui64(text: &str, vendor: &str) -> Result<Range, ParseError> {
    let bytes: Option<Vec<u8>> =
        vendor.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let Some([a, b, c]) = bytes.as_deref() else {
        return Err(ParseError::new(text, "a vendor's prefix has three bytes, such as 00:16:3e"));
    };
    let first = u64::from_be_bytes([a ^ 2, *b, *c, 0xff, 0xfe, 0, 0, 0]);
    Ok(Range { first: first.into(), last: (first | 0x00ff_ffff).into() })
}

const EXPECTED: &str = "expected an address, a range or a network";

impl From<IpAddr> for Pattern {
    fn from(address: IpAddr) -> Self {
        Self::range(&address.to_string(), address.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::address;
    use super::*;

    #[test]
    fn texts_and_their_bounds() {
        for (text, first, last, len) in [
            ("192.0.2.7", "192.0.2.7", "192.0.2.7", 1),
            ("192.0.2.10-192.0.2.19", "192.0.2.10", "192.0.2.19", 10),
            ("10.0.0.0/8", "10.0.0.0", "10.255.255.255", 1 << 24),
            ("10.0.0.0/8 subnets /24 hosts 0.0.0.1", "10.0.0.1", "10.255.255.1", 1 << 16),
            ("10.0.0.0/30 hosts 0.0.0.1-0.0.0.2", "10.0.0.1", "10.0.0.2", 2),
            ("2001:db8::/126", "2001:db8::", "2001:db8::3", 4),
            (
                "2001:db8::/32 subnets /48 hosts ::1-::ff",
                "2001:db8::1",
                "2001:db8:ffff::ff",
                255 << 16,
            ),
            (
                "2001:db8:7::/64 hosts ipv4 192.0.2.0/24",
                "2001:db8:7::c000:200",
                "2001:db8:7::c000:2ff",
                256,
            ),
            (
                "2001:db8:7::/64 hosts eui64 00:16:3e",
                "2001:db8:7::216:3eff:fe00:0",
                "2001:db8:7:0:216:3eff:feff:ffff",
                1 << 24,
            ),
        ] {
            let pattern: Pattern = text.parse().unwrap();
            let Range { first: from, last: to } = pattern.bounds();
            assert_eq!(address(from), first.parse::<IpAddr>().unwrap(), "{text}");
            assert_eq!(address(to), last.parse::<IpAddr>().unwrap(), "{text}");
            assert_eq!(pattern.len(), Some(len), "{text}");
            assert_eq!(pattern.to_string(), text);
        }
    }

    #[test]
    fn large_networks() {
        let pattern: Pattern = "2001:db8::/32".parse().unwrap();
        assert_eq!((pattern.len(), pattern.last_host), (None, (1 << 96) - 1));
        let all: Pattern = "::/0".parse().unwrap();
        assert_eq!(all.bounds(), Range { first: 0, last: u128::MAX });
        "::/0 subnets /64 hosts ::1".parse::<Pattern>().unwrap();
    }

    #[test]
    fn what_is_not_a_pattern() {
        for (text, reason) in [
            ("", "expected an address"),
            ("10.0.0.9-10.0.0.1", "the lower one first"),
            ("10.0.0.1-::9", "of one family"),
            ("10.0.0.0/8-10.0.0.9", "two addresses"),
            ("10.0.0.1/8", "did you mean 10.0.0.0/8?"),
            ("10.0.0.0/8 subnets /4 hosts 0.0.0.1", "from /8 to /32"),
            ("10.0.0.0/8 subnets 24 hosts 0.0.0.1", "from /8 to /32"),
            ("::/0 subnets /128 hosts ::", "from /0 to /128"),
            ("10.0.0.0/8 subnets /24", "`hosts HOSTS`"),
            ("10.0.0.0/8 hosts", "hosts are an address"),
            ("10.0.0.0/8 subnets /24 hosts 0.0.1.0", "at most 8 bits"),
            ("10.0.0.0/8 hosts ipv4 10.0.0.0/8", "hosts are an address"),
            ("2001:db8::/64 hosts ipv4 ::1", "a network of IPv4"),
            ("2001:db8::/64 hosts eui64 00:16", "three bytes"),
            ("2001:db8::/120 hosts eui64 00:16:3e", "at most 8 bits"),
            ("10.0.0.0/8 twice", "`hosts HOSTS`"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
