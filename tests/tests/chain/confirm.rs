//! Changes of a chain with `--confirm`: without `xway confirm`, the previous chain decides again.

use std::net::UdpSocket;
use std::time::Duration;

use kernel::{Binding, LoadOptions, Object};
use lab::until;
use serde_json::Value;
use spec::asm::Reg::{R2, R3};
use spec::asm::{Assembler, Helper};
use spec::{MapKind, ProgramKind, Verdict};
use xway_tests::filter::{expected, file, load, rules, show};
use xway_tests::program::map;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::prebuilt;

fn object(name: &str) -> String {
    prebuilt(&format!("test/{name}.o")).to_str().unwrap().to_owned()
}

fn send(stage: &Stage, port: u16, count: usize) {
    stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
}

/// Name, packets, and packets that it dropped, of each member in order.
fn members(stage: &Stage) -> Vec<(String, u64, u64)> {
    let shown = stage.json(&["chain", "eth0", "show"]);
    let number = |value: &Value| value.as_u64().unwrap();
    let member = |one: &Value| {
        let name = one["name"].as_str().unwrap().to_owned();
        (name, number(&one["packets"]), number(&one["verdicts"]["drop"]))
    };
    shown["members"].as_array().unwrap().iter().map(member).collect()
}

/// Waits until these are the members with these counts, to the packet.
#[track_caller]
fn settle(stage: &Stage, wanted: &[(&str, u64, u64)]) {
    let named = |one: &(&str, u64, u64)| (one.0.to_owned(), one.1, one.2);
    let wanted: Vec<_> = wanted.iter().map(named).collect();
    let is_there = || Ok((members(stage) == wanted).then_some(()));
    if until("packets", PATIENCE, is_there).is_err() {
        assert_eq!(members(stage), wanted);
    }
}

/// A datagram arrives at this port of host `b` again, while no command runs.
fn arrives_again(stage: &Stage, port: u16) -> usize {
    let address = (stage.net.b.ipv4("eth0").unwrap(), port);
    let socket = stage.net.b.run(|| UdpSocket::bind(address)).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut sent = 0;
    let arrives = || {
        send(stage, port, 1);
        sent += 1;
        Ok(socket.recv(&mut [0; 16]).ok())
    };
    until("a datagram arrives again", PATIENCE, arrives).unwrap();
    sent
}

/// `drop` before an object that counts.
fn chain() -> Stage {
    let stage = Stage::new();
    stage.json(&["drop", "eth0", "any udp 5"]);
    stage.json(&["chain", "eth0", "add", &object("seen")]);
    stage
}

#[test]
fn the_previous_chain_decides_again_without_a_process() {
    let stage = chain();
    send(&stage, 5, 1);
    send(&stage, 9, 1);
    settle(&stage, &[("drop", 2, 1), ("seen", 1, 0)]);
    let before = (stage.attached(), stage.pins());
    let blocking = object("seen");
    let blocking = [&blocking, "--name", "block", "--set", "verdict=1", "--priority", "1"];
    let new = file(&stage, "new.toml", "rules = ['drop udp dport 9']");
    let changes: [&[&str]; 2] =
        [&[&["chain", "eth0", "add"], &blocking[..]].concat(), &["filter", "load", "eth0", &new]];
    let mut counts = (2, 1);
    for change in changes {
        stage.run(&[change, &["--confirm", "2s"]].concat()).ended(0);
        assert_ne!(stage.attached(), before.0, "{change:?}");
        let sent = arrives_again(&stage, 9);
        // All but those of the time before the deadline were counted by the members that returned.
        let members = members(&stage);
        assert_eq!((stage.attached(), stage.pins()), before, "{change:?}");
        assert_eq!((members[0].1 - counts.0, members[0].2, members[1].1 - counts.1), (1, 1, 1));
        assert!(sent > 1, "{change:?}: the new chain dropped some");
        counts = (members[0].1, members[1].1);
        let error = stage.run(&["confirm", "eth0"]).error();
        assert!(error.contains("no change of eth0 waits for a confirmation"), "{error}");
    }
}

