//! `xway filter try`: new rules meet real packets beside those in force, and change nothing.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod filter_support;

use std::fs::File;
use std::process::{Child, Stdio};

use filter_support::{counted, expected, file, load, rules};
use lab::{Capture, until};
use serde_json::{Value, json};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Answer;

/// Starts a trial, and waits until it runs.
fn trying(stage: &Stage, words: &[&str]) -> Child {
    let before = stage.attached();
    let words = [&["--json", "filter", "try", "eth0"], words].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the trial", PATIENCE, || Ok((stage.attached() != before).then_some(()))).unwrap();
    child
}

fn ended(trial: Child, code: i32) -> Value {
    Answer::of(trial.wait_with_output().unwrap()).json(code)
}

#[test]
fn what_would_change_is_told_and_does_not_happen() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7", "eight: drop udp dport 8"]);
    let program = stage.attached();
    let text = "rules = ['eight: drop udp dport 8', 'nine: drop udp dport 9', \
                'ban: ban 60s udp dport 10']";
    let new = file(&stage, "new.toml", text);
    let capture = stage.xway.state().join("changed.pcapng");
    let trial = trying(&stage, &[&new, "--for", "3s", "--write", capture.to_str().unwrap()]);
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    for port in [7, 7, 7, 8, 9, 9, 10, 11] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
    }
    // What the rules in force pass is passed, banned by the new ones or not.
    for port in [9, 9, 10, 11] {
        let frame = stage.flow(port).udp(b"x").unwrap();
        wire.next(PATIENCE, |seen| seen == frame).unwrap();
    }
    assert_eq!(rules(&counted(&stage, 8)), expected(&[("seven", 3), ("eight", 1)]));
    let tried = ended(trial, 1);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(8), &json!(7)));
    let pair = |old: &str, new: &str| {
        let by = |one: &Value| one["rule"].as_str().or(one["reason"].as_str()).unwrap().to_owned();
        let pairs = tried["pairs"].as_array().unwrap().iter();
        let pair = pairs.into_iter().find(|one| by(&one["old"]) == old && by(&one["new"]) == new);
        pair.map(|one| (one["changed"].as_bool().unwrap(), one["packets"].as_u64().unwrap()))
    };
    assert_eq!(pair("seven", "default"), Some((true, 3)), "{tried:#}");
    assert_eq!(pair("eight", "eight"), Some((false, 1)));
    assert_eq!(pair("default", "nine"), Some((true, 2)));
    assert_eq!(pair("default", "ban"), Some((true, 1)));
    assert_eq!(pair("default", "banned"), Some((true, 1)), "the new rules' own ban");
    let samples = tried["samples"].as_array().unwrap();
    assert!(samples[0]["packet"].as_str().unwrap().contains("10.0.0.1"), "{tried:#}");
    // The first, second, fourth of each pair.
    let mut reader = pcap::Reader::new(File::open(capture).unwrap()).unwrap();
    let mut packet = pcap::Packet::default();
    let mut packets = 0;
    while reader.next_into(&mut packet).unwrap() {
        packets += 1;
    }
    assert_eq!(packets, samples.len());
    assert_eq!(packets, 2 + 2 + 1 + 1);
    // Everything is as before.
    assert_eq!(stage.attached(), program);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(rules(&counted(&stage, 9)), expected(&[("seven", 4), ("eight", 1)]));
}

#[test]
fn rules_that_change_nothing() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let new = file(&stage, "new.toml", "rules = ['low: drop udp dport 1-10']");
    let trial = trying(&stage, &[&new, "--for", "2s"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 2);
    counted(&stage, 2);
    let tried = ended(trial, 0);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(2), &json!(0)));
    assert_eq!(tried["samples"], json!([]));
}

#[test]
fn a_trial_that_is_killed_leaves_the_rules_in_force() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let mut trial = trying(&stage, &[&new, "--for", "60s"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    counted(&stage, 1);
    trial.kill().unwrap();
    trial.wait().unwrap();
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let shown = counted(&stage, 3);
    assert_eq!(
        (rules(&shown), &shown["default"]["packets"]),
        (expected(&[("seven", 2)]), &json!(1))
    );
    // The next change begins from there.
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let wanted = [("seven", 2), ("drop-udp-dport-8", 1)];
    assert_eq!(rules(&counted(&stage, 4)), expected(&wanted));
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

#[test]
fn where_there_is_no_filter_nothing_can_be_tried() {
    let stage = Stage::new();
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let text = stage.run(&["filter", "try", "eth0", &new]).error();
    assert!(text.contains("no filter runs on eth0"), "{text}");
    load(&stage, &["drop udp"]);
    let before = stage.attached();
    let bad = file(&stage, "bad.toml", "rules = ['drop upd']");
    let text = stage.run(&["filter", "try", "eth0", &bad]).error();
    assert!(text.contains("upd"), "{text}");
    assert_eq!(stage.attached(), before);
}
