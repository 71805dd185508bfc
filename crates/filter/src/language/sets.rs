//! Named sets of addresses, which rules share, and the scope in which a rule is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::classic::Program;
use crate::Addresses;

/// Named sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets(BTreeMap<String, Set>);

/// A named set. Rules that test it share its `addresses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub addresses: Arc<Addresses>,
    pub source: Source,
}

/// The source of a set's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A list in the rule file: addresses, prefixes, ranges, and other sets as `@name`.
    List(Vec<String>),
    /// A file with one address, prefix or range per line.
    File(PathBuf),
}

/// Compiles a tcpdump expression; the error is the message of the compiler.
pub type Compile = fn(&str) -> Result<Program, String>;

/// Everything that the text of a rule may refer to.
#[derive(Clone, Debug)]
pub struct Scope {
    pub sets: Sets,
    pub compile: Compile,
}

impl Sets {
    /// Adds a set, or replaces the one with this name.
    pub fn insert(&mut self, name: &str, mut addresses: Addresses, source: Source) {
        addresses.name = Some(name.to_owned());
        self.0.insert(name.to_owned(), Set { addresses: Arc::new(addresses), source });
    }

    /// Adds a set whose source is the list of its addresses.
    pub fn insert_list(&mut self, name: &str, addresses: Addresses) {
        let source = Source::List(addresses.items().collect());
        self.insert(name, addresses, source);
    }

    /// The set with this name.
    pub fn set(&self, name: &str) -> Option<&Set> {
        self.0.get(name)
    }

    /// All sets with their names, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Set)> {
        self.0.iter().map(|(name, set)| (name.as_str(), set))
    }

    /// The names of all sets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The names of sets that other sets contain.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let lists = self.0.values().filter_map(|set| match &set.source {
            Source::List(items) => Some(items),
            Source::File(_) => None,
        });
        lists.flatten().filter_map(|item| item.strip_prefix('@'))
    }

    /// Whether there is no set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Set {
    /// The file of the addresses; `None` if they are listed in the rule file.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::List(_) => None,
        }
    }

    /// The number of ranges of both families.
    pub fn ranges(&self) -> usize {
        self.addresses.v4.ranges().len() + self.addresses.v6.ranges().len()
    }
}

impl Default for Scope {
    /// A scope without sets, in which expressions are errors.
    fn default() -> Self {
        Self { sets: Sets::default(), compile: |_| Err(NO_EXPRESSIONS.to_owned()) }
    }
}

impl From<Sets> for Scope {
    fn from(sets: Sets) -> Self {
        Self { sets, ..Self::default() }
    }
}

const NO_EXPRESSIONS: &str = "expressions are not supported here";