#[test]
fn a_removed_member_returns_with_its_counts() {
    let stage = chain();
    send(&stage, 5, 2);
    send(&stage, 9, 3);
    settle(&stage, &[("drop", 5, 2), ("seen", 3, 0)]);
    stage.run(&["chain", "eth0", "remove", "drop", "--confirm", "1h"]).ended(0);
    send(&stage, 5, 4);
    settle(&stage, &[("seen", 7, 0)]);
    let listed = stage.json(&["confirm", "--list"]);
    assert_eq!(listed["changes"][0]["program"], "seen", "{listed:#}");
    stage.run(&["confirm", "--revert"]).ended(0);
    settle(&stage, &[("drop", 5, 2), ("seen", 7, 0)]);
    send(&stage, 5, 1);
    settle(&stage, &[("drop", 6, 3), ("seen", 7, 0)]);
    // Added again in the same change, it counts apart from the one that may return.
    let again = ["chain", "eth0", "move", "seen", "--priority", "50", "--confirm", "1h"];
    stage.run(&again).ended(0);
    send(&stage, 5, 1);
    settle(&stage, &[("seen", 8, 0), ("drop", 7, 4)]);
    stage.run(&["confirm", "--revert"]).ended(0);
    assert_eq!(stage.kept(), 2, "{:?}", stage.pins());
    settle(&stage, &[("drop", 7, 4), ("seen", 8, 0)]);
}

/// Whether the kernel loads a program that is bound to its device and makes a tail call.
fn bound_may_call(stage: &Stage) -> bool {
    let array = map("array", MapKind::PROG_ARRAY, [4, 4, 1]);
    let mut a = Assembler::new("calls", ProgramKind::XDP);
    a.load_map(R2, "array").mov(R3, 0).call(Helper::TAIL_CALL).verdict(Verdict::Pass);
    let binding = Binding::Device(stage.net.b.ifindex("eth0").unwrap());
    let options = LoadOptions { binding, ..LoadOptions::default() };
    let object = xway_tests::program::object(vec![array], vec![a]);
    stage.net.b.run(|| Object::load(&object, &options)).unwrap().is_ok()
}

/// In native mode of veth, `forward` reads VLAN tags from the device, which binds it: it returns to
/// a program that is not bound, and the kernel lets nothing return to it. In generic mode no
/// program sees the tags.
#[test]
fn a_router_joins_a_chain_until_it_is_confirmed() {
    for mode in ["native", "generic"] {
        let stage = Stage::new();
        stage.json(&["drop", "eth0", "any udp 5", "--mode", mode]);
        let before = (stage.attached(), stage.pins());
        let tags = "--ignore-stripped-tags";
        let forward = ["forward", "eth0", "--mode", mode, tags, "--confirm", "1h"];
        if mode == "native" && !bound_may_call(&stage) {
            let text = stage.run(&forward).error();
            assert!(text.contains("new program reads VLAN tags from the device"), "{text}");
            assert_eq!((stage.attached(), stage.pins()), before);
            continue;
        }
        stage.run(&forward).ended(0);
        for port in [5, 9] {
            send(&stage, port, 2);
        }
        settle(&stage, &[("drop", 4, 2), ("forward", 2, 0)]);
        let text = stage.run(&["chain", "eth0", "remove", "drop"]).error();
        assert!(text.contains("waits for a confirmation"), "{text}");
        stage.run(&["confirm", "--revert"]).ended(0);
        assert_eq!((stage.attached(), stage.pins()), before);
        stage.run(&forward).ended(0);
        stage.run(&["confirm"]).ended(0);
        send(&stage, 5, 1);
        settle(&stage, &[("drop", 5, 3), ("forward", 0, 0)]);
        if mode == "native" {
            let remove = ["chain", "eth0", "remove", "drop", "--confirm", "1h"];
            let text = stage.run(&remove).error();
            assert!(text.contains("cannot be kept to return to it"), "{text}");
            assert!(text.contains("that reads VLAN tags"), "{text}");
            settle(&stage, &[("drop", 5, 3), ("forward", 0, 0)]);
        }
    }
}

