//! `Ports`: a range of ports, such as `53` or `1024..2047`.

use std::fmt;
use std::str::FromStr;

use packet::ParseError;

/// A range of ports, including the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// A range; `None` if the last port is less than the first.
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The first port.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last port.
    pub const fn last(self) -> u16 {
        self.last
    }
}

impl From<u16> for Ports {
    fn from(port: u16) -> Self {
        Self { first: port, last: port }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        write!(f, "{}..{}", self.first, self.last)
    }
}

impl FromStr for Ports {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let port = |word: &str| {
            let wrong = || {
                ParseError::new(text, "not a port; expected a number up to 65535, or FIRST..LAST")
            };
            word.parse().map_err(|_| wrong())
        };
        Self::new(port(first)?, port(last)?)
            .ok_or_else(|| ParseError::new(text, "the range ends below its first port"))
    }
}
