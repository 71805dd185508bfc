//! `xway filter try`: new rules meet real packets beside the active ones, and change nothing.

use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

use lab::frame::TcpFlags;
use lab::{Capture, until};
use serde_json::{Value, json};
use xway_tests::filter::{because, counted, expected, file, fragment, load, rules};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, interrupt};

/// Sets of a million addresses are compiled twice.
const LONG: Duration = Duration::from_secs(120);

/// Starts a trial, and waits until it runs.
fn trying(stage: &Stage, words: &[&str]) -> Child {
    let before = stage.attached();
    let words = [&["--json", "filter", "try", "eth0"], words].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the trial", LONG, || Ok((stage.attached() != before).then_some(()))).unwrap();
    child
}

/// Ends a trial that has seen enough, as Ctrl-C does.
fn interrupted(trial: Child, code: i32) -> Value {
    interrupt(&trial);
    let tried = ended(trial, code);
    assert_eq!(tried["ended"], "interrupted", "{tried:#}");
    tried
}

fn ended(trial: Child, code: i32) -> Value {
    Answer::of(trial.wait_with_output().unwrap()).json(code)
}

#[test]
fn changes_are_reported_and_not_made() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7", "eight: drop udp dport 8"]);
    let program = stage.attached();
    let text = "rules = ['eight: drop udp dport 8', 'nine: drop udp dport 9', \
                'ban: ban 60s udp dport 10']";
    let new = file(&stage, "new.toml", text);
    let capture = stage.xway.state().join("changed.pcapng");
    let trial = trying(&stage, &[&new, "--for", "60s", "--write", capture.to_str().unwrap()]);
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    for port in [7, 7, 7, 8, 9, 9, 10, 11] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
    }
    // Packets that the active rules pass are passed, banned by the new ones or not.
    for port in [9, 9, 10, 11] {
        let frame = stage.flow(port).udp(b"x").unwrap();
        wire.next(PATIENCE, |seen| seen == frame).unwrap();
    }
    assert_eq!(rules(&counted(&stage, 8)), expected(&[("seven", 3), ("eight", 1)]));
    let tried = interrupted(trial, 1);
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
    // More where the sender changed its processor.
    assert!((2 + 2 + 1 + 1..=7).contains(&packets), "{packets}");
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
    let trial = trying(&stage, &[&new, "--for", "60s"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 2);
    counted(&stage, 2);
    let tried = interrupted(trial, 0);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(2), &json!(0)));
    assert_eq!(tried["samples"], json!([]));
}

#[test]
fn others_change_rules_during_a_trial_which_then_is_over() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let changes: [&[&str]; 5] = [
        &["add", "eth0", "drop udp dport 8", "--name", "eight"],
        &["remove", "eth0", "eight"],
        &["ban", "eth0", "192.0.2.1"],
        &["flush", "eth0"],
        &["unload", "eth0"],
    ];
    for (number, words) in (1..).zip(changes) {
        let trial = trying(&stage, &[&new, "--for", "60s"]);
        let refused = stage.run(&["filter", "try", "eth0", &new]).error();
        assert!(refused.contains("another trial or sampler runs"), "{refused}");
        stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
        counted(&stage, number);
        stage.run(&[&["filter"], words].concat()).ended(0);
        let now = (stage.attached(), stage.pins());
        let tried = ended(trial, 1);
        assert_eq!(tried["ended"], "rules-changed", "{words:?}");
        assert_eq!(tried["all"]["packets"], 1, "{words:?}: what it saw until then");
        assert_eq!((stage.attached(), stage.pins()), now, "{words:?}: nothing is put back");
        assert_eq!(stage.kept(), usize::from(words[0] != "unload"), "{:?}", stage.pins());
    }
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn commands_that_change_no_program_do_not_disturb_a_trial() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    stage.run(&["filter", "ban", "eth0", "192.0.2.1"]).ended(0);
    let program = stage.attached();
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let trial = trying(&stage, &[&new, "--for", "60s"]);
    // With a program that looks for bans already, a ban is an entry of a map.
    stage.run(&["filter", "ban", "eth0", "10.0.0.1"]).ended(0);
    stage.run(&["detach", "lo"]).ended(1);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 1);
    counted(&stage, 1);
    let tried = interrupted(trial, 0);
    // The new rules drop what the active ones ban.
    assert_eq!(tried["pairs"][0]["old"]["reason"], "banned", "{tried:#}");
    assert_eq!((stage.attached(), stage.kept()), (program, 1));
}

#[test]
fn fragments_follow_their_first_one_into_a_trial_and_out_of_it() {
    let stage = Stage::new();
    let text = "default = 'drop'\nrules = ['nine: pass udp dport 9', 'seven: pass udp dport 7']";
    let old = file(&stage, "old.toml", text);
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    stage.send(&fragment(&stage, 7, 1, 0), 1);
    counted(&stage, 1);
    let trial = trying(&stage, &[&old, "--for", "60s"]);
    // One whose first fragment the new rules have not seen, and one that is new to both.
    for (packet, offset) in [(1, 2), (2, 0), (2, 2)] {
        stage.send(&fragment(&stage, 7, packet, offset), 1);
    }
    let shown = counted(&stage, 4);
    assert_eq!(because(&shown, "pass", "later-fragment"), 2, "{shown:#}");
    let tried = interrupted(trial, 1);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(3), &json!(1)));
    let pairs = tried["pairs"].as_array().unwrap();
    let changed = pairs.iter().find(|pair| pair["changed"] == true).unwrap();
    assert_eq!(changed["old"]["rule"], "seven");
    assert_eq!(changed["new"]["reason"], "unknown-fragment");
    stage.send(&fragment(&stage, 7, 2, 4), 1);
    assert_eq!(because(&counted(&stage, 5), "pass", "later-fragment"), 3);
}

