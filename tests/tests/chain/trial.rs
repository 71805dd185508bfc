//! Trials, samples and detection of a filter that is a member of a chain: the other members decide
//! and count as without them.

use std::process::{Child, Stdio};
use std::time::Duration;

use lab::until;
use serde_json::{Value, json};
use xway_tests::background::{reflection, service};
use xway_tests::filter::{expected, file, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, interrupt, prebuilt};

/// For a chain to be compiled and verified, beside whatever else the machine does.
const LOAD: Duration = Duration::from_mins(2);

fn object(name: &str) -> String {
    prebuilt(&format!("test/{name}.o")).to_str().unwrap().to_owned()
}

/// `drop` before a filter, and an object that counts after it.
fn chain() -> Stage {
    let stage = Stage::new();
    stage.json(&["drop", "eth0", "any udp 5"]);
    stage.json(&["chain", "eth0", "move", "drop", "--priority", "50"]);
    load(&stage, &["seven: drop udp dport 7", "eight: drop udp dport 8"]);
    stage.json(&["attach", "eth0", &object("seen")]);
    stage
}

/// Starts a command, and waits until its program runs.
fn begin(stage: &Stage, words: &[&str]) -> Child {
    let before = stage.attached();
    let mut command = stage.xway.command_in(&stage.net.b, &[&["--json", "filter"], words].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let seen = until("the program", LOAD, || Ok((stage.attached() != before).then_some(())));
    if let Err(error) = seen {
        let _ended = child.kill();
        panic!("{error}: {:?}", child.wait_with_output());
    }
    child
}

fn ended(child: Child, code: i32) -> String {
    Answer::of(child.wait_with_output().unwrap()).ended(code)
}

fn interrupted(child: Child, code: i32) -> Value {
    interrupt(&child);
    serde_json::from_str(&ended(child, code)).unwrap()
}

/// Packets of each member in order, with those that it dropped.
fn packets(stage: &Stage) -> Vec<(String, u64, u64)> {
    let members = stage.json(&["chain", "eth0", "show"])["members"].clone();
    let number = |value: &Value| value.as_u64().unwrap();
    let member = |one: &Value| {
        let name = one["name"].as_str().unwrap().to_owned();
        (name, number(&one["packets"]), number(&one["verdicts"]["drop"]))
    };
    members.as_array().unwrap().iter().map(member).collect()
}

/// Waits until the members have counted this, to the packet.
#[track_caller]
fn settle(stage: &Stage, wanted: [(&str, u64, u64); 3]) {
    let wanted = wanted.map(|(name, packets, drops)| (name.to_owned(), packets, drops)).to_vec();
    let is_there = || Ok((packets(stage) == wanted).then_some(()));
    if until("packets", PATIENCE, is_there).is_err() {
        assert_eq!(packets(stage), wanted);
    }
}

fn send(stage: &Stage, ports: &[u16]) {
    for port in ports {
        stage.send(&stage.flow(*port).udp(b"x").unwrap(), 1);
    }
}

#[test]
fn rules_are_tried_on_a_member_while_the_others_decide() {
    let stage = chain();
    let program = stage.attached();
    send(&stage, &[5, 7, 9]);
    settle(&stage, [("drop", 3, 1), ("filter", 2, 1), ("seen", 1, 0)]);
    let new =
        file(&stage, "new.toml", "rules = ['eight: drop udp dport 8', 'nine: drop udp dport 9']");
    let trial = begin(&stage, &["try", "eth0", &new, "--for", "60s"]);
    send(&stage, &[5, 5, 7, 7, 7, 8, 9, 9, 10]);
    settle(&stage, [("drop", 12, 3), ("filter", 9, 5), ("seen", 4, 0)]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 4), ("eight", 1)]));
    let tried = interrupted(trial, 1);
    // The filter, and so the new rules, do not see what `drop` drops.
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(7), &json!(5)));
    let pairs = tried["pairs"].as_array().unwrap();
    let pair = |old: &str, new: &str| {
        let by = |one: &Value| one["rule"].as_str().or(one["reason"].as_str()).unwrap().to_owned();
        let pair = pairs.iter().find(|one| by(&one["old"]) == old && by(&one["new"]) == new);
        pair.map(|one| (one["changed"].as_bool().unwrap(), one["packets"].as_u64().unwrap()))
    };
    assert_eq!(pair("seven", "default"), Some((true, 3)), "{tried:#}");
    assert_eq!(pair("eight", "eight"), Some((false, 1)));
    assert_eq!(pair("default", "nine"), Some((true, 2)));
    assert_eq!(pair("default", "default"), Some((false, 1)));
    // Everything is as before, and counts on.
    assert_eq!((stage.attached(), stage.kept()), (program, 3), "{:?}", stage.pins());
    send(&stage, &[5, 7, 9]);
    settle(&stage, [("drop", 15, 4), ("filter", 11, 6), ("seen", 5, 0)]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 5), ("eight", 1)]));
}

#[test]
fn a_killed_trial_leaves_a_chain_that_decides_and_the_next_command_restores_it() {
    let stage = chain();
    let before = (stage.attached(), stage.pins());
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let mut trial = begin(&stage, &["try", "eth0", &new, "--for", "60s"]);
    send(&stage, &[5, 9]);
    trial.kill().unwrap();
    trial.wait().unwrap();
    assert_ne!(stage.attached(), before.0, "the trial's program continues");
    send(&stage, &[5, 7, 9]);
    // A command that writes restores the chain; what was counted meanwhile is not lost.
    stage.run(&["detach", "lo"]).ended(1);
    assert_eq!((stage.attached(), stage.pins()), before);
    settle(&stage, [("drop", 5, 2), ("filter", 3, 1), ("seen", 2, 0)]);
    send(&stage, &[7]);
    settle(&stage, [("drop", 6, 2), ("filter", 4, 2), ("seen", 2, 0)]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 2), ("eight", 0)]));
}

