//! Sets of addresses by name, which rules share, and what else the words of a rule may refer to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::classic::Program;
use crate::Addresses;

/// Sets by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets(BTreeMap<String, Set>);

/// One of them; a rule that tests it holds the same `addresses`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub addresses: Arc<Addresses>,
    pub source: Source,
}

/// Where a set's addresses stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Beside the rules: addresses, prefixes, ranges, and other sets as `@name`.
    List(Vec<String>),
    /// One a line.
    File(PathBuf),
}

/// Makes the program of a tcpdump expression, or says why there is none.
pub type Compile = fn(&str) -> Result<Program, String>;

/// What the words of a rule may refer to.
#[derive(Clone, Debug)]
pub struct Scope {
    pub sets: Sets,
    pub compile: Compile,
}

impl Sets {
    /// Adds a set or takes the place of the one of this name.
    pub fn insert(&mut self, name: &str, mut addresses: Addresses, source: Source) {
        addresses.name = Some(name.to_owned());
        self.0.insert(name.to_owned(), Set { addresses: Arc::new(addresses), source });
    }

    /// The same for a set whose addresses are to be written as they are.
    pub fn insert_list(&mut self, name: &str, addresses: Addresses) {
        let source = Source::List(addresses.items().collect());
        self.insert(name, addresses, source);
    }

    pub fn set(&self, name: &str) -> Option<&Set> {
        self.0.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Set)> {
        self.0.iter().map(|(name, set)| (name.as_str(), set))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Names of sets that other sets hold.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let lists = self.0.values().filter_map(|set| match &set.source {
            Source::List(items) => Some(items),
            Source::File(_) => None,
        });
        lists.flatten().filter_map(|item| item.strip_prefix('@'))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Set {
    /// `None` when its addresses stand beside the rules.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::List(_) => None,
        }
    }

    /// Ranges of both families.
    pub fn ranges(&self) -> usize {
        self.addresses.v4.ranges().len() + self.addresses.v6.ranges().len()
    }
}

impl Default for Scope {
    /// No sets, and no expressions.
    fn default() -> Self {
        Self { sets: Sets::default(), compile: |_| Err(NO_EXPRESSIONS.to_owned()) }
    }
}

impl From<Sets> for Scope {
    fn from(sets: Sets) -> Self {
        Self { sets, ..Self::default() }
    }
}

const NO_EXPRESSIONS: &str = "expressions are not understood here";
