//! A host with `xway filter`, and the counts that it reports for its rules.

pub mod act;
pub mod engine;
pub mod language;
pub mod seeded;
pub mod verified;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use lab::until;
use serde_json::Value;

use crate::stage::{PATIENCE, Stage};

/// Writes a file of rules and answers its path.
pub fn file(stage: &Stage, name: &str, text: &str) -> String {
    let path: PathBuf = stage.xway.state().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Loads rules.
#[track_caller]
pub fn load(stage: &Stage, rules: &[&str]) -> Value {
    let rules: Vec<_> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    let text = format!("rules = [{}]", rules.join(", "));
    stage.json(&["filter", "load", "eth0", &file(stage, "rules.toml", &text)])
}

/// Starts `filter sample` with these words, and waits until it takes samples: then the file that
/// becomes the capture is there.
pub fn sampling(stage: &Stage, words: &[&str], capture: &Path) -> Child {
    let name = format!(".{}.", capture.file_name().unwrap().to_str().unwrap());
    let is_part = |file: &str| file.starts_with(&name) && file.ends_with(".part");
    let begun = || {
        let mut files = std::fs::read_dir(capture.parent().unwrap()).unwrap().flatten();
        files.find(|file| is_part(&file.file_name().to_string_lossy()))
    };
    let write = ["--write", capture.to_str().unwrap()];
    let words = [&["--json", "filter", "sample", "eth0"], words, &write].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = until("the sampling", PATIENCE, || Ok(begun()));
    if let Err(error) = started {
        let _ended_by_itself = child.kill();
        panic!("{error}: {:?}", child.wait_with_output());
    }
    child
}

#[track_caller]
pub fn show(stage: &Stage) -> Value {
    stage.json(&["filter", "show", "eth0", "--interval", "1ms"])
}

/// Active rules: name and packets.
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

/// Packets that met a verdict for a reason.
pub fn because(shown: &Value, verdict: &str, reason: &str) -> u64 {
    let reasons = shown["reasons"].as_array().unwrap().iter();
    let of = reasons.filter(|one| one["verdict"] == verdict && one["reason"] == reason);
    of.map(|one| one["packets"].as_u64().unwrap()).sum()
}

/// A UDP frame as a fragment of its packet; the first one has offset 0.
pub fn fragment(stage: &Stage, port: u16, packet: u8, offset: u8) -> Vec<u8> {
    const MORE: u8 = 0x20;
    let mut frame = stage.flow(port).udp(b"sixteen bytes...").unwrap();
    frame[18..22].copy_from_slice(&[0, packet, MORE, offset]);
    frame
}

/// The output once the given number of packets was counted.
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
