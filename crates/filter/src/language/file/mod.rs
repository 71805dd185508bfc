//! `File`: rules, policies and sets as TOML, read with all that is wrong in it, and written.
//!
//! ```toml
//! default = "pass"
//! rules = ["drop from @bad", "limit 1000pps per source udp dport 53"]
//! [policy]
//! options = "drop"
//! [sets]
//! bad = { file = "bad.txt" }
//! office = ["10.0.0.0/8", "2001:db8::/32"]
//! ```
//!
//! Rule: names of rules are unique, and what is written reads as an equal file. Comments are not
//! kept. Not here: the words of a rule (`text`), and what may be a mistake in spite of being
//! right (`lint`).

mod error;
mod lines;
mod list;
mod lists;
mod names;
mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use self::error::{Error, Errors};
pub use self::list::parse_list;
use super::text::{self, nearest};
use crate::language::names::Unique;
use crate::{Compile, Rule, Ruleset, Scope};

/// Rules with what they refer to.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub ruleset: Ruleset,
    pub scope: Scope,
}

impl File {
    /// Reads a file, and the files of its sets, whose paths count from its folder.
    ///
    /// # Errors
    /// Everything that is wrong, each with file and line.
    pub fn read(path: &Path, compile: Compile) -> Result<Self, Errors> {
        let name = path.display().to_string();
        let text = list::text(path).map_err(|reason| Error::new(&name, None, reason))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&name, &text, folder, compile)
    }

    /// Reads text; `name` stands in errors, and paths count from `folder`.
    ///
    /// # Errors
    /// Everything that is wrong, each with file and line.
    pub fn parse(name: &str, text: &str, folder: &Path, compile: Compile) -> Result<Self, Errors> {
        read::Reader::new(name, text, folder).read(compile)
    }

    /// Adds a rule as text in front of the rule that has number `at` now; behind the last one when
    /// there are fewer. Returns its number.
    ///
    /// # Errors
    /// It is no rule, or its name is taken.
    pub fn insert(&mut self, at: usize, text: &str) -> Result<usize, text::Error> {
        let mut rule = Rule::parse(text, &self.scope)?;
        if let Some(other) = self.ruleset.number(&rule.name) {
            if rule.name != rule.derived_name() {
                let reason = format!("rule {} has this name already", other + 1);
                return Err(text::Error { word: Some(rule.name), at: 0, reason, hint: None });
            }
            let mut names = Unique::default();
            self.ruleset.rules.iter().for_each(|rule| _ = names.take(&rule.name));
            rule.name = names.free(&rule.name, '-');
        }
        let at = at.min(self.ruleset.rules.len());
        self.ruleset.rules.insert(at, rule);
        Ok(at)
    }

    /// Takes out the rule of this name; `Err` has the name that was perhaps meant.
    pub fn remove(&mut self, name: &str) -> Result<Rule, Option<String>> {
        match self.ruleset.number(name) {
            Some(number) => Ok(self.ruleset.rules.remove(number)),
            None => {
                let names = self.ruleset.rules.iter().map(|rule| rule.name.as_str());
                Err(nearest(name, names).map(str::to_owned))
            }
        }
    }

    /// The whole as TOML.
    pub fn to_toml(&self) -> String {
        write::file(self)
    }
}

impl Ruleset {
    /// The number of the rule of this name.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.name == name)
    }
}
