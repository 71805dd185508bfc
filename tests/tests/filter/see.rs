//! `xway filter explain --live`: packets as they arrive, and the reasons of their verdicts, while
//! the active rules decide and count as before.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use ::filter::abi::Sampling;
use lab::until;
use serde_json::{Value, json};
use spec::Map as _;
use xway_tests::filter::{self, counted, expected, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Answer;

/// For two rulesets to be compiled and verified, beside whatever else the machine does.
const LOAD: Duration = Duration::from_mins(2);

/// Starts looking, and waits until packets are seen.
fn looking(stage: &Stage, words: &[&str]) -> Child {
    let before = stage.attached();
    let words = [&["--json", "filter", "explain", "eth0", "--live"], words].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let seen = until("the look", LOAD, || Ok((stage.attached() != before).then_some(())));
    if let Err(error) = seen {
        let _ended_by_itself = child.kill();
        panic!("{error}: {:?}", child.wait_with_output());
    }
    child
}

/// One value a packet.
fn seen(look: Child, code: i32) -> Vec<Value> {
    let text = Answer::of(look.wait_with_output().unwrap()).ended(code);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verdict(packet: &Value) -> (u64, &str, Option<&str>, &str) {
    let text = |field: &str| packet[field].as_str();
    let n = packet["n"].as_u64().unwrap();
    (n, text("verdict").unwrap(), text("rule"), text("reason").unwrap())
}

#[test]
fn packets_are_explained_as_they_arrive() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7", "all: count udp", "some: pass udp dport 8"]);
    let program = stage.attached();
    let look = looking(&stage, &["--count", "3", "--for", "60s"]);
    for port in [7, 8, 9] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
    }
    let packets = seen(look, 0);
    let verdicts: Vec<_> = packets.iter().map(verdict).collect();
    let wanted = [
        (1, "drop", Some("seven"), "rule"),
        (2, "pass", Some("some"), "rule"),
        (3, "pass", None, "default"),
    ];
    assert_eq!(verdicts, wanted);
    let layer = &packets[1]["layers"][0];
    assert_eq!(layer["matched"], json!(["all"]));
    let why = json!([{ "rule": "seven", "why": "destination port is 8, not 7" }]);
    assert_eq!((&layer["before"], &packets[1]["decided"]), (&why, &json!(0)));
    assert!(packets[2]["summary"].as_str().unwrap().contains("10.0.0.1"), "{packets:#?}");
    assert_eq!(packets[0]["length"], json!(43));
    // Everything is as before, and each packet was counted once.
    assert_eq!((stage.attached(), stage.kept()), (program, 1), "{:?}", stage.pins());
    let wanted = [("seven", 1), ("all", 2), ("some", 1)];
    assert_eq!(rules(&counted(&stage, 3)), expected(&wanted));
    assert_eq!(filter::total(&show(&stage)), 3);
}

#[test]
fn state_of_other_traffic_is_reported_as_the_program_saw_it() {
    let stage = Stage::new();
    let few = "few: limit 8bps burst 86byte per rule udp dport 7";
    load(&stage, &["nine: drop udp dport 9", few, "ban: ban 60s udp dport 8", "end: pass"]);
    let look = looking(&stage, &["--count", "5", "--for", "60s"]);
    for port in [7, 7, 7, 8, 9] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
    }
    let packets = seen(look, 0);
    let verdicts: Vec<_> = packets.iter().map(verdict).collect();
    let wanted = [
        (1, "pass", Some("end"), "rule"),
        (2, "pass", Some("end"), "rule"),
        (3, "drop", Some("few"), "limited"),
        (4, "drop", Some("ban"), "rule"),
        (5, "drop", None, "banned"),
    ];
    assert_eq!(verdicts, wanted);
    let layer = &packets[2]["layers"][0];
    assert_eq!((&layer["rule"], &layer["before"][0]["rule"]), (&json!("few"), &json!("nine")));
    assert_eq!(layer["before"].as_array().unwrap().len(), 1, "{layer:#}");
    assert_eq!(packets[4]["layers"][0]["before"], json!([]), "the rules were not asked");
    assert_eq!(stage.json(&["filter", "bans", "eth0"])["bans"][0]["packets"], json!(1));
}

#[test]
fn only_some_packets_are_sampled() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let look = looking(&stage, &["--only", "udp dport {7, 9}", "--count", "2", "--for", "60s"]);
    for port in [8, 7, 8, 9] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
    }
    let packets = seen(look, 0);
    let verdicts: Vec<_> = packets.iter().map(verdict).collect();
    assert_eq!(verdicts, [(1, "drop", Some("seven"), "rule"), (2, "pass", None, "default")]);
    // A malformed packet is shown, too, and a long one is not taken for a short one.
    let look = looking(&stage, &["--count", "2", "--for", "60s"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap()[..30], 1);
    stage.send(&stage.flow(9).udp(&[7; 1400]).unwrap(), 1);
    let packets = seen(look, 0);
    assert_eq!(verdict(&packets[0]), (1, "drop", None, "truncated"));
    assert_eq!(packets[0]["layers"][0]["odd"], json!(["truncated"]));
    assert_eq!(verdict(&packets[1]), (2, "pass", None, "default"));
    let layer = &packets[1]["layers"][0];
    assert_eq!((&layer["odd"], &packets[1]["length"]), (&json!([]), &json!(1442)));
}