#[test]
fn a_change_of_the_chain_ends_a_trial() {
    let changes: [&[&str]; 5] = [
        &["chain", "eth0", "move", "seen", "--priority", "70"],
        &["chain", "eth0", "move", "seen", "--priority", "500"],
        &["filter", "add", "eth0", "drop udp dport 9", "--name", "nine"],
        &["filter", "remove", "eth0", "nine"],
        &["chain", "eth0", "remove", "seen"],
    ];
    let stage = chain();
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    for (number, words) in (1..).zip(changes) {
        let trial = begin(&stage, &["try", "eth0", &new, "--for", "60s"]);
        let refused = stage.run(&["filter", "try", "eth0", &new]).error();
        assert!(refused.contains("another trial or sampler runs"), "{refused}");
        send(&stage, &[7]);
        let is_counted = || Ok((rules(&show(&stage))[0].1 == number).then_some(()));
        until("the packet", PATIENCE, is_counted).unwrap();
        stage.run(words).ended(0);
        let now = (stage.attached(), stage.pins());
        let tried: Value = serde_json::from_str(&ended(trial, 1)).unwrap();
        assert_eq!(tried["ended"], "rules-changed", "{words:?}");
        assert_eq!(tried["all"]["packets"], 1, "{words:?}: what it saw until then");
        assert_eq!((stage.attached(), stage.pins()), now, "{words:?}: nothing is put back");
    }
    assert_eq!(stage.kept(), 2, "{:?}", stage.pins());
}

/// `forward` asks veth for VLAN tags, so the chain is bound to the device, and large members are
/// functions.
#[test]
fn rules_are_tried_before_a_router() {
    let stage = Stage::new();
    stage.run(&["forward", "eth0"]).ended(0);
    load(&stage, &["five: drop vlan 5", "seven: drop udp dport 7"]);
    let router = |stage: &Stage| packets(stage)[1].1;
    let program = stage.attached();
    let new =
        file(&stage, "new.toml", "rules = ['nine: drop udp dport 9', 'tagged: count vlan 6']");
    let before = router(&stage);
    let trial = begin(&stage, &["try", "eth0", &new, "--for", "60s"]);
    send(&stage, &[7, 7, 9, 9, 9, 10]);
    let is_counted = || Ok((router(&stage) == before + 4).then_some(()));
    until("the router's packets", PATIENCE, is_counted).unwrap();
    let tried = interrupted(trial, 1);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(6), &json!(5)));
    assert_eq!((stage.attached(), packets(&stage)[0].2), (program, 2));
}

/// Members that cannot become one program, because one of them needs all of the stack.
#[test]
fn rules_are_tried_in_a_chain_of_tail_calls() {
    let stage = Stage::new();
    stage.json(&["attach", "eth0", &object("deep")]);
    load(&stage, &["seven: drop udp dport 7"]);
    let form = stage.json(&["chain", "eth0", "show"])["form"].clone();
    assert_eq!(form, "tail-calls");
    let new = file(&stage, "new.toml", "rules = ['nine: drop udp dport 9']");
    let trial = begin(&stage, &["try", "eth0", &new, "--for", "60s"]);
    send(&stage, &[7, 9, 9, 10]);
    let passed = || Ok((packets(&stage)[1].1 == 3).then_some(()));
    until("packets of the other member", PATIENCE, passed).unwrap();
    let tried = interrupted(trial, 1);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(4), &json!(3)));
    assert_eq!(packets(&stage)[0].1, 4);
}

#[test]
fn packets_are_explained_as_they_reach_a_member() {
    let stage = chain();
    let before = (stage.attached(), stage.pins());
    let look = begin(&stage, &["explain", "eth0", "--live", "--count", "3", "--for", "60s"]);
    send(&stage, &[5, 7, 5, 9, 8]);
    let text = ended(look, 0);
    let seen = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rules: Vec<_> = seen.map(|one| one["rule"].as_str().map(str::to_owned)).collect();
    assert_eq!(rules, [Some("seven".to_owned()), None, Some("eight".to_owned())]);
    assert_eq!((stage.attached(), stage.pins()), before);
    settle(&stage, [("drop", 5, 2), ("filter", 3, 2), ("seen", 1, 0)]);
}

#[test]
fn a_flood_is_found_and_dropped_by_a_member() {
    let stage = chain();
    let (service, flood) = (service(&stage), reflection(&stage));
    let words = ["detect", "eth0", "--above", "50pps", "--for", "4s", "--auto", "--hold", "20s"];
    let mut detection = begin(&stage, &words);
    let found = || {
        let all = rules(&show(&stage));
        Ok(all.iter().any(|(name, packets)| name == "detect-1" && *packets > 10).then_some(()))
    };
    if let Err(error) = until("the rule drops packets", LOAD, found) {
        let _ended = detection.kill();
        panic!("{error}: {:?}", detection.wait_with_output());
    }
    let names: Vec<_> = packets(&stage).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["drop", "filter", "seen"]);
    service.pass(5);
    drop((service, flood));
    let detected: Value = serde_json::from_str(&ended(detection, 0)).unwrap();
    assert_eq!(detected["findings"][0]["applied"], "detect-1", "{detected:#}");
    assert_eq!(rules(&show(&stage)).len(), 2, "the rule was for a time");
}
