//! `bench run drop` and `pass`: packets end at every hook, are counted where they ended, and
//! nothing remains of a removed hook. Speed is not tested.

use std::net::UdpSocket;
use std::time::Duration;

use bench::Testbed;
use bench::field::{Field, PORT};
use bench::hook::{self, ActiveHook, Hook};
use lab::until;
use serde_json::Value;
use sys::net::PacketSocket;
use xway_tests::cell::is_held_up;
use xway_tests::xway::{Answer, Xway};

#[test]
fn each_hook_ends_and_counts_its_packets_alone_and_leaves_nothing() {
    let mut unlike = 0;
    for hook in hook::ALL {
        let field = Field::build(&Testbed::Lab).unwrap();
        let empty = remains(&field);
        assert!(empty.iter().all(String::is_empty), "{empty:?}");
        let set = match (hook.set)(&field) {
            Ok(set) => set,
            Err(fault) => {
                assert!(!ALWAYS.contains(&hook.name), "{}: {fault:#}", hook.name);
                println!("{} is not here: {fault:#}", hook.name);
                continue;
            }
        };
        unlike += usize::from(remains(&field) != empty);
        if hook.name != hook::limit::NAME {
            assert!(arrives(&field, PORT + 1), "{} ends packets for others", hook.name);
            assert_eq!(set.ended().unwrap(), 0, "{} counts packets for others", hook.name);
        }
        counts(&field, hook, set.as_ref());
        drop(set);
        assert_eq!(remains(&field), empty, "what {} left", hook.name);
        assert!(arrives(&field, PORT), "packets still end at {}", hook.name);
        // Nothing of it is in the way of the next round.
        drop((hook.set)(&field).unwrap());
    }
    assert!(unlike >= 2, "what is left is looked for in the wrong place");
}

/// Some packets end there, and never more than there were.
fn counts(field: &Field, hook: &Hook, set: &dyn ActiveHook) {
    let flood = field.flood(Some(20_000), LONG).unwrap();
    let start = set.ended().unwrap();
    until(hook.name, LONG, || Ok((set.ended().unwrap() > start + 100).then_some(()))).unwrap();
    let ended = set.ended().unwrap() - start;
    let given = flood.given();
    assert!(ended <= given, "{}: {ended} ended of {given}", hook.name);
}

/// Whether a packet to this port gets to a socket.
fn arrives(field: &Field, port: u16) -> bool {
    let address = (field.receiver.ipv4().unwrap(), port);
    let socket = field.receiver.run(|| UdpSocket::bind(address)).unwrap().unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let ifindex = field.sender.ifindex().unwrap();
    let sender = field.sender.run(|| PacketSocket::open(ifindex)).unwrap().unwrap();
    sender.send(&field.frame(port).unwrap()).unwrap();
    socket.recv(&mut [0; 2048]).is_ok()
}

