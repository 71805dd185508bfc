//! A hardware address, written `02:00:00:00:00:01`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Six bytes in the order they are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no hardware address: six bytes like 02:00:00:00:00:01");
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| (1..=2).contains(&part.len()));
            let digits = part.filter(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let value = digits.and_then(|part| u8::from_str_radix(part, 16).ok());
            *byte = value.ok_or_else(wrong)?;
        }
        if parts.next().is_none() { Ok(Self(bytes)) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for Mac {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        let mac: Mac = "2:aB:0:00:ff:1".parse().unwrap();
        assert_eq!(mac, Mac([2, 0xab, 0, 0, 0xff, 1]));
        assert_eq!(mac.to_string(), "02:ab:00:00:ff:01");
        for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "+2:0:0:0:0:0", "123:0:0:0:0:0"]
        {
            assert!(wrong.parse::<Mac>().unwrap_err().contains("six bytes"), "{wrong}");
        }
    }
}
