//! The check of packets' sources against the routes back to them.

use std::fmt;
use std::str::FromStr;

use packet::ParseError;
use serde::{Deserialize, Serialize};
use spec::Spec;

use super::abi;

/// What the route to the source of a packet must be (RFC 3704). Packets without it are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReversePath {
    /// Anything: sources are not looked up.
    #[default]
    Off,
    /// A route to a next hop, through any interface.
    Loose,
    /// A route through the interface that the packet came in from.
    Strict,
}

impl ReversePath {
    /// As the option spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Loose => "loose",
            Self::Strict => "strict",
        }
    }

    pub(super) fn apply(self, spec: &mut Spec) -> Result<(), spec::Error> {
        let value = match self {
            Self::Off => abi::ReversePath::Off,
            Self::Loose => abi::ReversePath::Loose,
            Self::Strict => abi::ReversePath::Strict,
        };
        spec.set_global("route_reverse_path", &(value as u32).to_le_bytes())
    }
}

impl fmt::Display for ReversePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ReversePath {
    type Err = ParseError;

    fn from_str(word: &str) -> Result<Self, ParseError> {
        let all = [Self::Off, Self::Loose, Self::Strict];
        let found = all.into_iter().find(|one| one.name() == word);
        found.ok_or_else(|| ParseError::new(word, "none of `off`, `loose`, `strict`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for word in ["off", "loose", "strict"] {
            let mode: ReversePath = word.parse().unwrap();
            assert_eq!(mode.to_string(), word);
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{word}\""));
        }
        assert!("on".parse::<ReversePath>().is_err());
    }
}