/// A rule with `vlan` binds the filter to its device. After the deadline it runs the previous one.
#[test]
fn a_bound_program_returns_to_the_previous_one() {
    let stage = Stage::new();
    load(&stage, &["five: drop udp dport 5"]);
    let before = (stage.attached(), stage.pins());
    let new = "rules = ['tagged: drop vlan 5', 'nine: drop udp dport 9']";
    let change = ["filter", "load", "eth0", &file(&stage, "new.toml", new), "--confirm", "2s"];
    if !bound_may_call(&stage) {
        let text = stage.run(&change).error();
        assert!(text.contains("new program reads VLAN tags from the device"), "{text}");
        assert_eq!((stage.attached(), stage.pins()), before);
        return;
    }
    stage.run(&change).ended(0);
    assert_ne!(stage.attached(), before.0);
    arrives_again(&stage, 9);
    send(&stage, 5, 1);
    let counted = || Ok((rules(&show(&stage)) == expected(&[("five", 1)])).then_some(()));
    until("the rule that returned counts", PATIENCE, counted).unwrap();
    assert_eq!((stage.attached(), stage.pins()), before);
}

#[test]
fn a_confirmed_change_persists_and_counts_on() {
    let stage = chain();
    load(&stage, &["seven: drop udp dport 7"]);
    send(&stage, 7, 1);
    settle(&stage, &[("filter", 1, 1), ("drop", 0, 0), ("seen", 0, 0)]);
    let new = "rules = ['seven: drop udp dport 7', 'eight: drop udp dport 8']";
    let new = file(&stage, "new.toml", new);
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h"]).ended(0);
    for port in [5, 7, 8, 9] {
        send(&stage, port, 1);
    }
    settle(&stage, &[("filter", 5, 3), ("drop", 2, 1), ("seen", 1, 0)]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 2), ("eight", 1)]));
    let before = stage.attached()[0].1;
    let text = stage.run(&["confirm"]).ended(0);
    assert_eq!(text, "eth0: drop, filter, seen confirmed\n");
    assert_ne!(stage.attached()[0].1, before, "the program without a deadline runs");
    assert_eq!(stage.kept(), 3, "{:?}", stage.pins());
    send(&stage, 8, 1);
    settle(&stage, &[("filter", 6, 4), ("drop", 2, 1), ("seen", 1, 0)]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 2), ("eight", 2)]));
    // It is a chain as any.
    stage.run(&["chain", "eth0", "remove", "drop"]).ended(0);
    send(&stage, 5, 1);
    settle(&stage, &[("filter", 7, 4), ("seen", 2, 0)]);
    assert_eq!(stage.kept(), 2, "{:?}", stage.pins());
    let left = stage.pins();
    let left: Vec<_> = left.iter().filter(|pin| pin.ends_with("maps/xway_deadline")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_unconfirmed_chain_is_not_changed_further() {
    let stage = chain();
    let before = stage.attached();
    let rules = file(&stage, "new.toml", "rules = ['drop udp dport 9']");
    stage.run(&["filter", "load", "eth0", &rules, "--confirm", "1h"]).ended(0);
    let unconfirmed = stage.attached();
    for change in [
        &["filter", "load", "eth0", &rules][..],
        &["filter", "load", "eth0", &rules, "--confirm", "1h"],
        &["filter", "try", "eth0", &rules],
        &["chain", "eth0", "add", &object("seen"), "--name", "b"],
        &["chain", "eth0", "remove", "seen", "--confirm", "1h"],
        &["chain", "eth0", "move", "seen", "--priority", "1"],
        &["drop", "eth0", "--add", "any udp 9"],
        &["capture", "eth0", "--count", "1", "-w", "/dev/null"],
    ] {
        let error = stage.run(change).error();
        assert!(error.contains("waits for a confirmation"), "{change:?}: {error}");
        assert_eq!(stage.attached(), unconfirmed, "{change:?}");
    }
    stage.run(&["confirm", "--revert", "eth0"]).ended(0);
    assert_eq!((stage.attached(), stage.kept()), (before, 2), "{:?}", stage.pins());
    // Without members, nothing could return.
    stage.run(&["chain", "eth0", "remove", "drop"]).ended(0);
    let error = stage.run(&["chain", "eth0", "remove", "seen", "--confirm", "1h"]).error();
    assert!(error.contains("the last member cannot wait"), "{error}");
    settle(&stage, &[("seen", 0, 0)]);
}

/// Members that cannot become one program; the previous chain is composed.
#[test]
fn a_chain_of_tail_calls_returns_to_a_composed_one_and_back() {
    let stage = chain();
    let form = |stage: &Stage| stage.json(&["chain", "eth0", "show"])["form"].clone();
    stage.run(&["chain", "eth0", "add", &object("deep"), "--confirm", "1h"]).ended(0);
    assert_eq!(form(&stage), "tail-calls");
    send(&stage, 5, 1);
    send(&stage, 9, 1);
    settle(&stage, &[("drop", 2, 1), ("seen", 1, 0), ("deep", 1, 0)]);
    stage.run(&["confirm", "eth0"]).ended(0);
    assert_eq!(form(&stage), "tail-calls");
    send(&stage, 9, 1);
    settle(&stage, &[("drop", 3, 1), ("seen", 2, 0), ("deep", 2, 0)]);
    let block = object("seen");
    let block = ["chain", "eth0", "add", &block, "--name", "block", "--set", "verdict=1"];
    stage.run(&[&block[..], &["--priority", "1", "--confirm", "2s"]].concat()).ended(0);
    arrives_again(&stage, 9);
    settle(&stage, &[("drop", 4, 1), ("seen", 3, 0), ("deep", 3, 0)]);
}

#[test]
fn a_killed_confirmation_is_complete_or_has_no_effect() {
    let stage = chain();
    for step in 0..12 {
        let name = format!("m{step}");
        let add = ["chain", "eth0", "add", &object("seen"), "--name", &name, "--confirm", "1h"];
        stage.run(&add).ended(0);
        stage.kill_after(&["confirm"], Duration::from_micros(700 * step));
        let waits = stage.json(&["confirm", "--list"]);
        let names = |stage: &Stage| -> Vec<_> {
            members(stage).into_iter().map(|(name, ..)| name).collect()
        };
        assert_eq!(names(&stage), ["drop", "seen", &name], "step {step}");
        if waits["changes"].as_array().unwrap().is_empty() {
            stage.run(&["chain", "eth0", "remove", &name]).ended(0);
        } else {
            stage.run(&["confirm", "--revert"]).ended(0);
        }
        assert_eq!(names(&stage), ["drop", "seen"], "step {step}");
        assert_eq!(stage.kept(), 2, "step {step}: {:?}", stage.pins());
    }
    send(&stage, 9, 1);
    settle(&stage, &[("drop", 1, 0), ("seen", 1, 0)]);
}

/// A command that is killed leaves the chain as before, or the unconfirmed one, which ends.
#[test]
fn a_killed_change_ends_as_well() {
    let stage = chain();
    let add = ["chain", "eth0", "add", &object("seen"), "--name", "b", "--confirm", "1s"];
    for step in 0..8 {
        stage.kill_after(&add, Duration::from_millis(12 * step));
        let ends = || {
            Ok((stage.json(&["confirm", "--list"])["changes"] == serde_json::json!([]))
                .then_some(()))
        };
        until("the deadline", PATIENCE, ends).unwrap();
        // The next command that writes restores the chain.
        stage.run(&["detach", "lo"]).ended(1);
        settle(&stage, &[("drop", step, 0), ("seen", step, 0)]);
        assert_eq!(stage.kept(), 2, "step {step}: {:?}", stage.pins());
        send(&stage, 9, 1);
        settle(&stage, &[("drop", step + 1, 0), ("seen", step + 1, 0)]);
    }
}
