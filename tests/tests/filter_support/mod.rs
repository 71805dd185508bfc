//! A host under `xway filter`, and what its rules are said to count.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::path::PathBuf;

use lab::until;
use serde_json::Value;
use xway_tests::stage::{PATIENCE, Stage};

/// Writes a file of rules and answers its path.
pub fn file(stage: &Stage, name: &str, text: &str) -> String {
    let path: PathBuf = stage.xway.state().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Puts rules in force.
#[track_caller]
pub fn load(stage: &Stage, rules: &[&str]) -> Value {
    let rules: Vec<_> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    let text = format!("rules = [{}]", rules.join(", "));
    stage.json(&["filter", "load", "eth0", &file(stage, "rules.toml", &text)])
}

#[track_caller]
pub fn show(stage: &Stage) -> Value {
    stage.json(&["filter", "show", "eth0", "--interval", "1ms"])
}

/// Rules in force: name and packets.
pub fn rules(shown: &Value) -> Vec<(String, u64)> {
    let rules = shown["rules"].as_array().unwrap().iter();
    let text = |rule: &Value| rule["name"].as_str().unwrap().to_owned();
    rules.map(|rule| (text(rule), rule["packets"].as_u64().unwrap())).collect()
}

/// Packets that were counted for any reason.
pub fn total(shown: &Value) -> u64 {
    let reasons = shown["reasons"].as_array().unwrap().iter();
    reasons.map(|one| one["packets"].as_u64().unwrap()).sum()
}

/// What is shown once so many packets were counted.
#[track_caller]
pub fn counted(stage: &Stage, packets: u64) -> Value {
    let mut last = Value::Null;
    let found = until("all packets counted", PATIENCE, || {
        last = show(stage);
        Ok((total(&last) >= packets).then_some(()))
    });
    assert!(found.is_ok(), "{packets} packets were sent: {last:#}");
    last
}

/// `[("a", 1)]` as [`rules`] answers it.
pub fn expected(rules: &[(&str, u64)]) -> Vec<(String, u64)> {
    rules.iter().map(|(name, packets)| ((*name).to_owned(), *packets)).collect()
}
