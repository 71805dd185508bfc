//! The objects of a listing, by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::lines::Lines;
use crate::import_export::Error;
use crate::language::bounds::step;

/// What has a name of its own in a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub family: String,
    pub table: String,
    pub name: String,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub chains: BTreeMap<Key, Chain>,
    sets: BTreeMap<Key, Value>,
    /// Values in it.
    pub weight: usize,
}

#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Of a base chain: its type, hook and policy.
    pub base: Option<Base>,
    pub rules: Vec<Rule>,
}

#[derive(Debug)]
pub(super) struct Base {
    pub kind: String,
    pub hook: String,
    pub drops: bool,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub statements: Vec<Value>,
    /// Values in them.
    pub weight: usize,
    /// In the text that nft was given, if there was one.
    pub line: Option<usize>,
}

impl Listing {
    pub fn read(json: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::new("", reason);
        let json: Value = serde_json::from_str(json)
            .map_err(|error| wrong(format!("not the JSON of `nft -j list ruleset`: {error}")))?;
        let objects = json["nftables"].as_array();
        let objects = objects.ok_or_else(|| wrong("there is no list `nftables` in it".into()))?;
        let mut listing = Self { weight: weight(&json), ..Self::default() };
        for object in objects {
            let named = object.as_object().and_then(|object| object.iter().next());
            let Some((kind, body)) = named else {
                return Err(wrong("an object has no kind".into()).of(object));
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
                let statements = body["expr"].as_array().cloned().unwrap_or_default();
                let chain = self.chains.entry(Key::of(body, "chain")).or_default();
                chain.rules.push(Rule { statements, weight: weight(&body["expr"]), line: None });
            }
            "set" => {
                self.sets.insert(Key::of(body, "name"), body.clone());
            }
            // Of no effect unless a rule names them, and then that is refused.
            "metainfo" | "table" | "map" | "counter" | "quota" | "limit" | "flowtable"
            | "ct helper" | "ct timeout" | "ct expectation" | "secmark" | "synproxy" => {}
            _ => return Err(Error::new("", "an object of a kind that is not known").of(kind)),
        }
        Ok(())
    }

    /// Tells rules their lines.
    pub fn locate(&mut self, lines: &Lines) {
        for (key, chain) in &mut self.chains {
            let found = lines.of_chain(key, chain.rules.len()).into_iter().flatten();
            for (rule, line) in chain.rules.iter_mut().zip(found) {
                rule.line = Some(*line);
            }
        }
    }

    /// The elements of a set that is not written by rules or by time.
    pub fn set(&self, of: &Key, name: &str) -> Result<&[Value], String> {
        let key = Key { name: name.to_owned(), ..of.clone() };
        let set = self.sets.get(&key).ok_or_else(|| format!("there is no set {name}"))?;
        let mut flags = set["flags"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(flag) = flags.find(|flag| matches!(*flag, "dynamic" | "timeout")) {
            return Err(format!("the set {name} changes by itself ({flag})"));
        }
        if !set["type"].is_string() {
            return Err(format!("the set {name} holds more than one thing an element"));
        }
        Ok(set["elem"].as_array().map_or(&[], Vec::as_slice))
    }
}

impl Key {
    fn of(body: &Value, name: &str) -> Self {
        Self { family: text(body, "family"), table: text(body, "table"), name: text(body, name) }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.family, self.table, self.name)
    }
}

/// Values in a value, which JSON nests 128 deep at most.
fn weight(value: &Value) -> usize {
    step(1);
    match value {
        Value::Array(values) => 1 + values.iter().map(weight).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

fn text(body: &Value, key: &str) -> String {
    body[key].as_str().unwrap_or_default().to_owned()
}
