//! An Ethernet address of six bytes.
//!
//! Rule: text is what iproute2 accepts: six parts of one or two hexadecimal digits of either case,
//! separated by colons. It is printed with two lowercase digits each.

use std::fmt;
use std::str::FromStr;

use super::ParseError;

/// Six bytes in the order in which they are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The broadcast address, `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// `None` unless there are exactly six bytes, as an Ethernet-like device has.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        f.pad(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"))
    }
}

impl FromStr for Mac {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(text, EXPECTED);
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts.next().and_then(octet).ok_or_else(wrong)?;
        }
        if parts.next().is_none() { Ok(Self(bytes)) } else { Err(wrong()) }
    }
}

fn octet(part: &str) -> Option<u8> {
    let is_octet =
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_octet.then(|| u8::from_str_radix(part, 16).ok()).flatten()
}

impl TryFrom<String> for Mac {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

const EXPECTED: &str = "invalid MAC address: expected six bytes such as 02:00:00:00:00:01";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, bytes, shown) in [
            ("02:00:5e:10:00:ff", [2, 0, 0x5e, 0x10, 0, 0xff], "02:00:5e:10:00:ff"),
            ("2:aB:0:00:ff:1", [2, 0xab, 0, 0, 0xff, 1], "02:ab:00:00:ff:01"),
            ("FF:FF:FF:FF:FF:FF", [0xff; 6], "ff:ff:ff:ff:ff:ff"),
        ] {
            let mac: Mac = text.parse().unwrap();
            assert_eq!((mac, mac.to_string().as_str()), (Mac(bytes), shown), "{text}");
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        for wrong in [
            "",
            "02:00:5e:10:00",
            "02:00:00:00:00:01:02",
            "02-00-5e-10-00-ff",
            "02005e1000ff",
            "+2:0:0:0:0:0",
            "+2:00::::",
            "123:0:0:0:0:0",
            "02:00:5e:10:00:0g",
        ] {
            let error = wrong.parse::<Mac>().unwrap_err().to_string();
            assert!(error.contains("six bytes"), "{wrong}: {error}");
        }
    }
}
