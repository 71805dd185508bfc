//! nft inside a host of a lab: scripts in, and what each of its rules counted out.
//!
//! Rule: frames are sent from outside, and all of them are waited for.

pub mod chain;

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use lab::{Capture, Host, until};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `nft WORDS`; returns its output, or its error.
pub fn run(host: &Host, words: &[&str], input: &str) -> Result<String, String> {
    let mut command = host.command("nft").unwrap();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("nft is installed (Makefile: PACKAGES)");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(said)
    }
}

/// What nft counts of the frames, rule by rule; the first rule is about what others send.
pub fn sent(wire: &Capture, host: &Host, frames: &[Vec<u8>]) -> Vec<u64> {
    frames.iter().for_each(|frame| wire.send(frame).unwrap());
    let mut last = Vec::new();
    let found = until("all frames counted", PATIENCE, || {
        last = counters(host);
        Ok((last.iter().sum::<u64>() >= frames.len() as u64).then_some(()))
    });
    assert!(found.is_ok(), "{} frames were sent: {last:?}", frames.len());
    last
}

/// Packets of each rule, of which all count; none for the first.
pub fn counters(host: &Host) -> Vec<u64> {
    let listed: Value =
        serde_json::from_str(&run(host, &["-j", "list", "ruleset"], "").unwrap()).unwrap();
    let rules = listed["nftables"].as_array().unwrap().iter().filter_map(|it| it.get("rule"));
    let packets = |rule: &Value| {
        let statements = rule["expr"].as_array().unwrap().iter();
        statements.filter_map(|it| it["counter"]["packets"].as_u64()).next().unwrap()
    };
    let mut counters: Vec<_> = rules.map(packets).collect();
    counters[0] = 0;
    counters
}
