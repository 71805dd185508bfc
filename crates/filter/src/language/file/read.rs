//! Reads a `File` from TOML. Mistakes are collected, and reading continues where that is useful.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::{Error, Errors, File, list, names};
use crate::language::bounds::{HINTS, RANGES, Work};
use crate::language::text::{self, nearest};
use crate::{Addresses, Compile, Policies, Policy, Reason, Rule, Ruleset, Scope, Sets, Source};

/// The text, and the mistakes found so far.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    folder: &'a Path,
    lines: Lines,
    errors: Vec<Error>,
    /// Errors that may still suggest a name.
    hints: usize,
}

/// A TOML value with its place in the text.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Reader<'a> {
    /// A reader of a text; paths of sets are relative to `folder`.
    pub fn new(name: &'a str, text: &'a str, folder: &'a Path) -> Self {
        Self { name, text, folder, lines: Lines::of(text), errors: Vec::new(), hints: HINTS }
    }

    /// Reads the file.
    pub fn read(mut self, compile: Compile) -> Result<File, Errors> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let line = error.span().map(|span| self.lines.line(span.start));
            Error::new(self.name, line, error.message())
        })?;
        let table = table.get_ref();
        let known = ["default", "rules", "policy", "sets"];
        let what = "unknown key; expected default, rules, [policy] or [sets]";
        self.only(table, &known, what);
        let sets = table.get("sets").map_or_else(Sets::default, |value| self.sets(value));
        let scope = Scope { sets, compile };
        let mut ruleset = Ruleset::default();
        if let Some(value) = table.get("default") {
            ruleset.default = self.word(value, "`pass` or `drop`").unwrap_or_default();
        }
        if let Some(value) = table.get("policy") {
            ruleset.policies = self.policies(value);
        }
        if let Some(value) = table.get("rules") {
            ruleset.rules = self.rules(value, &scope);
        }
        if self.errors.is_empty() {
            Ok(File { ruleset, scope })
        } else {
            self.errors.sort_by_key(|error| (error.file != self.name, error.line));
            Err(Errors(self.errors))
        }
    }

    fn rules(&mut self, value: &Value<'_>, scope: &Scope) -> Vec<Rule> {
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(value, "expected a list of rules, each in quotes: rules = [\"drop udp\"]");
            return Vec::new();
        };
        let mut rules = Vec::with_capacity(items.len());
        let mut lines = Vec::with_capacity(items.len());
        let mut work = Work::of(RANGES);
        for (number, item) in items.iter().enumerate() {
            let Some(text) = item.get_ref().as_str() else {
                self.wrong(item, format!("rule {}: a rule must be in quotes", number + 1));
                continue;
            };
            match Rule::parse(text, scope) {
                Ok(rule) if !work.spend(rule.own_ranges()) => {
                    let reason = format!(
                        "rule {}: the rules, with the sets in their lists, have more than {RANGES} \
                         ranges of values: define such a list as a set in [sets]",
                        number + 1
                    );
                    self.wrong(item, reason);
                    break;
                }
                Ok(rule) => {
                    rules.push(rule);
                    lines.push(item.span().start);
                }
                Err(error) => {
                    let reason = format!("rule {}: {error}\n{}", number + 1, pointed(text, &error));
                    self.wrong(item, reason);
                }
            }
        }
        if let Err(twice) = names::distinguish(&mut rules) {
            for (one, other) in twice {
                let line = self.lines.line(lines[one]);
                let name = &rules[other].name;
                let reason =
                    format!("two rules have the name `{name}`; the other is in line {line}");
                let at = Some(self.lines.line(lines[other]));
                self.errors.push(Error::new(self.name, at, reason));
            }
        }
        rules
    }

    fn policies(&mut self, value: &Value<'_>) -> Policies {
        let mut policies = Policies::default();
        let Some(table) = self.table(value, "[policy]") else { return policies };
        let anomalies: Vec<_> = policies.iter().map(|(anomaly, _)| anomaly.label()).collect();
        let what = format!("unknown packet condition; expected {}", anomalies.join(", "));
        self.only(table, &anomalies, &what);
        for (key, value) in table {
            let Some(anomaly) = Reason::ALL.into_iter().find(|it| it.label() == key.get_ref())
            else {
                continue;
            };
            let allowed: Vec<_> =
                Policy::ALL.into_iter().filter(|it| Policies::allows(anomaly, *it)).collect();
            let word = value.get_ref().as_str();
            match allowed.iter().find(|policy| Some(policy.label()) == word) {
                Some(policy) => {
                    policies.set(anomaly, *policy);
                }
                None if anomalies.contains(&key.get_ref().as_ref()) => {
                    let words: Vec<_> = allowed.iter().map(|policy| policy.label()).collect();
                    let near = word.and_then(|word| nearest(word, words.iter().copied()));
                    let key = key.get_ref();
                    let reason = format!("{key}: expected one of {}", quoted(&words));
                    self.wrong(value, with_hint(reason, near));
                }
                None => {}
            }
        }
        policies
    }

    /// Reads all sets. An invalid one exists and is empty, so that rules that use it are not
    /// errors too.
    fn sets(&mut self, value: &Value<'_>) -> Sets {
        let mut sets = Sets::default();
        let Some(table) = self.table(value, "[sets]") else { return sets };
        let mut lists = BTreeMap::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !Rule::is_name(name) {
                let reason =
                    format!("`{name}`: invalid name; expected a-z, A-Z, 0-9, `_`, `.` and `-`");
                self.wrong_at(key.span().start, reason);
                continue;
            }
            match value.get_ref() {
                DeValue::Array(_) => {
                    lists.insert(name, value);
                }
                DeValue::Table(table) => {
                    self.only(
                        table,
                        &["file"],
                        "unknown key; expected a list or { file = \"NAME\" }",
                    );
                    if let Some((addresses, source)) = self.set_file(value, table) {
                        sets.insert(name, addresses, source);
                    }
                }
                _ => self.wrong(value, "expected a list of addresses or { file = \"NAME\" }"),
            }
            if sets.set(name).is_none() {
                sets.insert(name, Addresses::default(), Source::List(Vec::new()));
            }
        }
        self.lists(&lists, &mut sets);
        sets
    }

    fn set_file(&mut self, value: &Value<'_>, table: &DeTable<'_>) -> Option<(Addresses, Source)> {
        let Some(file) = table.get("file").and_then(|file| file.get_ref().as_str()) else {
            self.wrong(value, "expected a list of addresses or { file = \"NAME\" }");
            return None;
        };
        let path = self.folder.join(file);
        match list::read(&path) {
            Ok(addresses) => {
                let path = std::path::absolute(&path).unwrap_or(path);
                Some((addresses, Source::File(path)))
            }
            Err(mut error) if error.line.is_none() => {
                // The error is about the file that names it.
                error.reason = format!("the set's file {} {}", error.file, error.reason);
                self.wrong(value, error.reason);
                None
            }
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    /// Reads a value that is one of a few words.
    fn word<T: std::str::FromStr>(&mut self, value: &Value<'_>, expected: &str) -> Option<T> {
        let word = value.get_ref().as_str().and_then(|word| word.parse().ok());
        if word.is_none() {
            self.wrong(value, format!("expected {expected}"));
        }
        word
    }

    fn table<'v>(&mut self, value: &'v Value<'_>, name: &str) -> Option<&'v DeTable<'v>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong(value, format!("{name} must be a table of keys and values"));
        }
        table
    }

    /// Reports unknown keys.
    fn only(&mut self, table: &DeTable<'_>, known: &[&str], what: &str) {
        for (key, _) in table {
            let word = key.get_ref().as_ref();
            if !known.contains(&word) {
                let near = nearest(word, known.iter().copied());
                self.wrong_at(key.span().start, with_hint(format!("`{word}`: {what}"), near));
            }
        }
    }

    /// A similar name, for the first errors only.
    pub(super) fn hint<'k>(
        &mut self,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<&'k str> {
        self.hints = self.hints.checked_sub(1)?;
        nearest(word, known)
    }

    /// Adds an error about a value.
    pub(super) fn wrong(&mut self, value: &Value<'_>, reason: impl Into<String>) {
        self.wrong_at(value.span().start, reason);
    }

    fn wrong_at(&mut self, at: usize, reason: impl Into<String>) {
        let line = Some(self.lines.line(at));
        self.errors.push(Error::new(self.name, line, reason));
    }
}

/// The rule, with a mark under the invalid word.
fn pointed(text: &str, error: &text::Error) -> String {
    if text.contains('\n') {
        return String::new();
    }
    let before = text[..error.at].chars().count();
    let width = error.word.as_ref().map_or(1, |word| word.chars().count().max(1));
    format!("    {text}\n    {}{}", " ".repeat(before), "^".repeat(width))
}

/// Appends a suggestion to a message, if there is one.
pub(super) fn with_hint(reason: String, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{reason}; did you mean `{near}`?"),
        None => reason,
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}
