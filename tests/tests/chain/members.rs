//! `xway chain`: several programs on one interface.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use kernel::{Attach, Mode, Replace};
use lab::{LinkOptions, TwoHosts};
use serde_json::Value;
use xway_tests::filter::{rules, show};
use xway_tests::flood::traffic::{Source, Traffic};
use xway_tests::program::foreign;
use xway_tests::random::Random;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, Xway, prebuilt};

fn object(name: &str) -> String {
    prebuilt(&format!("test/{name}.o")).to_str().unwrap().to_owned()
}

fn chain(stage: &Stage, words: &[&str]) -> Answer {
    stage.run(&[&["--json", "chain", "eth0"], words].concat())
}

/// The members after a change.
#[track_caller]
fn changed(stage: &Stage, words: &[&str]) -> Vec<Value> {
    chain(stage, words).json(0)["members"].as_array().unwrap().clone()
}

#[track_caller]
fn error(stage: &Stage, words: &[&str]) -> String {
    stage.run(&[&["chain", "eth0"], words].concat()).error()
}

fn names(members: &[Value]) -> Vec<&str> {
    members.iter().map(|member| member["name"].as_str().unwrap()).collect()
}

/// Packets of a member, with those that it dropped.
fn packets(stage: &Stage, name: &str) -> [u64; 2] {
    let members = changed(stage, &["show"]);
    let member = members.iter().find(|member| member["name"] == name).unwrap();
    [member["packets"].as_u64().unwrap(), member["verdicts"]["drop"].as_u64().unwrap()]
}

/// Waits until a member has seen this number of packets.
#[track_caller]
fn settle(stage: &Stage, name: &str, total: u64) {
    let seen = || Ok((packets(stage, name)[0] >= total).then_some(()));
    lab::until("packets", PATIENCE, seen).unwrap();
}

#[test]
fn members_run_in_order_and_keep_their_maps() {
    let stage = Stage::new();
    stage.json(&["drop", "eth0", "any udp 7"]);
    let [dropped, passed] = [7, 9].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&dropped, 2);
    let members = changed(&stage, &["add", &object("seen"), "--priority", "50"]);
    assert_eq!(names(&members), ["seen", "drop"]);
    assert_eq!(members[1]["packets"], 2, "counted before it was a member: {members:#?}");
    stage.send(&dropped, 3);
    stage.send(&passed, 4);
    settle(&stage, "seen", 7);
    assert_eq!((packets(&stage, "seen"), packets(&stage, "drop")), ([7, 0], [9, 5]));

    // Its rules are changed in place, and the status is that of the whole chain.
    stage.json(&["drop", "eth0", "--add", "any udp 9"]);
    stage.send(&passed, 2);
    settle(&stage, "seen", 9);
    assert_eq!(packets(&stage, "drop"), [11, 7]);
    let status = stage.status();
    let program = &status["programs"][0];
    assert_eq!(program["owner"], "xway chain", "{status:#}");
    assert_eq!(program["rates"]["verdicts"]["drop"]["packets"], 7);

    // After `drop`, it sees what that passes; after another verdict the chain ends.
    let members = changed(&stage, &["move", "seen", "--priority", "900"]);
    assert_eq!(names(&members), ["drop", "seen"]);
    stage.send(&dropped, 5);
    settle(&stage, "drop", 16);
    assert_eq!((packets(&stage, "seen"), packets(&stage, "drop")), ([9, 0], [16, 12]));
    let members = changed(&stage, &["move", "drop", "--continue-on", "pass,drop"]);
    assert_eq!(members[0]["continue_on"], serde_json::json!(["drop", "pass"]));
    stage.send(&dropped, 1);
    settle(&stage, "drop", 17);
    assert_eq!(packets(&stage, "seen"), [10, 0]);

    let members = changed(&stage, &["remove", "drop"]);
    assert_eq!(names(&members), ["seen"]);
    assert_eq!(members[0]["packets"], 10);
    let report = chain(&stage, &["remove", "seen"]).json(0);
    assert_eq!(report["program_id"], Value::Null);
    assert_eq!((stage.attached(), stage.kept()), (vec![], 0));
}

