//! `Item`: one thing to check, and how it stands to the paper's.

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
    /// The paper tells nothing of it, or the machine does not.
    Untold {
        advice: Option<String>,
    },
}

impl Item {
    /// As the paper had it.
    pub fn same(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), found: found.into(), standing: Standing::Same }
    }

    /// `change` is what to type, or to do.
    pub fn differs(
        what: impl Into<String>,
        found: impl Into<String>,
        paper: &'static str,
        change: impl Into<String>,
    ) -> Self {
        let standing = Standing::Differs { paper, change: change.into() };
        Self { what: what.into(), found: found.into(), standing }
    }

    pub fn untold(what: impl Into<String>, found: impl Into<String>) -> Self {
        let standing = Standing::Untold { advice: None };
        Self { what: what.into(), found: found.into(), standing }
    }

    /// For what the paper tells nothing of.
    #[must_use]
    pub fn advise(mut self, change: &str) -> Self {
        self.standing = Standing::Untold { advice: Some(change.to_owned()) };
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
            Standing::Untold { advice: Some(change) } => write!(f, "; steadier: {change}"),
            Standing::Untold { advice: None } => Ok(()),
        }
    }
}
