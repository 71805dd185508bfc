//! `Imported`: rules of another tool, what is not in them, and where they are approximations.
//!
//! Rule: everything that decides differently than in the other tool is listed with its place and
//! its consequence.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Ruleset;

/// What an import may do. The default refuses everything that cannot be translated exactly.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions<'a> {
    /// The base chain, where there are several: `chain`, `table/chain` or `family/table/chain`.
    pub chain: Option<&'a str>,
    /// Leaves out rules that cannot be translated, instead of failing.
    pub partial: bool,
    /// Translates the states of connections and other parts that have no exact counterpart to what
    /// is nearest.
    pub approximate: bool,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The rules that were translated.
    pub ruleset: Ruleset,
    /// Rules that could not be translated.
    pub left_out: Vec<LeftOut>,
    /// Parts that were translated to what is nearest.
    pub approximations: Vec<Approximation>,
}

impl Imported {
    /// A rule file, with everything that decides differently listed in comments at its beginning.
    pub fn to_toml(self) -> String {
        let mut text = String::new();
        let left_out = self.left_out.iter().map(|one| format!("left out: {one}"));
        for note in left_out.chain(self.differences()) {
            text += &format!("# {}\n", one_line(&note));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text + &super::file(self.ruleset).to_toml()
    }

    /// Each difference once, followed by the places that have it.
    fn differences(&self) -> impl Iterator<Item = String> {
        let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for one in &self.approximations {
            let place = match one.line {
                Some(line) => format!("line {line}, {}", one.place),
                None => one.place.clone(),
            };
            places.entry((&one.statement, one.consequence)).or_default().push(place);
        }
        places.into_iter().map(|((statement, consequence), places)| {
            let statement = if statement.is_empty() { "chain" } else { statement };
            format!("approximated: `{statement}`: {consequence} ({})", places.join("; "))
        })
    }
}

impl From<Ruleset> for Imported {
    /// Rules that decide as the other tool does.
    fn from(ruleset: Ruleset) -> Self {
        Self { ruleset, ..Self::default() }
    }
}

/// The text as a comment can contain it: without control characters.
fn one_line(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// A rule that was not translated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Line in the file; `null` if the file has no lines of rules, such as JSON.
    pub line: Option<usize>,
    /// Chain and number of the rule in it, from 1.
    pub place: String,
    /// The statement that cannot be translated, in the language of the other tool; may be empty.
    pub statement: String,
    /// Why it cannot be translated, and what to do.
    pub reason: String,
    /// What happens to the packets that the rule decides about in the other tool.
    pub consequence: &'static str,
}

/// A part of a rule that was translated to what is nearest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approximation {
    /// Line in the file; `null` if the file has no lines of rules, such as JSON, or if it is about
    /// the whole chain.
    pub line: Option<usize>,
    /// Chain and number of the rule in it, from 1, or the chain.
    pub place: String,
    /// The part, in the language of the other tool.
    pub statement: String,
    /// How decisions differ from those of the other tool.
    pub consequence: &'static str,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "{}", self.place)?;
        if !self.statement.is_empty() {
            write!(f, ", `{}`", self.statement)?;
        }
        write!(f, ": {}; {}", self.reason, self.consequence)
    }
}