#[test]
fn members_are_timed_from_some_packets_on() {
    let stage = Stage::new();
    changed(&stage, &["add", &object("seen"), "--name", "a"]);
    let members = changed(&stage, &["add", &object("seen"), "--name", "b"]);
    assert!(members.iter().all(|one| one["ns"].is_null()), "{members:#?}");
    let frame = stage.flow(9).udp(b"x").unwrap();
    stage.send(&frame, 200);
    settle(&stage, "b", 200);
    let members = changed(&stage, &["show"]);
    assert!(members.iter().all(|one| one["ns"].as_f64().is_some()), "{members:#?}");
    // What a removed member leaves in its slot is not the next one's.
    changed(&stage, &["remove", "a"]);
    let members = changed(&stage, &["add", &object("seen"), "--name", "c"]);
    assert_eq!((names(&members), &members[1]["ns"]), (vec!["b", "c"], &Value::Null));
}

#[test]
fn an_attached_object_becomes_a_member_even_without_its_file() {
    let stage = Stage::new();
    let path = stage.xway.state().join("mine.o");
    fs::copy(object("seen"), &path).unwrap();
    stage.json(&["attach", "eth0", path.to_str().unwrap(), "--set", "verdict=1"]);
    let frame = stage.flow(9).udp(b"x").unwrap();
    stage.send(&frame, 3);
    settle(&stage, "mine", 3);
    fs::remove_file(&path).unwrap();
    let members = changed(&stage, &["add", &object("seen"), "--priority", "1"]);
    assert_eq!(names(&members), ["seen", "mine"]);
    assert_eq!(packets(&stage, "mine"), [3, 3], "its count continues");
    stage.send(&frame, 2);
    settle(&stage, "mine", 5);
    assert_eq!((packets(&stage, "seen"), packets(&stage, "mine")), ([2, 0], [5, 5]));
    // A member that is removed and added again counts from zero.
    changed(&stage, &["remove", "seen"]);
    changed(&stage, &["add", &object("seen"), "--priority", "1"]);
    assert_eq!(packets(&stage, "seen"), [0, 0]);
}

const PLACE: &str = "maps/xway_member";

#[test]
fn what_cannot_be_done_changes_nothing() {
    let stage = Stage::new();
    changed(&stage, &["add", &object("seen"), "--name", "a"]);
    changed(&stage, &["add", &object("seen"), "--name", "b"]);
    let before = (stage.attached(), stage.pins());
    for (words, part) in [
        (&["add", &object("seen"), "--name", "a"][..], "the chain has a member `a` already"),
        (&["add", &object("seen"), "--name", "a/b"], "invalid name `a/b`"),
        (&["add", &object("seen"), "--mode", "generic"], "the chain runs in native mode"),
        (&["remove", "c"], "no member `c`; it has a, b"),
        (&["move", "c", "--priority", "1"], "no member `c`"),
    ] {
        let text = error(&stage, words);
        assert!(text.contains(part), "{words:?}: {text}");
        assert_eq!((stage.attached(), stage.pins()), before, "{words:?}");
    }
    let text = stage.run(&["chain", "eth0", "move", "a", "--continue-on", "pas"]).error();
    assert!(text.contains("unknown verdict `pas`"), "{text}");
    // Pins that were removed: what remains is not taken for the whole.
    let is_of_a = |pin: &&PathBuf| pin.to_str().unwrap().contains("/a-") && pin.ends_with(PLACE);
    let lost = before.1.iter().find(is_of_a).unwrap();
    fs::remove_file(stage.xway.state().join("bpf").join(lost)).unwrap();
    let text = error(&stage, &["remove", "b"]);
    assert!(text.contains("pins of 1 members are missing"), "{text}");
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!((stage.attached(), stage.kept()), (vec![], 0));
}

/// The kernel allows 64 maps for a program; each member has two here, so from some number on they
/// are programs of their own, up to the kernel's limit of tail calls.
#[test]
fn a_member_that_fails_only_in_company_is_refused_as_such() {
    let stage = Stage::new();
    let mut before = Vec::new();
    for number in 1..=33 {
        changed(&stage, &["add", &object("seen"), "--name", &format!("m{number}")]);
        before = stage.attached();
    }
    let report = chain(&stage, &["show"]).json(0);
    assert_eq!(report["form"], "tail-calls", "{report:#}");
    let frame = stage.flow(9).udp(b"x").unwrap();
    stage.send(&frame, 3);
    settle(&stage, "m33", 3);
    let text = error(&stage, &["add", &object("seen"), "--name", "m34"]);
    assert!(text.contains("at most 33 tail calls"), "{text}");
    assert_eq!(stage.attached(), before);
    assert_eq!((packets(&stage, "m1"), packets(&stage, "m33")), ([3, 0], [3, 0]));
}

