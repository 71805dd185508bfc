//! What is not for this host, or belongs to a VLAN, is not routed, redirected or answered as if it
//! were: frames to other hosts' MAC addresses, tags that are not in the frame.

use std::net::TcpListener;
use std::path::PathBuf;

use lab::frame::Flow;
use lab::{Capture, Host, LinkOptions, Router, until};
use packet::{Mac, checksum};
use serde_json::{Value, json};
use sys::net::ethtool::Ethtool;
use xway_tests::bpf::router::{from_a, side};
use xway_tests::filter::{counted, expected, file, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::tags::Tagger;
use xway_tests::xway::{Answer, Xway};

const FRAMES: usize = 5;

/// `b` runs `xway` on its eth0, towards `a`, and on its eth1, towards `c`.
struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn new() -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        Self { net, xway: Xway::new() }
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, words)
    }

    fn send(&self, frame: &[u8]) {
        Capture::open(&self.net.a, "eth0").unwrap().send(frame).unwrap();
    }

    /// None of these frames arrives at `c`: the first that does was sent after them.
    #[track_caller]
    fn only_the_last_arrives(&self, send: impl Fn()) {
        let wire = Capture::open(&self.net.c, "eth0").unwrap();
        // From here on the router knows its neighbors.
        self.send(&from_a("10.0.2.2", 7).udp(FIRST).unwrap());
        wire.next(PATIENCE, |seen| contains(seen, FIRST)).unwrap();
        send();
        self.send(&from_a("10.0.2.2", 7).udp(LAST).unwrap());
        let first = wire.next(PATIENCE, |seen| contains(seen, OTHERS) || contains(seen, LAST));
        assert!(contains(&first.unwrap(), LAST), "a frame arrived that the stack would not route");
    }
}

const FIRST: &[u8] = b"also for this one";
const OTHERS: &[u8] = b"not for this router";
const LAST: &[u8] = b"sent last";

fn contains(frame: &[u8], part: &[u8]) -> bool {
    frame.windows(part.len()).any(|window| window == part)
}

#[test]
fn forward_routes_no_frame_to_another_host() {
    let net = Net::new();
    net.run(&["forward", "eth0", "eth1"]).ended(0);
    let mut frame = from_a("10.0.2.2", 7).udp(OTHERS).unwrap();
    frame[..6].copy_from_slice(&"02:78:77:00:01:77".parse::<Mac>().unwrap().0);
    net.only_the_last_arrives(|| (0..FRAMES).for_each(|_| net.send(&frame)));
}

#[test]
fn forward_routes_no_frame_of_a_vlan() {
    let net = Net::new();
    net.run(&["forward", "eth0", "eth1"]).ended(0);
    let frame = from_a("10.0.2.2", 7).udp(OTHERS).unwrap();
    let inside = from_a("10.0.2.2", 7).vlan(5).udp(OTHERS).unwrap();
    net.only_the_last_arrives(|| {
        net.send(&inside);
        let _tagger = Tagger::new(&net.net.a, "eth0", 5);
        (0..FRAMES).for_each(|_| net.send(&frame));
    });
}

#[test]
fn rules_see_tags_that_are_not_in_the_frame() {
    let stage = Stage::new();
    load(&stage, &["inner: drop vlan 5 inner-vlan 6", "five: drop vlan 5", "udp: count udp"]);
    let untagged = stage.flow(7).udp(b"x").unwrap();
    let tagged = stage.flow(7).vlan(6).udp(b"x").unwrap();
    stage.send(&untagged, 1);
    stage.send(&tagged, 1);
    {
        let _tagger = Tagger::new(&stage.net.a, "eth0", 5);
        stage.send(&untagged, 2);
        stage.send(&tagged, 3);
    }
    let shown = counted(&stage, 7);
    assert_eq!(rules(&shown), expected(&[("inner", 3), ("five", 2), ("udp", 2)]), "{shown:#}");
    // The same after a change of the rules.
    stage.run(&["filter", "add", "eth0", "late: drop udp dport 9"]).ended(0);
    let _tagger = Tagger::new(&stage.net.a, "eth0", 5);
    stage.send(&untagged, 1);
    let shown = counted(&stage, 8);
    assert_eq!(rules(&shown)[..2], expected(&[("inner", 3), ("five", 3)]), "{shown:#}");
}

