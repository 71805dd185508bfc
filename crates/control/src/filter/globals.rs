//! `Globals`: values of the program's variables that somebody gave by hand.
//!
//! Rule: they are kept in a map beside the program, as lines of `name=value`, so they hold under
//! other rules, in a trial and while somebody watches, until they are given anew. `filter load`
//! begins with none.

use spec::{Map as _, MapDef, MapKind, Spec};

use super::active::ActiveFilter;
use crate::counters::text;
use crate::error::Result;

/// In the order in which they were given, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Globals(Vec<(String, String)>);

impl Globals {
    /// Those of a filter that runs; none for one of an older version.
    pub fn of(active: &ActiveFilter) -> Result<Self> {
        let Ok(map) = active.map(GLOBALS) else { return Ok(Self::default()) };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        Ok(Self::parse(&text(bytes, "the globals that were kept are no text")?))
    }

    fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Others on top of these.
    #[must_use]
    pub fn with(mut self, given: &[(String, String)]) -> Self {
        for (name, value) in given {
            self.0.retain(|(known, _)| known != name);
            self.0.push((name.clone(), value.clone()));
        }
        self
    }

    /// # Errors
    /// The program has no such variable, or it does not take the value.
    pub fn set(&self, spec: &mut Spec) -> Result<()> {
        for (name, value) in &self.0 {
            spec.set_global_text(name, value)?;
        }
        Ok(())
    }

    /// The map that keeps them.
    pub fn keeping(&self) -> MapDef {
        let lines = self.0.iter().map(|(name, value)| format!("{name}={value}\n"));
        // A map has at least one byte.
        let text = lines.collect::<String>() + "\n";
        MapDef {
            name: GLOBALS.to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: text.len() as u32,
            max_entries: 1,
            contents: Some(text.into_bytes()),
            frozen: true,
            ..MapDef::default()
        }
    }
}

const GLOBALS: &str = "filter_globals";

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_kept_is_read_again() {
        for pairs in [&[][..], &[("a", "1")], &[("a", "1=2"), ("b", "{1, 2}")]] {
            let globals = Globals::default().with(&given(pairs));
            let text = String::from_utf8(globals.keeping().contents.unwrap()).unwrap();
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