#[test]
fn one_in_n_is_shown_and_all_are_counted() {
    let stage = Stage::new();
    load(&stage, &["all: drop udp"]);
    let look = looking(&stage, &["--sample", "1/10", "--count", "1000", "--for", "3s"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 400);
    assert_eq!(rules(&counted(&stage, 400)), expected(&[("all", 400)]));
    let count = seen(look, 0).len();
    // 40 by chance: further off than eight standard deviations is a mistake.
    assert!((1..=90).contains(&count), "{count}");
}

#[test]
fn uninspectable_packets_are_refused() {
    let stage = Stage::new();
    let text = stage.run(&["filter", "explain", "eth0", "--live"]).error();
    assert!(text.contains("no filter runs on eth0"), "{text}");
    let text = stage.run(&["filter", "explain", "eth7", "--live"]).error();
    assert!(text.contains("there is no interface `eth7`"), "{text}");
    load(&stage, &["drop udp"]);
    let before = stage.attached();
    let text = stage.run(&["filter", "explain", "eth0", "--live", "--only", "udp dprot 7"]).error();
    assert!(text.contains("--only") && text.contains("dport"), "{text}");
    let text = stage.run(&["filter", "explain", "eth0", "--live", "--sample", "1/0"]).error();
    assert!(text.contains("1/N"), "{text}");
    let text = stage.run(&["filter", "explain", "eth0", "--live", "--rules", "x"]).error();
    assert!(text.contains("--rules"), "{text}");
    assert_eq!(stage.attached(), before);
    // Nothing came: that is an answer, too.
    let answer = stage.run(&["--json", "filter", "explain", "eth0", "--live", "--for", "100ms"]);
    assert_eq!(answer.ended(1), "");
    assert_eq!(stage.attached(), before);
}

#[test]
fn killed_in_the_middle_the_active_rules_continue() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = stage.attached();
    let mut look = looking(&stage, &["--for", "60s", "--count", "1000"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 2);
    counted(&stage, 2);
    look.kill().unwrap();
    look.wait().unwrap();
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(rules(&counted(&stage, 3)), expected(&[("seven", 3)]));
    // The command restored the previous program. Another command may sample packets, too, and sees
    // only what arrives from now on.
    assert_eq!((stage.attached(), stage.kept()), (before, 1), "{:?}", stage.pins());
    let look = looking(&stage, &["--count", "1", "--for", "60s"]);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    assert_eq!(verdict(&seen(look, 0)[0]), (1, "pass", None, "default"));
    // The next change begins from there.
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let wanted = [("seven", 3), ("drop-udp-dport-8", 1)];
    assert_eq!(rules(&counted(&stage, 5)), expected(&wanted));
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

/// What is drawn of all packets, by the program that is attached.
fn chance(stage: &Stage) -> u32 {
    let is_watching = |pin: &&PathBuf| pin.ends_with("maps/new_filter_watching");
    let pin = stage.pins().iter().find(is_watching).cloned().unwrap();
    let pin = stage.xway.state().join("bpf").join(pin);
    let value = kernel::Map::from_pin(&pin).unwrap().lookup(&[0; 4]).unwrap().unwrap();
    Sampling::from_bytes(value.as_slice().try_into().unwrap()).chance
}

#[test]
fn sampling_stops_when_the_command_is_killed() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = stage.attached();
    for words in [
        &["explain", "eth0", "--live", "--for", "60s", "--count", "100000"][..],
        &["detect", "eth0", "--for", "60s"],
        &["top", "eth0", "--sample", "1/1", "--time", "60s"],
    ] {
        let mut command = stage.xway.command_in(&stage.net.b, &[&["filter"], words].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = || Ok((stage.attached() != before).then_some(()));
        until("the look", LOAD, begun).unwrap();
        assert_eq!(chance(&stage), u32::MAX, "{words:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        let frame = stage.flow(7).udp(b"x").unwrap();
        let is_over = || {
            stage.send(&frame, 1);
            Ok((chance(&stage) == 0).then_some(()))
        };
        until("nothing is drawn", 3 * PATIENCE, is_over).unwrap();
        assert_ne!(stage.attached(), before, "the program is there, and does nothing");
        // Any command that looks puts back the one of before.
        stage.run(&["status"]).ended(0);
        assert_eq!((stage.attached(), stage.kept()), (before.clone(), 1), "{words:?}");
    }
}

#[test]
fn others_change_rules_while_packets_are_sampled() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let look = looking(&stage, &["--for", "60s", "--count", "1000"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    counted(&stage, 1);
    stage.run(&["filter", "add", "eth0", "drop udp dport 8", "--name", "eight"]).ended(0);
    let now = stage.attached();
    let answer = Answer::of(look.wait_with_output().unwrap());
    assert!(answer.stderr.contains("other rules were loaded"), "{}", answer.stderr);
    assert_eq!(answer.ended(0).lines().count(), 1, "what came until then is reported");
    assert_eq!((stage.attached(), stage.kept()), (now, 1), "{:?}", stage.pins());
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    assert_eq!(rules(&counted(&stage, 2)), expected(&[("seven", 1), ("eight", 1)]));
}
