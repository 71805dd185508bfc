//! Edits of the active rules. The result is a rule file, which [`Update::apply`] loads.

use filter::File;

use super::source;
use super::update::Update;
use crate::error::{Error, Result};

impl Update {
    /// The active rules, or none if no filter runs, with one more rule: before the rule of the
    /// given name, or after all others.
    ///
    /// # Errors
    /// The text is not a rule, its name is in use, or there is no rule of the given name.
    pub fn with_rule(&self, rule: &str, before: Option<&str>) -> Result<File> {
        let mut file = self.rules()?.unwrap_or_default();
        file.scope.compile = source::expression;
        let position = match before {
            Some(name) => file.ruleset.number(name).ok_or_else(|| no_rule(&file, name))?,
            None => usize::MAX,
        };
        file.insert(position, rule)?;
        Ok(file)
    }

    /// The active rules without those of these names.
    ///
    /// # Errors
    /// No filter runs, or there is no rule of one of these names.
    pub fn without_rules(&self, names: &[String]) -> Result<File> {
        let mut file = self.required()?.editable()?;
        for name in names {
            if file.remove(name).is_err() {
                return Err(no_rule(&file, name));
            }
        }
        Ok(file)
    }

    /// The active rule file without any rule: its default verdict, policies and sets.
    ///
    /// # Errors
    /// No filter runs.
    pub fn without_all_rules(&self) -> Result<File> {
        let mut file = self.required()?.editable()?;
        file.ruleset.rules.clear();
        Ok(file)
    }
}

fn no_rule(file: &File, name: &str) -> Error {
    let names = file.ruleset.rules.iter().map(|rule| rule.name.as_str());
    let similar = filter::language::text::nearest(name, names).map(str::to_owned);
    Error::NoRule { name: name.to_owned(), similar }
}
