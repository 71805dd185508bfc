//! Failures around a filter: they are reported, counted, or both; and for those that the filter
//! cannot handle, the resulting state is tested here.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use filter::maps::BANS;
use filter::runtime::bans::Bans;
use kernel::Map;
use lab::{Capture, LinkOptions, until};
use serde_json::{Value, json};
use spec::Map as _;
use xway_tests::filter::{
    because, counted, expected, file, fragment, load, rules, sampling, show, total,
};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Answer;

/// Two programs are verified as one.
const LONG: Duration = Duration::from_secs(60);

fn to(stage: &Stage, port: u16) -> Vec<u8> {
    stage.flow(port).udp(b"x").unwrap()
}

/// A map of the active filter, by its pin.
fn map(stage: &Stage, name: &str) -> Map {
    let pin: PathBuf =
        stage.pins().into_iter().find(|pin| pin.ends_with(format!("maps/{name}"))).unwrap();
    Map::from_pin(&stage.xway.state().join("bpf").join(pin)).unwrap()
}

fn ip(stage: &Stage, words: &[&str]) {
    let done = stage.net.b.command("ip").unwrap().args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// What is kept of a first fragment is the number of the rule that decided it, and after a change
/// that is the number of another rule.
#[test]
fn fragments_of_before_a_change_are_unknown_after_it() {
    let stage = Stage::new();
    let [old, new] = [
        ("old", "default = 'drop'\nrules = ['nine: pass udp dport 9', 'seven: pass udp dport 7']"),
        ("new", "default = 'drop'\nrules = ['seven: pass udp dport 7', 'tcp: drop tcp']"),
    ]
    .map(|(name, text)| file(&stage, &format!("{name}.toml"), text));
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    stage.send(&fragment(&stage, 7, 1, 0), 1);
    stage.send(&fragment(&stage, 7, 1, 2), 1);
    let shown = counted(&stage, 2);
    assert_eq!(
        (because(&shown, "pass", "rule"), because(&shown, "pass", "later-fragment")),
        (1, 1)
    );
    assert_eq!(map(&stage, "filter_fragments").keys().unwrap().len(), 1);

    stage.run(&["filter", "load", "eth0", &new]).ended(0);
    assert_eq!(map(&stage, "filter_fragments").keys().unwrap(), Vec::<Vec<u8>>::new());
    stage.send(&fragment(&stage, 7, 1, 4), 1);
    let shown = counted(&stage, 3);
    assert_eq!(because(&shown, "drop", "unknown-fragment"), 1, "{shown:#}");
    for (number, offset) in (4..).zip([0, 2]) {
        stage.send(&fragment(&stage, 7, 2, offset), 1);
        counted(&stage, number);
    }
    assert_eq!(because(&show(&stage), "pass", "later-fragment"), 2, "those that came since");
}

#[test]
fn an_interface_that_goes_away_takes_its_filter_along() {
    let stage = Stage::new();
    load(&stage, &["ban 60s udp dport 7", "drop udp dport 8"]);
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    stage.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    let table: [&[&str]; 6] = [
        &["show", "eth0"],
        &["bans", "eth0"],
        &["add", "eth0", "drop udp dport 9"],
        &["ban", "eth0", "192.0.2.1"],
        &["flush", "eth0"],
        &["unload", "eth0"],
    ];
    for words in table {
        let told = stage.run(&[&["filter"], words].concat()).error();
        assert!(told.contains("no interface `eth0` here; there are lo"), "{words:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    assert!(stage.pins().is_empty(), "swept by those who tried to write: {:?}", stage.pins());
}

#[test]
fn an_interface_that_goes_away_under_a_trial_ends_it() {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 8"]);
    let before = stage.attached();
    let new = file(&stage, "new.toml", "rules = ['all: drop']");
    let words = ["--json", "filter", "try", "eth0", &new, "--for", "60s"];
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let trial = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the trial", LONG, || Ok((stage.attached() != before).then_some(()))).unwrap();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    stage.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    let tried = Answer::of(trial.wait_with_output().unwrap()).json(1);
    assert_eq!(tried["ended"], "rules-changed");
    stage.run(&["detach", "lo"]).ended(1);
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn where_a_rule_sends_packets_may_go_away() {
    let stage = Stage::new();
    ip(&stage, &["link", "add", "out0", "type", "veth", "peer", "name", "out1"]);
    load(&stage, &["out: redirect out0 from 10.0.0.1", "nine: drop from 10.0.0.9"]);
    ip(&stage, &["link", "delete", "out0"]);
    stage.send(&to(&stage, 7), 1);
    let shown = counted(&stage, 1);
    assert_eq!(because(&shown, "drop", "rule"), 1, "it is not for this host: {shown:#}");
    assert_eq!(rules(&shown), expected(&[("out", 1), ("nine", 0)]));
    let told = stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).error();
    assert!(told.contains("out0"), "the rule to be removed is named: {told}");
    assert_eq!(rules(&show(&stage)), expected(&[("out", 1), ("nine", 0)]));
    stage.run(&["filter", "remove", "eth0", "out"]).ended(0);
    assert_eq!(rules(&show(&stage)), expected(&[("nine", 0)]));
}

#[test]
fn samples_that_come_faster_than_they_are_read_are_reported() {
    // Of 168 and 8 bytes each in 1 MiB.
    const MORE_THAN_FIT: usize = 7000;
    let stage = Stage::new();
    load(&stage, &["all: sample 1/1 udp dport 7"]);
    let capture = stage.xway.state().join("samples.pcapng");
    let reader = sampling(&stage, &["--for", "60s", "--count", "2000"], &capture);
    hold(&reader, true);
    stage.send(&to(&stage, 7), MORE_THAN_FIT);
    let shown = counted(&stage, MORE_THAN_FIT as u64);
    assert_eq!(because(&shown, "pass", "default"), MORE_THAN_FIT as u64, "none is lost by that");
    hold(&reader, false);
    let sampled = Answer::of(reader.wait_with_output().unwrap()).json(0);
    assert_eq!(sampled["packets"], 2000, "{}", sampled["lost"]);
    let lost = lost(&stage);
    assert!(lost > 0 && lost < MORE_THAN_FIT as u64, "{lost}");
    assert_eq!(sampled["lost"], lost);
}

/// Stops a process, or lets it continue.
fn hold(child: &Child, stopped: bool) {
    let signal = if stopped { "STOP" } else { "CONT" };
    let pid = child.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-s", signal, &pid]).status().unwrap().success());
}

/// Samples that found no room.
fn lost(stage: &Stage) -> u64 {
    use filter::abi::Event;
    let events = filter::runtime::actions::events(&map(stage, "filter_events")).unwrap();
    events.iter().find(|(event, _)| *event == Event::SampleLost).unwrap().1
}

#[test]
fn a_full_map_of_bans_is_reported_and_lets_nothing_pass() {
    let stage = Stage::new();
    load(&stage, &["seven: ban 60s udp dport 7"]);
    let bans = map(&stage, BANS);
    let most = bans.max_entries();
    for number in 0..most {
        let source = Ipv4Addr::from_bits(0x0b00_0000 + number);
        Bans::new(&bans).add(IpAddr::V4(source), None, 0).unwrap();
    }
    let told = stage.run(&["filter", "ban", "eth0", "192.0.2.1"]).error();
    assert!(told.contains("192.0.2.1 was not banned"), "{told}");
    assert!(told.contains("E2BIG") || told.contains("full"), "{told}");
    // The rule drops what it cannot ban.
    stage.send(&to(&stage, 7), 2);
    let shown = counted(&stage, 2);
    assert_eq!(because(&shown, "drop", "rule"), 2, "{shown:#}");
    stage.run(&["filter", "unban", "eth0", "11.0.0.0"]).ended(0);
    stage.run(&["filter", "ban", "eth0", "192.0.2.1"]).ended(0);
}

/// Unmounting the file system of pins detaches the programs that it held: the kernel has no other
/// holder.
#[test]
fn without_its_pins_a_filter_is_gone_and_reported_so() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    sys::mount::unmount(&stage.xway.state().join("bpf")).unwrap();
    until("the end of the link", PATIENCE, || Ok(stage.attached().is_empty().then_some(())))
        .unwrap();
    let told = stage.run(&["filter", "show", "eth0"]).error();
    assert!(told.contains("no filter runs on eth0"), "{told}");
    load(&stage, &["seven: drop udp dport 7"]);
    stage.send(&to(&stage, 7), 1);
    assert_eq!(rules(&counted(&stage, 1)), expected(&[("seven", 1)]));
}

#[test]
fn a_set_that_vanishes_between_check_and_load_changes_nothing() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = stage.attached();
    let list = file(&stage, "bad.txt", "10.0.0.1\n");
    let text = "rules = ['bad: drop from @bad']\n[sets]\nbad = { file = 'bad.txt' }\n";
    let new = file(&stage, "new.toml", text);
    stage.run(&["filter", "check", &new]).ended(0);
    for spoil in [
        |path: &str| std::fs::remove_file(path).unwrap(),
        |path: &str| std::fs::write(path, "10.0.0.1\n10.0.0.").unwrap(),
        |path: &str| std::fs::write(path, [0xff, 0xfe, 0]).unwrap(),
    ] {
        spoil(&list);
        for words in [&["load", "eth0", &new][..], &["try", "eth0", &new], &["check", &new]] {
            let told = stage.run(&[&["filter"], words].concat()).error();
            assert!(told.contains("bad.txt"), "{words:?}: {told}");
            assert_eq!((stage.attached(), rules(&show(&stage)).len()), (before.clone(), 1));
        }
    }
}

/// With a large MTU it is the entry for frames of several buffers that runs.
#[test]
fn frames_of_several_buffers_are_judged_on_an_interface() {
    const LENGTH: usize = 6000;
    let stage = Stage::with(&LinkOptions { mtu: 9000, gro: true, ..LinkOptions::default() });
    let text = "rules = ['seven: drop udp dport 7', 'long: count length > 5000', \
                'tagged: drop vlan 5']";
    let rules_file = file(&stage, "long.toml", text);
    stage.run(&["filter", "load", "eth0", &rules_file]).ended(0);
    // The kernel keeps 15 letters of a name.
    assert_eq!(stage.status()["programs"][0]["name"], "xway_filter_fra");
    let long = |port| stage.flow(port).udp_of_length(LENGTH).unwrap();
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    let tagged = stage.flow(8).vlan(5).udp_of_length(LENGTH).unwrap();
    for frame in [&long(7), &long(8), &to(&stage, 7), &to(&stage, 8), &tagged] {
        stage.send(frame, 1);
    }
    wire.next(PATIENCE, |seen| seen == long(8)).unwrap();
    let shown = counted(&stage, 5);
    assert_eq!(rules(&shown), expected(&[("seven", 2), ("long", 2), ("tagged", 1)]));
    let bytes = (long(7).len() + to(&stage, 7).len()) as u64;
    assert_eq!(shown["rules"][0]["bytes"], bytes, "of whole frames");
    // A change and a trial find the right entry, too.
    stage.run(&["filter", "add", "eth0", "drop udp dport 8", "--name", "eight"]).ended(0);
    let tried: Value =
        stage.run(&["--json", "filter", "try", "eth0", &rules_file, "--for", "100ms"]).json(0);
    assert_eq!(tried["changed"]["packets"], json!(0));
    stage.send(&long(8), 1);
    assert_eq!(total(&counted(&stage, 6)), 6);
    assert_eq!(rules(&show(&stage)).last(), Some(&("eight".to_owned(), 1)));
}
