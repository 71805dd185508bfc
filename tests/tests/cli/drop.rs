//! `xway drop`: rules set, added and removed take effect on the next packet.

use lab::{Capture, LinkOptions};
use serde_json::json;
use xway_tests::stage::{PATIENCE, Stage, counts};

/// Active rules, as `xway drop eth0` without arguments prints them.
fn rules(stage: &Stage) -> serde_json::Value {
    stage.json(&["drop", "eth0"])["rules"].clone()
}

/// Sends one frame to each port, and one that always passes; answers the ports whose frame the
/// stack of `b` got.
fn arriving(stage: &Stage, ports: &[u16]) -> Vec<u16> {
    let capture = Capture::open(&stage.net.b, "eth0").unwrap();
    let frames: Vec<_> = ports.iter().map(|port| stage.flow(*port).udp(b"x").unwrap()).collect();
    frames.iter().for_each(|frame| stage.send(frame, 1));
    let last = stage.flow(LAST).udp(b"last").unwrap();
    stage.send(&last, 1);
    let mut seen = Vec::new();
    loop {
        let frame = capture.next(PATIENCE, |seen| seen == last || frames.contains(&seen.to_vec()));
        let frame = frame.unwrap();
        match frames.iter().position(|sent| *sent == frame) {
            Some(number) => seen.push(ports[number]),
            None => return seen,
        }
    }
}

/// No rule here matches it.
const LAST: u16 = 65000;

#[test]
fn rules_change_under_packets() {
    let stage = Stage::new();
    let said = stage.json(&["drop", "eth0", "10.0.0.2 udp 7", "10.0.0.2 udp 8"]);
    let expected = json!({
        "function": "drop", "interfaces": ["eth0"], "mode": "native", "updated": false,
        "rules": ["10.0.0.2 udp 7", "10.0.0.2 udp 8"],
    });
    assert_eq!(said, expected);
    let program = stage.attached();
    assert_eq!(arriving(&stage, &[7, 8, 9]), [9]);

    let said = stage.json(&["drop", "eth0", "--add", "any udp 9", "--remove", "10.0.0.2 udp 7"]);
    assert_eq!(said["updated"], true);
    assert_eq!(arriving(&stage, &[7, 8, 9]), [7]);
    let added = stage.json(&["drop", "eth0", "--add", "any udp 9"]);
    assert_eq!(added["rules"].as_array().unwrap().len(), 2, "twice is once");
    assert_eq!(arriving(&stage, &[7, 8, 9]), [7]);

    stage.run(&["drop", "eth0", "10.0.0.0/24"]).ended(0);
    assert_eq!(rules(&stage), json!(["10.0.0.0/24"]));
    let length = stage.flow(7).udp(b"x").unwrap().len() as u64;
    let last = stage.flow(LAST).udp(b"last").unwrap().len() as u64;
    let before = stage.counted(12);
    let (dropped, passed) = (2 + 2 + 2, 1 + 1 + 1);
    let expected = counts(&[
        ("drop", dropped, dropped * length),
        ("pass", passed + 3, passed * length + 3 * last),
    ]);
    assert_eq!(before, expected, "counters outlive a change of rules");
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(stage.counted(13)["drop"].0, dropped + 1);
    assert_eq!(stage.attached(), program, "nothing was loaded anew");
}

#[test]
fn all_rules_may_go_and_come_back() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    stage.run(&["drop", "eth0", "--remove", "any udp 7"]).ended(0);
    assert_eq!(rules(&stage), json!([]));
    assert_eq!(arriving(&stage, &[7]), [7]);
    stage.run(&["drop", "eth0", "--add", "any udp 7"]).ended(0);
    assert_eq!(arriving(&stage, &[7]), [0_u16; 0]);
    stage.run(&["drop", "eth0", "--replace", "any udp 8"]).ended(0);
    assert_eq!(arriving(&stage, &[7, 8]), [7]);
    assert_eq!(stage.counted(2)["drop"].0, 1, "a new program counts anew");
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!(arriving(&stage, &[7, 8]), [7, 8]);
    assert!(stage.pins().is_empty());
}

#[test]
fn rules_survive_a_new_program_and_another_mode() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let first = stage.attached();
    let said = stage.json(&["drop", "eth0", "--replace", "--add", "any udp 8"]);
    assert_eq!(
        (&said["updated"], &said["rules"]),
        (&json!(false), &json!(["any udp 7", "any udp 8"]))
    );
    assert_ne!(stage.attached(), first);
    assert_eq!(arriving(&stage, &[7, 8, 9]), [9]);

    let generic = ["drop", "eth0", "--mode", "generic", "--replace", "--remove", "any udp 7"];
    stage.run(&generic).ended(0);
    assert_eq!(arriving(&stage, &[7, 8, 9]), [7, 9]);
    let report = stage.json(&["drop", "eth0"]);
    assert_eq!((&report["mode"], &report["rules"]), (&json!("generic"), &json!(["any udp 8"])));
}