/// A program that asks the device follows one that does not, and the other way round.
#[test]
fn rules_about_tags_come_and_go() {
    let stage = Stage::new();
    load(&stage, &["nine: drop udp dport 9"]);
    let _tagger = Tagger::new(&stage.net.a, "eth0", 5);
    let frame = stage.flow(7).udp(b"x").unwrap();
    for (round, words) in (1..).zip([
        &["add", "eth0", "five: drop vlan 5"][..],
        &["remove", "eth0", "five"],
        &["add", "eth0", "again: drop vlan 5"],
        &["flush", "eth0"],
    ]) {
        stage.run(&[&["filter"], words].concat()).ended(0);
        stage.send(&frame, 1);
        let of = rules(&counted(&stage, round)).into_iter().filter(|(_, packets)| *packets == 1);
        let of: Vec<_> = of.map(|(name, _)| name).collect();
        let wanted: &[&str] = match words {
            ["add", _, rule] => &[rule.split(':').next().unwrap()],
            _ => &[],
        };
        assert_eq!(of, wanted, "{words:?}");
    }
}

/// A filter on `a` that counts what comes back.
struct Returned<'a>(&'a Stage);

impl<'a> Returned<'a> {
    fn new(stage: &'a Stage, rules: &str) -> Self {
        let rules = file(stage, "returned.toml", &format!("rules = [{rules}]"));
        let load = ["filter", "load", "eth0", &rules];
        stage.xway.run_in(&stage.net.a, &load).ended(0);
        Self(stage)
    }

    /// The rules' packets, once the first of them has the given number.
    #[track_caller]
    fn counts(&self, first: u64) -> Vec<(String, u64)> {
        let mut last = Vec::new();
        let found = until("what comes back", PATIENCE, || {
            let words = ["--json", "filter", "show", "eth0", "--interval", "1ms"];
            last = rules(&self.0.xway.run_in(&self.0.net.a, &words).json(0));
            Ok((last[0].1 >= first).then_some(()))
        });
        assert!(found.is_ok(), "{last:?}");
        last
    }
}

#[test]
fn packets_that_are_sent_on_keep_their_tag() {
    let stage = Stage::new();
    let returned = Returned::new(&stage, "'five: drop vlan 5 udp', 'udp: drop udp'");
    load(&stage, &["back: redirect eth0 udp dport 7"]);
    let frame = stage.flow(7).udp(b"x").unwrap();
    {
        let _tagger = Tagger::new(&stage.net.a, "eth0", 5);
        stage.send(&frame, 3);
    }
    assert_eq!(returned.counts(3), expected(&[("five", 3), ("udp", 0)]));
    stage.send(&frame, 2);
    assert_eq!(rules(&counted(&stage, 5)), expected(&[("back", 5)]));
}

#[test]
fn a_syn_proxy_answers_in_the_vlan_of_the_request() {
    let stage = Stage::new();
    stage.net.b.set_sysctl("ipv4/tcp_syncookies", "2").unwrap();
    let returned = Returned::new(&stage, "'five: drop vlan 5 tcp flags syn', 'tcp: drop tcp'");
    let address = stage.net.b.ipv4("eth0").unwrap();
    let _listener = stage.net.b.run(|| TcpListener::bind((address, 7))).unwrap().unwrap();
    load(&stage, &["guard: synproxy tcp dport 7 above 1pps"]);
    let syn = lab::frame::TcpFlags { syn: true, ack: false, fin: false, rst: false };
    let frame = stage.flow(7).tcp(syn, 7, b"").unwrap();
    let _tagger = Tagger::new(&stage.net.a, "eth0", 5);
    // The first ones go to the stack, which has no VLAN 5.
    stage.send(&frame, 20);
    let counts = returned.counts(1);
    assert_eq!(counts[1], ("tcp".to_owned(), 0), "{counts:?}");
}

