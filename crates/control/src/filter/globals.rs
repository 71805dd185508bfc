//! `Globals`: values of the program's global variables that the operator set.
//!
//! Rule: they are stored in a map beside the program, as lines of `name=value`, so they persist
//! across changes of rules, trials and sampling until they are set again. `filter load` begins
//! without any.

use kernel::Map;
use spec::{Map as _, MapDef, Spec};

use crate::error::Result;
use crate::map_names::FILTER_GLOBALS;
use crate::text_map::{text, text_map};

/// Names and values in the order in which they were set, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Globals(Vec<(String, String)>);

impl Globals {
    /// Reads the map that stores them.
    pub fn read(map: &Map) -> Result<Self> {
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        Ok(Self::parse(&text(bytes, "the stored globals")?))
    }

    fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// These values, replaced and extended by others.
    #[must_use]
    pub fn with(mut self, given: &[(String, String)]) -> Self {
        for (name, value) in given {
            self.0.retain(|(known, _)| known != name);
            self.0.push((name.clone(), value.clone()));
        }
        self
    }

    /// Sets the variables of a program.
    ///
    /// # Errors
    /// The program has no such variable, or the value is invalid for it.
    pub fn set(&self, spec: &mut Spec) -> Result<()> {
        for (name, value) in &self.0 {
            spec.set_global_text(name, value)?;
        }
        Ok(())
    }

    /// One line `name=value` for each.
    pub fn lines(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// Whether the same variables have the same values, in any order.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().all(|pair| other.0.contains(pair))
    }

    /// Names and values.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// The map that stores them.
    pub fn map(&self) -> MapDef {
        // The last line break keeps the map from being empty, which the kernel refuses.
        text_map(FILTER_GLOBALS, &(self.lines() + "\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn stored_values_are_read_again() {
        for pairs in [&[][..], &[("a", "1")], &[("a", "1=2"), ("b", "{1, 2}")]] {
            let globals = Globals::default().with(&given(pairs));
            let text = String::from_utf8(globals.map().contents.unwrap()).unwrap();
            assert_eq!(Globals::parse(&text), globals, "{text}");
        }
    }

    #[test]
    fn the_last_value_of_a_name_counts() {
        let globals = Globals::default().with(&given(&[("a", "1"), ("b", "2")]));
        let globals = globals.with(&given(&[("a", "3")]));
        assert_eq!(globals.0, given(&[("b", "2"), ("a", "3")]));
    }
}
