//! `--confirm` and `xway confirm`: a change that is not confirmed is undone, without any process.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use lab::until;
use spec::Verdict;
use sys::net::XdpExpect;
use xway_tests::filter::{file, rules, show};
use xway_tests::program::{constant, load, object};
use xway_tests::stage::{PATIENCE, Stage};

/// A receiver on host `b`, for one port.
struct Receiver(UdpSocket);

impl Receiver {
    fn new(stage: &Stage, port: u16) -> Self {
        let address = (stage.net.b.ipv4("eth0").unwrap(), port);
        let socket = stage.net.b.run(|| UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self(socket)
    }

    /// Sends one datagram to the port; whether it arrives.
    fn receives(&self, stage: &Stage, port: u16) -> bool {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), 1);
        self.0.recv(&mut [0; 16]).is_ok()
    }

    /// Sends datagrams until one arrives.
    fn waits(&self, stage: &Stage, port: u16) {
        let arrives = || Ok(self.receives(stage, port).then_some(()));
        until("a datagram arrives again", PATIENCE, arrives).unwrap();
    }
}

fn names(stage: &Stage) -> Vec<String> {
    rules(&show(stage)).into_iter().map(|(name, _)| name).collect()
}

fn dropping(stage: &Stage, name: &str, port: u16) -> String {
    file(stage, name, &format!("rules = ['{name}: drop udp dport {port}']"))
}

#[test]
fn without_a_confirmation_the_previous_rules_decide_again() {
    let stage = Stage::new();
    let (old, new) = (dropping(&stage, "old", 9), dropping(&stage, "new", 10));
    let receiver = Receiver::new(&stage, 10);
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "2s"]).ended(0);
    // No command runs until the datagram arrives, so the program itself has returned.
    receiver.waits(&stage, 10);
    assert_eq!(names(&stage), ["old"], "a command that reads attaches the previous program");
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    assert!(!stage.json(&["status", "eth0"])["interfaces"][0]["programs"][0].is_null());
    let error = stage.run(&["confirm", "eth0"]).error();
    assert!(error.contains("no change of eth0 waits for a confirmation"), "{error}");
    stage.run(&["confirm"]).ended(1);
}

#[test]
fn without_a_previous_program_everything_passes_again() {
    let stage = Stage::new();
    let receiver = Receiver::new(&stage, 10);
    let new = dropping(&stage, "new", 10);
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "2s"]).ended(0);
    receiver.waits(&stage, 10);
    stage.run(&["detach", "eth0"]).ended(1);
    assert!(stage.attached().is_empty(), "the next command detaches it: {:?}", stage.attached());
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn a_confirmed_change_persists_and_counts_on() {
    let stage = Stage::new();
    let (old, new) = (dropping(&stage, "old", 9), dropping(&stage, "new", 10));
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h"]).ended(0);
    let listed = stage.json(&["confirm", "--list"]);
    assert_eq!(listed["changes"][0]["interface"], "eth0");
    assert_eq!(listed["changes"][0]["program"], "filter");
    stage.send(&stage.flow(10).udp(b"x").unwrap(), 3);
    let counted = || Ok((rules(&show(&stage)) == [("new".to_owned(), 3)]).then_some(()));
    until("three packets are counted", PATIENCE, counted).unwrap();
    let before = stage.attached()[0].1;
    assert_eq!(stage.run(&["confirm"]).ended(0), "eth0: filter confirmed\n");
    assert_ne!(stage.attached()[0].1, before, "the program without a deadline runs");
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    assert_eq!(rules(&show(&stage)), [("new".to_owned(), 3)]);
    stage.run(&["filter", "add", "eth0", "drop udp dport 11"]).ended(0);
    assert_eq!(rules(&show(&stage))[0], ("new".to_owned(), 3));
}

#[test]
fn an_unconfirmed_change_is_not_changed_further() {
    let stage = Stage::new();
    let (old, new) = (dropping(&stage, "old", 9), dropping(&stage, "new", 10));
    stage.run(&["filter", "load", "eth0", &old]).ended(0);
    let error =
        stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h", "--mode", "generic"]);
    assert!(error.error().contains("--mode native"));
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h"]).ended(0);
    for change in [
        &["filter", "load", "eth0", &old][..],
        &["filter", "add", "eth0", "drop udp dport 11"],
        &["attach", "eth0", "drop", "--replace"],
        &["filter", "try", "eth0", &old],
    ] {
        let error = stage.run(change).error();
        assert!(error.contains("waits for a confirmation"), "{change:?}: {error}");
    }
    stage.run(&["confirm", "--revert", "eth0"]).ended(0);
    assert_eq!(names(&stage), ["old"]);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h"]).ended(0);
    stage.run(&["filter", "unload", "eth0"]).ended(0);
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn any_program_waits_and_any_program_returns() {
    let stage = Stage::new();
    let receiver = Receiver::new(&stage, 10);
    // The program of another owner drops everything.
    let object = load(&object(Vec::new(), vec![constant("drops", Verdict::Drop)]));
    let other = object.programs().first().unwrap();
    let index = stage.net.b.netlink().unwrap().link("eth0").unwrap().ifindex;
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink
        .set_xdp(index, Some(other.as_fd()), Some(kernel::Mode::Native), XdpExpect::Nothing)
        .unwrap();
    let nat = "10.99.0.1 udp 10 -> 10.99.0.2";
    for change in [
        &["drop", "eth0", "any udp 11"][..],
        &["attach", "eth0", "drop"],
        &["forward", "eth0", "--nat", nat, "--nat-only", "--ignore-stripped-tags"],
    ] {
        let change = [change, &["--confirm", "1h", "--replace"]].concat();
        let answer = stage.run(&change);
        if change[0] == "forward" && answer.code != 0 {
            let error = answer.error();
            assert!(error.contains("reads VLAN tags from the device"), "{error}");
            continue;
        }
        answer.ended(0);
        receiver.waits(&stage, 10);
        stage.run(&["confirm", "--revert"]).ended(0);
        assert!(!receiver.receives(&stage, 10), "{change:?}: the other owner's program drops");
        assert_eq!(stage.attached(), [("native", other.id())]);
        assert!(stage.pins().is_empty(), "{:?}", stage.pins());
    }
}

#[test]
fn a_killed_confirmation_is_complete_or_has_no_effect() {
    let stage = Stage::new();
    let (old, new) = (dropping(&stage, "old", 9), dropping(&stage, "new", 10));
    for step in 0..12 {
        stage.run(&["filter", "load", "eth0", &old]).ended(0);
        stage.run(&["filter", "load", "eth0", &new, "--confirm", "1h"]).ended(0);
        stage.kill_after(&["confirm"], Duration::from_micros(700 * step));
        assert_eq!(names(&stage), ["new"], "step {step}");
        let waits = stage.json(&["confirm", "--list"]);
        if waits["changes"].as_array().unwrap().is_empty() {
            stage.run(&["filter", "add", "eth0", "drop udp dport 11"]).ended(0);
        } else {
            stage.run(&["confirm", "--revert"]).ended(0);
        }
        assert_eq!(stage.kept(), 1, "step {step}: {:?}", stage.pins());
    }
}