#[test]
fn ipv6_and_both_families() {
    let stage = Stage::new();
    let (from, to) = ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
    stage.run(&["drop", "eth0", "fd00::2 udp 7", "any tcp", "10.0.0.2 udp 9"]).ended(0);
    let six = |port| stage.flow_between(from, to, port);
    let syn = lab::frame::TcpFlags { syn: true, ..Default::default() };
    let frames = [
        (six(7).udp(b"x").unwrap(), true),
        (six(9).udp(b"x").unwrap(), false),
        (six(7).tcp(syn, 1, b"").unwrap(), true),
        (stage.flow(7).tcp(syn, 1, b"").unwrap(), true),
        (stage.flow(7).udp(b"x").unwrap(), false),
        (stage.flow(9).udp(b"x").unwrap(), true),
    ];
    frames.iter().for_each(|(frame, _)| stage.send(frame, 1));
    let bytes =
        |dropped| frames.iter().filter(|one| one.1 == dropped).map(|one| one.0.len() as u64).sum();
    assert_eq!(stage.counted(6), counts(&[("drop", 4, bytes(true)), ("pass", 2, bytes(false))]));
    let text = stage.run(&["drop", "eth0"]).ended(0);
    assert!(text.contains("fd00::2 udp 7") && text.contains("any tcp"), "{text}");
}

#[test]
fn a_refused_change_leaves_the_old_rules() {
    let stage = Stage::new();
    let shapes: Vec<String> = (9..17).map(|length| format!("10.0.0.0/{length}")).collect();
    let mut words: Vec<&str> = shapes.iter().map(String::as_str).collect();
    words.splice(..0, ["drop", "eth0"]);
    stage.run(&words).ended(0);
    let before = rules(&stage);
    let table: &[(&[&str], &str)] = &[
        (&["--add", "10.0.0.0/8"], "in 9 ways; at most 8"),
        (&["--remove", "10.0.0.0/8"], "there is no rule `10.0.0.0/8`"),
        (&["10.0.0.2 udp 70000"], "up to 65535"),
        (&["10.0.0.256"], "10.0.0.256"),
        (&["10.0.0.2 icmp 5"], "has no ports"),
        (&["--add", ""], "or `any` for all"),
        (&["any udp 5 now"], "nothing follows the port"),
    ];
    for (words, part) in table {
        let text = stage.run(&[&["drop", "eth0"], *words].concat()).error();
        assert!(text.contains(part), "{words:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(rules(&stage), before, "{words:?}");
    }
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(stage.counted(1)["drop"].0, 1);
}

#[test]
fn without_rules_there_is_nothing_to_attach() {
    let stage = Stage::new();
    for words in [&["drop", "eth0"][..], &["drop", "eth0", "--remove", "any udp 7"]] {
        let text = stage.run(words).error();
        assert!(
            text.contains("10.1.0.2 udp 1234") || text.contains("no rule `any udp 7`"),
            "{text}"
        );
        assert!(stage.attached().is_empty() && stage.pins().is_empty());
    }
    stage.run(&["attach", "eth0", "forward"]).ended(0);
    let before = stage.attached();
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let chain = stage.json(&["chain", "eth0", "show"]);
    let name = |number: usize| chain["members"][number]["name"].clone();
    assert_eq!([name(0), name(1)], ["drop", "forward"], "{chain:#}");
    assert_ne!(stage.attached(), before);
    stage.run(&["drop", "eth0", "any udp 7", "--replace"]).ended(0);
    let text = stage.run(&["drop", "eth0", "any udp 8", "--mode", "generic"]).error();
    assert!(text.contains("in native mode"), "{text}");
}

#[test]
fn frames_of_several_buffers() {
    let stage = Stage::with(&LinkOptions { mtu: 9000, ..LinkOptions::default() });
    let said = stage.run(&["drop", "eth0", "10.0.0.2 udp 7"]);
    assert_eq!(said.stderr, "");
    said.ended(0);
    let long = stage.flow(7).udp_of_length(8000).unwrap();
    stage.send(&long, 2);
    assert_eq!(stage.counted(2), counts(&[("drop", 2, 16000)]));
    stage.run(&["drop", "eth0", "10.0.0.2 udp 8"]).ended(0);
    stage.send(&long, 1);
    assert_eq!(stage.counted(3)["pass"], (1, 8000));
}
