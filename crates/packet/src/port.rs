//! Ports of TCP, UDP and the other transport protocols that have them.
//!
//! Rule: text is a decimal number; names of services are not resolved.

use std::fmt;
use std::str::FromStr;

use super::ParseError;

/// A port number, in host byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// VXLAN (RFC 7348), over UDP.
    pub const VXLAN: Self = Self(4789);
    /// VXLAN as Linux sends it by default, over UDP; older than the assigned port.
    pub const LINUX_VXLAN: Self = Self(8472);
    /// Geneve (RFC 8926), over UDP.
    pub const GENEVE: Self = Self(6081);
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Port {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_decimal);
        number.map(Self).ok_or_else(|| ParseError::new(text, EXPECTED))
    }
}

const EXPECTED: &str = "invalid port: expected a number from 0 to 65535";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, number) in [("0", 0), ("53", 53), ("65535", 65535), ("0080", 80)] {
            let port: Port = text.parse().unwrap();
            assert_eq!(port, Port(number), "{text}");
            assert_eq!(port.to_string(), number.to_string());
        }
        for text in ["", "65536", "-1", "+1", "http", "0x35", "5 3"] {
            let error = text.parse::<Port>().unwrap_err();
            assert_eq!(error, ParseError::new(text, EXPECTED));
        }
    }
}
