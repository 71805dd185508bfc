//! `File`: rules, policies and sets as TOML. Reading collects all mistakes.
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
//! Rule: names of rules are unique, and a file that is written reads as an equal file. Comments are
//! not kept. Not here: the text of a rule (`text`), and warnings about valid rules (`lint`).

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

/// Rules, with the sets that they use.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub ruleset: Ruleset,
    pub scope: Scope,
}

impl File {
    /// Reads a file and the files of its sets, whose paths are relative to its folder.
    ///
    /// # Errors
    /// All mistakes, with file and line.
    pub fn read(path: &Path, compile: Compile) -> Result<Self, Errors> {
        let name = path.display().to_string();
        let text =
            list::text(path).map_err(|reason| Error::new(&name, None, reason.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&name, &text, folder, compile)
    }

    /// Reads a text; `name` is used in errors, and paths are relative to `folder`.
    ///
    /// # Errors
    /// All mistakes, with file and line.
    pub fn parse(name: &str, text: &str, folder: &Path, compile: Compile) -> Result<Self, Errors> {
        read::Reader::new(name, text, folder).read(compile)
    }

    /// Inserts a rule before the rule that has number `at` now, or at the end if there are fewer
    /// rules. Returns its number.
    ///
    /// # Errors
    /// The text is not a valid rule, or its name is taken.
    pub fn insert(&mut self, at: usize, text: &str) -> Result<usize, text::Error> {
        let mut rule = Rule::parse(text, &self.scope)?;
        if let Some(other) = self.ruleset.number(&rule.name) {
            if rule.name != rule.derived_name() {
                let reason = format!("rule {} already has this name", other + 1);
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

    /// Removes the rule with this name.
    ///
    /// # Errors
    /// There is none; the error has a similar name, if there is one.
    pub fn remove(&mut self, name: &str) -> Result<Rule, Option<String>> {
        match self.ruleset.number(name) {
            Some(number) => Ok(self.ruleset.rules.remove(number)),
            None => {
                let names = self.ruleset.rules.iter().map(|rule| rule.name.as_str());
                Err(nearest(name, names).map(str::to_owned))
            }
        }
    }

    /// The file as TOML.
    pub fn to_toml(&self) -> String {
        write::file(self)
    }
}

impl Ruleset {
    /// The number of the rule with this name.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.name == name)
    }
}
