//! `Error`: what cannot be imported or exported, where it is, and why.

pub mod flowspec;
pub mod iptables;
pub mod nft;

use std::fmt;

/// A rule or statement that cannot be imported or exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Its location, such as `chain ingress, rule 3` or `line 7`; empty for the whole text.
    pub place: String,
    /// The statement in the language of the other tool; may be empty.
    pub statement: String,
    /// Why it cannot be imported or exported.
    pub cause: Cause,
}

/// Why rules cannot be imported or exported, by format and direction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum Cause {
    /// From nftables.
    NftImport(#[from] nft::ImportError),
    /// To nftables.
    NftExport(#[from] nft::ExportError),
    /// From iptables.
    IptablesImport(#[from] iptables::ImportError),
    /// From BGP FlowSpec.
    FlowspecImport(#[from] flowspec::ImportError),
    /// To BGP FlowSpec.
    FlowspecExport(#[from] flowspec::ExportError),
}

/// The tests exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no packet can match this")]
pub struct NoMatch;

impl Error {
    /// An error at a location, without a statement.
    pub(super) fn new(place: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self { place: place.into(), statement: String::new(), cause: cause.into() }
    }

    /// The error with the statement that it is about.
    pub(super) fn about(mut self, statement: impl fmt::Display) -> Self {
        self.statement = statement.to_string();
        self
    }
}

impl From<nft::ImportError> for Error {
    fn from(cause: nft::ImportError) -> Self {
        Self::new("", cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        if !self.statement.is_empty() {
            write!(f, "`{}`: ", self.statement)?;
        }
        self.cause.fmt(f)
    }
}

impl std::error::Error for Error {}
