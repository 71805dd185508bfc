//! A hardware address of six bytes.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let parsed: Option<Vec<u8>> = parts
            .iter()
            .map(|part| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok()).flatten())
            .collect();
        parsed
            .and_then(|bytes| Self::from_slice(&bytes))
            .ok_or_else(|| format!("`{text}` is no MAC address such as 02:00:00:00:00:01"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let mac: Mac = "02:00:5e:10:00:ff".parse().unwrap();
        assert_eq!(mac, Mac([2, 0, 0x5e, 0x10, 0, 0xff]));
        assert_eq!(mac.to_string(), "02:00:5e:10:00:ff");
        for wrong in ["", "02:00:5e:10:00", "2:0:5e:10:0:ff", "02:00:5e:10:00:ff:01", "+2:00::::"] {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }
}
