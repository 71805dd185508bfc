//! `Ports`: the ports of a service.

use std::fmt;
use std::str::FromStr;

use packet::ParseError;
use serde::{Deserialize, Serialize};

/// Ports of a service. As text: `any`, `80` or `8000-8100`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PortsText", into = "PortsText")]
pub enum Ports {
    #[default]
    Any,
    /// The first and the last one.
    Range(u16, u16),
}

/// A port as a number, or as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum PortsText {
    Number(u16),
    Text(String),
}

impl FromStr for Ports {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "any" {
            return Ok(Self::Any);
        }
        let number = |part: &str| {
            let wrong = || ParseError::new(text, "neither `any`, a port, nor two as in `80-90`");
            part.trim().parse::<u16>().map_err(|_| wrong())
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(ParseError::new(text, "the first port is above the last one"));
        }
        Ok(Self::Range(first, last))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.pad("any"),
            Self::Range(first, last) if first == last => write!(f, "{first}"),
            Self::Range(first, last) => write!(f, "{first}-{last}"),
        }
    }
}

impl TryFrom<PortsText> for Ports {
    type Error = ParseError;

    fn try_from(text: PortsText) -> Result<Self, ParseError> {
        match text {
            PortsText::Number(port) => Ok(Self::Range(port, port)),
            PortsText::Text(text) => text.parse(),
        }
    }
}

impl From<Ports> for PortsText {
    fn from(ports: Ports) -> Self {
        match ports {
            Ports::Range(first, last) if first == last => Self::Number(first),
            other => Self::Text(other.to_string()),
        }
    }
}
