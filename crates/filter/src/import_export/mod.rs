//! Rules in the words of other tools, imported and exported: nftables and BGP FlowSpec.
//!
//! Rule: what is imported decides as the other tool would. A statement that cannot be expressed
//! here is an error that names it; none is left out silently. Nothing else in this crate depends
//! on this module. Not here: running those tools, and this crate's own text (`language::text`).

mod conjunction;
pub mod flowspec;
pub mod nft;
mod remarks;

use std::fmt;

use super::{File, Ruleset, Test};

/// What cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where it stands, such as `chain ingress, rule 3` or `line 7`; empty for the whole.
    pub place: String,
    /// In the words of the other tool; may be empty.
    pub statement: String,
    pub reason: String,
}

/// The file that says rules which were read, with the sets that they share.
pub fn file(ruleset: Ruleset) -> File {
    let mut file = File::default();
    for test in ruleset.rules.iter().flat_map(|rule| &rule.tests) {
        if let Test::Address { addresses, .. } = test
            && let Some(name) = &addresses.name
            && file.scope.sets.set(name).is_none()
        {
            file.scope.sets.insert_list(name, (**addresses).clone());
        }
    }
    file.ruleset = ruleset;
    file
}

impl Error {
    pub(crate) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), statement: String::new(), reason: reason.into() }
    }

    fn of(mut self, statement: impl fmt::Display) -> Self {
        self.statement = statement.to_string();
        self
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
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Error {}