#[test]
fn where_tags_cannot_be_seen_what_depends_on_them_is_refused() {
    let net = Net::new();
    let refused = net.run(&["forward", "eth0", "eth1", "--mode", "generic"]).error();
    for part in ["VLAN tags", "eth0", "generic mode", "--mode native", "--ignore-stripped-tags"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let words = ["forward", "eth0", "eth1", "--mode", "generic", "--ignore-stripped-tags"];
    net.run(&words).ended(0);
    let stage = Stage::new();
    let generic = |text: &str, more: &[&str]| {
        let rules = file(&stage, "rules.toml", &format!("rules = ['{text}']"));
        let words = ["filter", "load", "eth0", &rules, "--mode", "generic"];
        stage.run(&[&words[..], more].concat())
    };
    assert!(generic("drop vlan 5", &[]).error().contains("VLAN tags"));
    generic("drop udp dport 7", &[]).ended(0);
    generic("drop vlan 5", &["--ignore-stripped-tags"]).ended(0);
    // What was ignored once is not asked for again.
    stage.run(&["filter", "add", "eth0", "drop udp dport 9"]).ended(0);
    let named: Vec<_> = rules(&show(&stage)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(named, ["drop-vlan-5", "drop-udp-dport-9"]);
}

/// As a command leaves it that is killed after it switched the offload off.
#[test]
fn an_offload_is_on_again_when_its_program_is_gone() {
    let stage = Stage::new();
    let on = || {
        let ethtool = stage.net.b.run(Ethtool::open).unwrap().unwrap();
        ethtool.feature("eth0", FEATURE).unwrap()
    };
    let record = record(&stage.net.b, &stage.xway);
    let switch_off = || {
        std::fs::write(&record, FEATURE).unwrap();
        let ethtool = stage.net.b.run(Ethtool::open).unwrap().unwrap();
        ethtool.set_feature("eth0", FEATURE, false).unwrap();
    };
    switch_off();
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    assert!(on() && !record.exists(), "the next command that writes switches it on");

    switch_off();
    stage.run(&["drop", "eth0", "--add", "any udp 8"]).ended(0);
    assert!(!on() && record.exists(), "a program runs");
    stage.run(&["detach", "eth0"]).ended(0);
    assert!(on() && !record.exists(), "detached");
}

const FEATURE: &str = "rx-vlan-hw-parse";

fn record(host: &Host, xway: &Xway) -> PathBuf {
    let namespace = host.run(|| sys::netns::NetNs::current().and_then(|netns| netns.id()));
    let namespace = namespace.unwrap().unwrap().inode;
    let ifindex = host.ifindex("eth0").unwrap();
    xway.state().join(format!("net-{namespace}-if-{ifindex}.offload"))
}

#[test]
fn doctor_reports_where_tags_are() {
    let stage = Stage::new();
    let report = stage.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let facts = report["facts"].as_array().unwrap();
    let fact = facts.iter().find(|fact| fact["name"] == json!("VLAN tags of eth0")).unwrap();
    let value = fact["value"].as_str().unwrap();
    assert!(value.contains("native: read from the device"), "{fact:#}");
    assert!(value.contains("generic: not visible"), "{fact:#}");
}

/// A packet in GRE, from `a` to `b`.
fn in_gre(stage: &Stage) -> Vec<u8> {
    let inner: Flow = Flow::new(side(A, "10.9.0.1", 1), side(A, "10.9.0.2", 2));
    let mut outer = stage.flow(7).udp(b"").unwrap()[..34].to_vec();
    let inner = inner.udp(b"inside").unwrap();
    let payload = [&[0, 0, 8, 0][..], &inner[14..]].concat();
    outer[16..18].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    outer[23] = 47;
    outer[24..26].fill(0);
    let check = !checksum::fold(checksum::sum(&outer[14..34]));
    outer[24..26].copy_from_slice(&check.to_be_bytes());
    [outer, payload].concat()
}

const A: &str = "02:78:77:00:01:02";

#[test]
fn the_outer_redirect_holds_whatever_is_tried_inside() {
    let stage = Stage::new();
    load(&stage, &["cpu: redirect cpu 1 gre", "socket: redirect socket udp"]);
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    let frame = in_gre(&stage);
    stage.send(&frame, 20);
    let arrived = wire.all(PATIENCE, 20, |seen| contains(seen, b"inside")).unwrap();
    assert_eq!(arrived.len(), 20, "of those that are counted as redirected");
    assert_eq!(rules(&counted(&stage, 20)), expected(&[("cpu", 20), ("socket", 20)]));
}