#[test]
fn programs_of_others_are_not_touched() {
    let stage = Stage::new();
    let object_of_other = foreign();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let program = object_of_other.program("drop_udp").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let link = stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let text = error(&stage, &["add", &object("seen")]);
    assert!(text.contains("which xway did not attach"), "{text}");
    drop(link);
}

/// A chain of eight members of one object.
fn eight(xway: &Xway, net: &TwoHosts) -> Vec<String> {
    let names: Vec<_> = (1..=8).map(|number| format!("m{number}")).collect();
    for name in &names {
        let words = ["chain", "eth0", "add", &object("seen"), "--name", name];
        let answer = xway.run_in(&net.b, &words);
        assert_eq!(answer.code, 0, "{answer:?}");
    }
    names
}

#[test]
fn each_member_counts_each_packet_once_while_the_chain_changes() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let xway = Xway::new();
    let names = eight(&xway, &net);
    let counts = || {
        let report = xway.run_in(&net.b, &["--json", "chain", "eth0", "show"]).json(0);
        let members = report["members"].as_array().unwrap().clone();
        assert_eq!(members.len(), 8, "{report:#}");
        let one = |member: &Value| {
            (member["name"].as_str().unwrap().to_owned(), member["packets"].as_u64().unwrap())
        };
        members.iter().map(one).collect::<BTreeMap<_, _>>()
    };
    // Hosts announce their addresses while the chain is made.
    let before = counts();
    // The campaign `chain` of `make soak` moves members 1000 times.
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let mut random = Random::new(number("XWAY_CHAIN_SEED").unwrap_or(19));
    let traffic = Traffic::start(&net, Source::Redirect);
    for round in 0..number("XWAY_CHAIN_MOVES").unwrap_or(60) {
        let name = random.one(&names);
        let priority = (random.below(900) + 1).to_string();
        let words = ["chain", "eth0", "move", name, "--priority", &priority];
        if round % 5 == 4 {
            // Killed at any point, it leaves the old chain or the new one.
            let mut command = xway.command_in(&net.b, &words);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_micros(random.below(40_000) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            let answer = xway.run_in(&net.b, &words);
            assert_eq!(answer.code, 0, "{answer:?}");
        }
    }
    let sent = traffic.stop();
    assert!(sent > 1000, "{sent}");
    let passed = || {
        let now = counts();
        before.iter().map(|(name, count)| now[name] - count).collect::<Vec<_>>()
    };
    lab::until("the last frames", Duration::from_secs(20), || {
        Ok(passed().iter().all(|count| *count >= sent).then_some(()))
    })
    .unwrap_or_else(|error| panic!("{error}: {sent} sent, {:?}", passed()));
    let passed = passed();
    assert!(passed.iter().all(|count| *count == passed[0]), "{sent} sent, {passed:?}");
}

fn load(stage: &Stage, rules: &str) -> Answer {
    let path = stage.xway.state().join("rules.toml");
    fs::write(&path, rules).unwrap();
    stage.run(&["--json", "filter", "load", "eth0", path.to_str().unwrap()])
}

