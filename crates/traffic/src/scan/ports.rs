//! `Ports`: the ports of each address.

use std::fmt;
use std::str::FromStr;

use packet::ParseError;

/// Ports in ascending order, each once; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<u16>);

impl Ports {
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }
}

impl From<Ports> for Vec<u16> {
    fn from(ports: Ports) -> Self {
        ports.0
    }
}

impl FromStr for Ports {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let invalid =
            || ParseError::new(text, "expected ports and ranges, such as 22,80,8000-8099");
        let mut ports = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [first, last].map(|port| port.trim().parse::<u16>().ok());
            let (first, last) = first.zip(last).ok_or_else(invalid)?;
            if first > last {
                return Err(invalid());
            }
            ports.extend(first..=last);
        }
        ports.sort_unstable();
        ports.dedup();
        Ok(Self(ports))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let (first, last) = (run[0], run[run.len() - 1]);
            match run.len() {
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, shown, count) in [
            ("80", "80", 1),
            ("443,80,80", "80,443", 2),
            ("22, 8000-8099", "22,8000-8099", 101),
            ("0-65535", "0-65535", 65_536),
            ("1,2,3,5", "1-3,5", 4),
        ] {
            let ports: Ports = text.parse().unwrap();
            assert_eq!((ports.to_string().as_str(), ports.as_slice().len()), (shown, count));
        }
        for text in ["", "80,", "90-80", "65536", "http", "1-2-3"] {
            let error = text.parse::<Ports>().unwrap_err().to_string();
            assert!(error.contains("such as 22,80,8000-8099"), "{text}: {error}");
        }
    }
}
