//! `Listing`: the objects of a ruleset, by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::key::{Key, text};
use super::lines::Lines;
use super::statement::{Statement, weight};
use crate::import_export::error::nft::ImportError;
use crate::import_export::{Cause, Error};

/// The chains and sets of a ruleset.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub chains: BTreeMap<Key, Chain>,
    sets: BTreeMap<Key, Value>,
    /// The number of JSON values in it.
    pub weight: usize,
}

/// A chain and its rules.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// `None` if the chain is not a base chain.
    pub base: Option<Base>,
    pub rules: Vec<Rule>,
}

/// Type, hook and policy of a base chain.
#[derive(Debug)]
pub(crate) struct Base {
    pub kind: String,
    pub hook: String,
    /// Whether the policy is to drop.
    pub drops: bool,
}

/// A rule as nft lists it.
#[derive(Debug)]
pub(crate) struct Rule {
    pub statements: Vec<Statement>,
    /// The number of JSON values in the statements.
    pub weight: usize,
    /// The line in the text, if there is a text.
    pub line: Option<usize>,
    /// The rule in the language of its tool, where that is not the JSON of nft.
    pub text: Option<String>,
    /// Why it cannot be translated, if another parser found that.
    pub refused: Option<Cause>,
}

impl Rule {
    /// A rule of these statements.
    pub fn new(statements: Vec<Statement>) -> Self {
        let weight = statements.iter().map(Statement::weight).sum();
        Self { statements, weight, line: None, text: None, refused: None }
    }
}

impl Listing {
    /// Reads the JSON of `nft -j list ruleset`.
    pub fn read(json: &str) -> Result<Self, Error> {
        let json: Value =
            serde_json::from_str(json).map_err(|error| ImportError::Json(error.to_string()))?;
        let objects = json["nftables"].as_array().ok_or(ImportError::NoObjects)?;
        let mut listing = Self { weight: weight(&json), ..Self::default() };
        for object in objects {
            let named = object.as_object().and_then(|object| object.iter().next());
            let Some((kind, body)) = named else {
                return Err(Error::from(ImportError::ObjectWithoutKind).about(object));
            };
            listing.add(kind, body)?;
        }
        Ok(listing)
    }

    fn add(&mut self, kind: &str, body: &Value) -> Result<(), Error> {
        match kind {
            "chain" => {
                let hook = body["hook"].as_str();
                let base = hook.map(|hook| Base {
                    kind: text(body, "type"),
                    hook: hook.to_owned(),
                    drops: body["policy"] == "drop",
                });
                self.chains.entry(Key::of(body, "name")).or_default().base = base;
            }
            "rule" => {
                let statements = body["expr"].as_array().into_iter().flatten();
                let statements = statements.cloned().map(Statement::Nft).collect();
                let chain = self.chains.entry(Key::of(body, "chain")).or_default();
                chain.rules.push(Rule::new(statements));
            }
            "set" => {
                self.sets.insert(Key::of(body, "name"), body.clone());
            }
            // These have no effect unless a rule uses them, and such a rule is an error.
            "metainfo" | "table" | "map" | "counter" | "quota" | "limit" | "flowtable"
            | "ct helper" | "ct timeout" | "ct expectation" | "secmark" | "synproxy" => {}
            _ => return Err(Error::from(ImportError::UnknownObject).about(kind)),
        }
        Ok(())
    }

    /// Sets the lines of rules.
    pub fn locate(&mut self, lines: &Lines) {
        for (key, chain) in &mut self.chains {
            let found = lines.of_chain(key, chain.rules.len()).into_iter().flatten();
            for (rule, line) in chain.rules.iter_mut().zip(found) {
                rule.line = Some(*line);
            }
        }
    }

    /// The elements of a set, which must not change at run time.
    pub fn set(&self, of: &Key, name: &str) -> Result<&[Value], ImportError> {
        let key = Key { name: name.to_owned(), ..of.clone() };
        let name = || name.to_owned();
        let set = self.sets.get(&key).ok_or_else(|| ImportError::UnknownSet(name()))?;
        let mut flags = set["flags"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(flag) = flags.find(|flag| matches!(*flag, "dynamic" | "timeout")) {
            return Err(ImportError::DynamicSet { name: name(), flag: flag.to_owned() });
        }
        if !set["type"].is_string() {
            return Err(ImportError::CombinedSet(name()));
        }
        Ok(set["elem"].as_array().map_or(&[], Vec::as_slice))
    }
}
