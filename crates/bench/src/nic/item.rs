//! `Item`: one setting of a card, compared with the paper's.

use std::fmt;

/// Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    what: String,
    found: String,
    standing: Standing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    Same,
    Differs {
        paper: &'static str,
        change: String,
    },
    /// The paper does not state it, or the machine does not report it.
    Unknown {
        advice: Option<String>,
    },
}

impl Item {
    /// The setting is the paper's.
    pub fn same(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), found: found.into(), standing: Standing::Same }
    }

    /// The setting differs; `change` is the command or action that changes it.
    pub fn differs(
        what: impl Into<String>,
        found: impl Into<String>,
        paper: &'static str,
        change: impl Into<String>,
    ) -> Self {
        let standing = Standing::Differs { paper, change: change.into() };
        Self { what: what.into(), found: found.into(), standing }
    }

    /// An item whose setting could not be read.
    pub fn unknown(what: impl Into<String>, found: impl Into<String>) -> Self {
        let standing = Standing::Unknown { advice: None };
        Self { what: what.into(), found: found.into(), standing }
    }

    /// A setting that the paper does not state.
    #[must_use]
    pub fn advise(mut self, change: &str) -> Self {
        self.standing = Standing::Unknown { advice: Some(change.to_owned()) };
        self
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, standing } = self;
        write!(f, "{what}: {found}")?;
        match standing {
            Standing::Same => f.write_str("; as the paper had it"),
            Standing::Differs { paper, change } => {
                write!(f, "; differs, the paper had {paper}: {change}")
            }
            Standing::Unknown { advice: Some(change) } => write!(f, "; steadier: {change}"),
            Standing::Unknown { advice: None } => Ok(()),
        }
    }
}