/// Rules, queueing disciplines and programs at the receiver, as the tools list them; empty where
/// there are none. A table or chain without rules may remain.
fn remains(field: &Field) -> [String; 4] {
    let listed = |program: &str, words: &[&str], marks: &[&str]| {
        let output = field.receiver.command(program).unwrap().args(words).output();
        // A tool that is not here has no rules.
        let text =
            output.map(|output| String::from_utf8(output.stdout).unwrap()).unwrap_or_default();
        let lines = text.lines().filter(|line| marks.iter().any(|mark| line.contains(mark)));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let device = field.receiver.device();
    let xdp = field.receiver.link().unwrap().xdp;
    [
        listed("nft", &["list", "ruleset"], &["dport", "xway"]),
        listed("iptables-legacy-save", &[], &["-A"]),
        listed("tc", &["qdisc", "show", "dev", device], &["clsact", "ingress"]),
        xdp.programs().map(|(mode, _)| mode.name()).collect::<Vec<_>>().join(" "),
    ]
}

#[test]
fn a_short_run_has_every_row_or_a_reason() {
    let report = run("drop", None);
    let names: Vec<&str> = hook::ALL.iter().map(|hook| hook.name).collect();
    for name in &names {
        match (row(&report, name), absent(&report, name)) {
            (Some(row), None) => {
                assert_eq!(row["unit"], "pps");
                assert!((3..=5).contains(&row["rounds"].as_u64().unwrap()), "{row}");
                assert!(row["min"].as_f64().unwrap() > 0.0, "{row}");
                for what in ["offered", "lost"] {
                    assert!(self::row(&report, &format!("{what}/{name}")).is_some(), "{what}");
                }
            }
            (None, Some(reason)) => {
                assert!(!reason.is_empty(), "{name}");
                assert!(!ALWAYS.contains(name) || is_held_up(reason), "{name}: {reason}");
            }
            both => panic!("{name}: {both:?}"),
        }
    }
    let figure = &report["figures"][0];
    assert!(figure["references"].as_array().unwrap().len() >= 8, "{figure}");
    let times = report["rows"].as_array().unwrap().iter();
    let mut times = times.filter(|row| row["unit"] == "ns");
    assert!(times.all(|row| row["median"].as_f64().unwrap() > 0.0), "{report}");

    let report = run("pass", None);
    let [raw, behind] = ["raw", "raw-behind-xdp"].map(|name| row(&report, name));
    match absent(&report, "raw-behind-xdp") {
        None => assert!(raw.is_some() && behind.is_some(), "{report}"),
        Some(reason) => assert!(reason.contains("nft") || is_held_up(reason), "{reason}"),
    }
}

#[test]
fn a_missing_tool_is_reported_and_the_others_are_measured() {
    let report = run("drop", Some("/nonexistent"));
    for hook in hook::ALL {
        let name = hook.name;
        let tool = [("nft", "nft"), ("conntrack", "nft"), ("iptables", "iptables-legacy")]
            .into_iter()
            .find(|(prefix, _)| name.starts_with(prefix));
        let reason = absent(&report, name);
        if reason.is_some_and(is_held_up) {
            continue;
        }
        assert_eq!(row(&report, name).is_some(), tool.is_none(), "{name}: {reason:?}");
        if let Some((_, tool)) = tool {
            let wanted = format!("there is no {tool} in PATH");
            assert!(reason.unwrap().contains(&wanted), "{name}: {reason:?}");
        }
    }
    let ratios = report["ratios"].as_array().unwrap();
    let is_here = |name: &&str| row(&report, name).is_some();
    if ["xdp-native", "tc-bpf"].iter().all(is_here) {
        assert!(ratios.iter().any(|ratio| ratio["a"] == "xdp-native" && ratio["b"] == "tc-bpf"));
    }
    assert!(ratios.iter().all(|ratio| ratio["b"] != "nft-raw"));

    let xway = Xway::new();
    let mut command = xway.command(&["bench", "run", "pass", "--seconds", "0.05"]);
    let answer = Answer::of(command.env("PATH", "/nonexistent").output().unwrap());
    assert!(answer.error().contains("there is no nft in PATH"), "nothing to measure without it");
}

/// The result of one scenario, optionally with another search path for tools.
fn run(scenario: &str, path: Option<&str>) -> Value {
    let xway = Xway::new();
    let words = ["bench", "run", scenario, "--rounds", "5", "--seconds", "0.05", "--json"];
    let mut command = xway.command(&words);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    Answer::of(command.output().unwrap()).json(0)
}

fn row<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["rows"].as_array()?.iter().find(|row| row["name"] == name)
}

fn absent<'a>(report: &'a Value, name: &str) -> Option<&'a str> {
    let gone = report["absent"].as_array()?.iter().find(|gone| gone["name"] == name)?;
    gone["reason"].as_str()
}

/// Hooks of every kernel that runs these tests, which need no installation.
const ALWAYS: [&str; 6] = ["socket", "tc-bpf", "xdp-generic", "af-xdp", "xdp-native", "limit"];
/// To wait for packets.
const LONG: Duration = Duration::from_secs(5);