#[test]
fn a_filter_joins_and_keeps_its_counts_while_rules_and_members_change() {
    let stage = Stage::new();
    stage.json(&["attach", "eth0", &object("seen")]);
    load(&stage, "rules = ['seven: drop udp dport 7', 'few: limit 1kpps per source udp']\n")
        .json(0);
    assert_eq!(names(&changed(&stage, &["show"])), ["filter", "seen"]);
    let [seven, nine] = [7, 9].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&seven, 3);
    stage.send(&nine, 2);
    settle(&stage, "filter", 5);
    assert_eq!((packets(&stage, "filter"), packets(&stage, "seen")), ([5, 3], [2, 0]));

    // Other rules are loaded: the counts of those that remain continue.
    load(
        &stage,
        "rules = ['nine: drop udp dport 9', 'seven: drop udp dport 7', \
         'few: limit 1kpps per source udp']\n",
    )
    .json(0);
    stage.send(&nine, 4);
    settle(&stage, "filter", 9);
    let counted = |stage: &Stage| rules(&show(stage));
    let expected = [("nine", 4), ("seven", 3), ("few", 2)];
    assert_eq!(counted(&stage), expected.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(packets(&stage, "seen"), [2, 0], "and those of the other member");
    // Other members change: the filter's counts continue as well.
    changed(&stage, &["add", &object("seen"), "--name", "first", "--priority", "1"]);
    changed(&stage, &["move", "filter", "--priority", "500"]);
    stage.send(&seven, 1);
    settle(&stage, "filter", 10);
    assert_eq!(names(&changed(&stage, &["show"])), ["first", "seen", "filter"]);
    assert_eq!((packets(&stage, "seen"), packets(&stage, "filter")), ([3, 0], [10, 8]));
    let expected = [("nine", 4), ("seven", 4), ("few", 2)];
    assert_eq!(counted(&stage), expected.map(|(name, count)| (name.to_owned(), count)));

    // A broken rule changes nothing.
    let before = stage.attached();
    load(&stage, "rules = ['drop udp dprot 7']\n").error();
    assert_eq!(stage.attached(), before);
    // Without the others it is a filter as any; without it, the others continue.
    changed(&stage, &["remove", "first"]);
    stage.run(&["filter", "unload", "eth0"]).ended(0);
    assert_eq!(names(&changed(&stage, &["show"])), ["seen"]);
    assert_eq!(packets(&stage, "seen"), [3, 0]);
    load(&stage, "rules = ['seven: drop udp dport 7']\n").json(0);
    changed(&stage, &["remove", "seen"]);
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    assert_eq!(counted(&stage).len(), 2);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

/// `forward` asks veth for VLAN tags, and so does a rule with `vlan`: the program is bound to the
/// device.
#[test]
fn a_filter_joins_a_router_in_one_command() {
    let stage = Stage::new();
    stage.run(&["forward", "eth0"]).ended(0);
    let text = "rules = ['five: drop vlan 5', 'seven: drop udp dport 7']\n";
    load(&stage, text).json(0);
    assert_eq!(names(&changed(&stage, &["show"])), ["filter", "forward"]);
    let [seven, nine] = [7, 9].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&seven, 3);
    stage.send(&nine, 2);
    settle(&stage, "forward", 2);
    let before = packets(&stage, "forward");
    changed(&stage, &["add", &object("seen"), "--priority", "150"]);
    stage.send(&nine, 1);
    settle(&stage, "seen", 1);
    assert_eq!(names(&changed(&stage, &["show"])), ["filter", "seen", "forward"]);
    settle(&stage, "forward", before[0] + 1);
    assert_eq!(packets(&stage, "filter")[1], 3);
    changed(&stage, &["remove", "filter"]);
    changed(&stage, &["remove", "seen"]);
    assert_eq!(names(&changed(&stage, &["show"])), ["forward"]);
}

/// Inlined, each path of `drop` meets each path of the filter, over the limit of the verifier:
/// as functions, they are verified one by one.
#[test]
fn programs_with_many_paths_are_composed_as_functions() {
    let stage = Stage::new();
    load(&stage, "rules = ['seven: drop udp dport 7', 'few: limit 1kpps per source udp']\n")
        .json(0);
    stage.json(&["drop", "eth0", "any udp 8"]);
    let members = changed(&stage, &["move", "drop", "--priority", "1"]);
    assert_eq!(names(&members), ["drop", "filter"]);
    for (port, count) in [(7, 3), (8, 2), (9, 1)] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
    }
    settle(&stage, "drop", 6);
    assert_eq!((packets(&stage, "drop"), packets(&stage, "filter")), ([6, 2], [4, 3]));
    // The form is recorded, so the next change begins with it; the filter alone is inlined again.
    changed(&stage, &["move", "drop", "--priority", "2"]);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 1);
    settle(&stage, "drop", 7);
    changed(&stage, &["remove", "drop"]);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 1);
    settle(&stage, "filter", 6);
}