#[test]
fn a_syn_proxy_is_tried_without_an_answer() {
    let stage = Stage::new();
    stage.net.b.set_sysctl("ipv4/tcp_syncookies", "2").unwrap();
    let request =
        stage.flow(80).tcp(TcpFlags { syn: true, ..TcpFlags::default() }, 7, b"").unwrap();
    let proxy = "rules = ['proxy: synproxy tcp dport 80', 'nine: drop udp dport 9']";
    let new = file(&stage, "new.toml", proxy);
    // The proxy answers for a listener only.
    let _listener = stage.net.b.run(|| TcpListener::bind(("0.0.0.0", 80))).unwrap().unwrap();
    let wire = Capture::open(&stage.net.a, "eth0").unwrap();
    let answers = |seen: &[u8]| seen.len() > 47 && seen[12..14] == [8, 0] && seen[23] == 6;
    load(&stage, &["nine: drop udp dport 9"]);
    let trial = trying(&stage, &[&new, "--for", "60s"]);
    stage.send(&request, 3);
    counted(&stage, 3);
    let tried = interrupted(trial, 1);
    let to_answer = |pair: &&Value| pair["new"]["verdict"] == "tx";
    let pairs = tried["pairs"].as_array().unwrap();
    let pair = pairs.iter().find(to_answer).unwrap_or_else(|| panic!("{tried:#}"));
    assert_eq!((&pair["new"]["rule"], &pair["old"]["verdict"]), (&json!("proxy"), &json!("pass")));
    // The stack's answer has an option, for which the proxy's has no room.
    let back = wire.next(PATIENCE, answers).unwrap();
    assert_eq!((back[46] >> 4, back[47] & 0x12), (6, 0x12), "an answer of the stack: {back:02x?}");

    // The other way round: while the proxy is active, rules without it are tried.
    stage.run(&["filter", "load", "eth0", &new]).ended(0);
    let plain = file(&stage, "plain.toml", "rules = ['nine: drop udp dport 9']");
    let trial = trying(&stage, &[&plain, "--for", "60s"]);
    stage.send(&request, 3);
    counted(&stage, 6);
    let tried = interrupted(trial, 1);
    let pairs = tried["pairs"].as_array().unwrap();
    assert!(pairs.iter().any(|pair| pair["old"]["verdict"] == "tx"), "{tried:#}");
}

#[test]
fn large_sets_are_tried_beside_large_sets() {
    let stage = Stage::new();
    let rules = |name: &str, seed: u64| {
        let list: String = (0..SET).map(|number| address(number * 2 + seed)).collect();
        file(&stage, &format!("{name}.txt"), &list);
        let text = format!(
            "rules = ['bad: drop from @bad', 'here: count from 10.0.0.0/24']\n[sets]\n\
             bad = {{ file = '{name}.txt' }}\n"
        );
        file(&stage, &format!("{name}.toml"), &text)
    };
    let (old, new) = (rules("old", 0), rules("new", 1));
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    let trial = trying(&stage, &[&new, "--for", "60s"]);
    // The 1,000,001st address of all, in the new set alone; one that is in neither.
    let known = address(SET + 1).trim().parse().unwrap();
    for from in [known, "10.0.0.1".parse().unwrap()] {
        let to = stage.net.b.ipv4("eth0").unwrap().into();
        stage.send(&stage.flow_between(from, to, 7).udp(b"x").unwrap(), 1);
    }
    stage.counted(2);
    let tried = interrupted(trial, 1);
    assert_eq!((&tried["all"]["packets"], &tried["changed"]["packets"]), (&json!(2), &json!(1)));
}

/// Addresses of a set.
const SET: u64 = 1_000_000;

/// One in every three of 11.0.0.0/8 and what follows, as a line.
fn address(number: u64) -> String {
    let [_, a, b, c] = ((number * 3) as u32).to_be_bytes();
    format!("11.{a}.{b}.{c}\n")
}

#[test]
fn a_trial_that_is_killed_leaves_nothing() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = (stage.attached(), stage.pins());
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
        (expected(&[("seven", 2)]), &json!(1)),
        "the rules in force decide"
    );
    // The next that writes, whatever it is, puts back the program of before.
    stage.run(&["detach", "lo"]).ended(1);
    assert_eq!((stage.attached(), stage.pins()), before);
    assert!(!left_in(&stage, "trial"), "the lock went, too");
    assert_eq!(rules(&counted(&stage, 3)), expected(&[("seven", 2)]));
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let wanted = [("seven", 2), ("drop-udp-dport-8", 1)];
    assert_eq!(rules(&counted(&stage, 4)), expected(&wanted));
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

/// Whether the state's folder has a file with this ending.
fn left_in(stage: &Stage, ending: &str) -> bool {
    let files = std::fs::read_dir(stage.xway.state()).unwrap();
    files.into_iter().any(|file| file.unwrap().path().extension().is_some_and(|it| it == ending))
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
