//! What a program does with packets that it cannot judge: a policy that the user declares.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use spec::Verdict;

use packet::ParseError;

/// Hand to the stack, or discard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PassOrDrop {
    #[default]
    Pass,
    Drop,
}

impl PassOrDrop {
    /// The XDP verdict.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Pass => Verdict::Pass,
            Self::Drop => Verdict::Drop,
        }
    }

    /// As the programs' globals hold it: a 32-bit verdict.
    pub fn to_global(self) -> [u8; 4] {
        (self.verdict() as u32).to_le_bytes()
    }
}

impl fmt::Display for PassOrDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.verdict().name())
    }
}

impl FromStr for PassOrDrop {
    type Err = ParseError;

    fn from_str(word: &str) -> Result<Self, ParseError> {
        match word {
            "pass" => Ok(Self::Pass),
            "drop" => Ok(Self::Drop),
            _ => Err(ParseError::new(word, "neither `pass` nor `drop`")),
        }
    }
}