/// A program without bytes of its stack to spare, and one with a license that does not go with the
/// others', are called by tail calls. Counts and maps continue when the form changes.
#[test]
fn what_cannot_be_composed_is_chained_by_tail_calls() {
    let stage = Stage::new();
    load(&stage, "rules = ['seven: drop udp dport 7']\n").json(0);
    changed(&stage, &["add", &object("seen"), "--name", "a"]);
    let [seven, nine] = [7, 9].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&nine, 2);
    settle(&stage, "a", 2);
    let show = || chain(&stage, &["show"]).json(0);
    assert_eq!((&show()["form"], &show()["reason"]), (&"composed".into(), &Value::Null));

    changed(&stage, &["add", &object("deep")]);
    let report = show();
    assert_eq!(report["form"], "tail-calls", "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("stack"), "{report:#}");
    stage.send(&seven, 3);
    stage.send(&nine, 4);
    settle(&stage, "deep", 4);
    let seen = ["filter", "a", "deep"].map(|name| packets(&stage, name));
    assert_eq!(seen, [[9, 3], [6, 0], [4, 0]]);
    // Rules are changed in place, and members by name.
    stage.run(&["filter", "add", "eth0", "nine: drop udp dport 9"]).ended(0);
    changed(&stage, &["move", "a", "--priority", "1"]);
    stage.send(&nine, 1);
    settle(&stage, "a", 7);
    assert_eq!((packets(&stage, "filter"), packets(&stage, "deep")), ([10, 4], [4, 0]));
    changed(&stage, &["remove", "deep"]);
    assert_eq!(show()["form"], "composed");

    let path = stage.xway.state().join("own.o");
    let licensed = fs::read(object("seen")).unwrap();
    let place = licensed.windows(12).position(|text| text == b"Dual MIT/GPL").unwrap();
    let mut other = licensed.clone();
    other[place..place + 12].copy_from_slice(b"Proprietary\0");
    fs::write(&path, other).unwrap();
    changed(&stage, &["add", path.to_str().unwrap(), "--priority", "50"]);
    let report = show();
    assert!(report["reason"].as_str().unwrap().contains("\"Proprietary\""), "{report:#}");
    stage.send(&nine, 2);
    settle(&stage, "own", 2);
    assert_eq!((packets(&stage, "a"), packets(&stage, "filter")), ([9, 0], [12, 6]));
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!((stage.attached(), stage.kept()), (vec![], 0));
}

/// The rule with `vlan` binds the filter to its device, and the kernel lets no tail call reach it:
/// it is a part of main, from which the other members are called.
#[test]
fn a_program_that_is_bound_to_its_device_calls_the_others() {
    let stage = Stage::new();
    load(&stage, "rules = ['five: drop vlan 5', 'seven: drop udp dport 7']\n").json(0);
    let before = stage.attached();
    let added = stage.run(&["--json", "chain", "eth0", "add", &object("deep")]);
    if added.code != 0 {
        // An earlier kernel refuses tail calls in a program that is bound.
        let text = added.error();
        println!("{text}");
        assert!(text.contains("accepts each of the 2 programs, but not the chain"), "{text}");
        assert!(text.contains("stack") && text.contains("`filter` queries its device"), "{text}");
        assert_eq!(stage.attached(), before);
        changed(&stage, &["add", &object("seen")]);
        return;
    }
    changed(&stage, &["add", &object("seen"), "--priority", "50"]);
    let report = chain(&stage, &["show"]).json(0);
    assert_eq!(report["form"], "tail-calls", "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("stack"), "{report:#}");
    let [seven, nine] = [7, 9].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&seven, 3);
    stage.send(&nine, 2);
    settle(&stage, "deep", 2);
    let seen = ["seen", "filter", "deep"].map(|name| packets(&stage, name));
    assert_eq!(seen, [[5, 0], [5, 3], [2, 0]]);
    // Counts and rules continue in each form.
    stage.run(&["filter", "add", "eth0", "nine: drop udp dport 9"]).ended(0);
    stage.send(&nine, 1);
    settle(&stage, "filter", 6);
    assert_eq!((packets(&stage, "filter"), packets(&stage, "deep")), ([6, 4], [2, 0]));
    assert_eq!(rules(&show(&stage)).iter().map(|rule| rule.1).collect::<Vec<_>>(), [0, 3, 1]);
    changed(&stage, &["remove", "deep"]);
    assert_eq!(chain(&stage, &["show"]).json(0)["form"], "composed");
    assert_eq!((packets(&stage, "seen"), packets(&stage, "filter")), ([6, 0], [6, 4]));
}
