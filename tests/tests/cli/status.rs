//! `xway status`: what runs where, whose it is and what it counts, asked from outside.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use kernel::{Attach, Mode, Replace};
use lab::until;
use serde_json::{Value, json};
use sys::net::XdpExpect;
use xway_tests::program::foreign;
use xway_tests::stage::{PATIENCE, Stage, counts};
use xway_tests::xway::Answer;

fn owner(stage: &Stage) -> Value {
    stage.status()["programs"][0]["owner"].clone()
}

#[test]
fn every_interface_is_shown_with_all_fields() {
    let stage = Stage::new();
    let status = stage.json(&["status", "--interval", "1ms"]);
    let interfaces = status["interfaces"].as_array().unwrap();
    let names: Vec<_> = interfaces.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lo", "eth0"]);
    assert_eq!(interfaces[1]["programs"], json!([]));
    let ifindex = stage.net.b.ifindex("eth0").unwrap();

    stage.run(&["drop", "eth0", "10.0.0.2 udp 9"]).ended(0);
    let one = stage.status();
    assert_eq!(
        (&one["ifindex"], &one["up"], &one["mtu"]),
        (&json!(ifindex.0), &json!(true), &json!(1500))
    );
    let program = &one["programs"][0];
    assert_eq!(program["id"], stage.attached()[0].1);
    assert_eq!((&program["name"], &program["mode"]), (&json!("xway_drop"), &json!("native")));
    assert_eq!(program["tag"].as_str().unwrap().len(), 16);
    assert!(program["link_id"].as_u64().unwrap() > 0);
    let zero = json!({"packets": 0, "bytes": 0, "pps": 0.0, "bps": 0.0});
    let verdicts = program["rates"]["verdicts"].as_object().unwrap();
    let names: Vec<_> = verdicts.keys().map(String::as_str).collect();
    assert_eq!(names, ["aborted", "drop", "pass", "redirect", "tx"]);
    assert!(verdicts.values().all(|rate| *rate == zero), "{verdicts:?}");
    assert_eq!(program["rates"]["invalid"], zero);

    let text = stage.run(&["status", "--interval", "1ms"]).ended(0);
    let line = text.lines().find(|line| line.starts_with("eth0")).unwrap();
    for part in ["up", "native", "xway_drop", "xway drop"] {
        assert!(line.contains(part), "{line}");
    }
    let text = stage.run(&["status", "eth7"]).error();
    assert!(text.contains("no interface `eth7`"), "{text}");
}

#[test]
fn reasons_say_why_a_packet_was_dropped() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "10.0.0.2 udp 9"]).ended(0);
    let (hit, miss) = (stage.flow(9).udp(b"hit").unwrap(), stage.flow(10).udp(b"missed").unwrap());
    let (long, other) = (hit.len() as u64, miss.len() as u64);
    stage.send(&hit, 6);
    stage.send(&miss, 5);
    assert_eq!(stage.counted(11), counts(&[("drop", 6, 6 * long), ("pass", 5, 5 * other)]));
    let rates = &stage.status()["programs"][0]["rates"];
    let reasons: Vec<_> = rates["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["packets"] != 0)
        .map(|one| {
            (
                one["verdict"].as_str().unwrap(),
                one["reason"].as_str().unwrap(),
                one["packets"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons.contains(&("drop", "rule", 6)), "{reasons:?}");
    let text = stage.run(&["status", "--interval", "1ms"]).ended(0);
    assert!(
        text.lines()
            .any(|line| line.contains("drop") && line.contains("rule") && line.contains('6')),
        "{text}"
    );
}

#[test]
fn namespaces_do_not_mix() {
    let stage = Stage::new();
    let (a, b) = (&stage.net.a, &stage.net.b);
    assert_eq!(a.ifindex("eth0").unwrap(), b.ifindex("eth0").unwrap(), "the same number twice");
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let there = |host, arguments: &[&str]| stage.xway.run_in(host, arguments);
    let status = there(a, &["--json", "status", "--interval", "1ms"]).json(0);
    assert!(
        status["interfaces"].as_array().unwrap().iter().all(|one| one["programs"] == json!([]))
    );
    let text = there(a, &["detach", "eth0"]).ended(1);
    assert!(text.contains("nothing was attached"), "{text}");
    there(a, &["attach", "eth0", "forward"]).ended(0);
    assert_eq!(owner(&stage), "xway drop");
    let status = there(a, &["--json", "status", "eth0", "--interval", "1ms"]).json(0);
    assert_eq!(status["interfaces"][0]["programs"][0]["owner"], "xway forward");
    there(a, &["detach", "eth0"]).ended(0);
    assert_eq!(stage.attached().len(), 1, "that of b stays");
    assert_eq!(owner(&stage), "xway drop");
}

#[test]
fn the_owner_is_who_can_be_asked() {
    let stage = Stage::new();
    let foreign = foreign();
    let program = &foreign.programs()[0];
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let mut link = stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let me = owner(&stage);
    assert!(me.as_str().unwrap().contains(&std::process::id().to_string()), "{me}");

    let folder = sys::mount::bpffs(&stage.xway.state().join("bpf")).unwrap();
    link.pin(&folder.join("elsewhere")).unwrap();
    drop(link);
    drop(foreign);
    assert_eq!(owner(&stage), "a pin");
    std::fs::remove_file(folder.join("elsewhere")).unwrap();
    // The kernel frees the link of a removed pin later.
    let is_gone = || Ok(stage.attached().is_empty().then_some(()));
    until("the end of the link", PATIENCE, is_gone).unwrap();

    let foreign = self::foreign();
    let fd = Some(foreign.programs()[0].as_fd());
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink.set_xdp(ifindex, fd, Some(Mode::Generic), XdpExpect::Nothing).unwrap();
    drop(foreign);
    assert_eq!(owner(&stage), "netlink");
    assert!(stage.status()["programs"][0]["link_id"].is_null());
}

/// A watcher whose standard output is read here.
struct Watch {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Watch {
    fn start(stage: &Stage, arguments: &[&str]) -> Self {
        let mut command = stage.xway.command_in(&stage.net.b, arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// Sends a signal and waits for the end.
    fn stop(mut self, signal: &str) -> Answer {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        Answer::of(self.child.wait_with_output().unwrap())
    }
}

#[test]
fn watching_continues_until_a_signal() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    for signal in ["INT", "TERM"] {
        let mut watch = Watch::start(&stage, &["--json", "status", "-w", "--interval", "20ms"]);
        for _ in 0..3 {
            let status: Value = serde_json::from_str(&watch.line()).unwrap();
            assert!(status["interval_s"].as_f64().unwrap() >= 0.02, "{status}");
            assert_eq!(status["interfaces"][1]["name"], "eth0");
        }
        let answer = watch.stop(signal);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{signal}");
    }
    let mut watch = Watch::start(&stage, &["status", "--watch", "--interval", "20ms"]);
    let mut seen = 0;
    while seen < 3 {
        seen += usize::from(watch.line().contains("xway_drop"));
    }
    assert_eq!(watch.stop("INT").code, 0);
}

#[test]
fn rates_are_of_the_interval() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let frame = stage.flow(9).udp(&[0; 58]).unwrap();
    assert_eq!(frame.len(), 100);
    let mut watch = Watch::start(&stage, &["--json", "status", "eth0", "-w", "--interval", "50ms"]);
    let mut rates = || {
        let status: Value = serde_json::from_str(&watch.line()).unwrap();
        let seconds = status["interval_s"].as_f64().unwrap();
        let drop = status["interfaces"][0]["programs"][0]["rates"]["verdicts"]["drop"].clone();
        (seconds, drop)
    };
    assert_eq!(rates().1["pps"], 0.0);
    stage.send(&frame, 40);
    let mut left = 40.0;
    while left > 0.5 {
        let (seconds, drop) = rates();
        let pps = drop["pps"].as_f64().unwrap();
        assert!((drop["bps"].as_f64().unwrap() - pps * 800.0).abs() < 1.0, "{drop}");
        left -= pps * seconds;
    }
    assert!(left > -0.5, "each packet is in one interval: {left}");
    let (_, drop) = rates();
    assert_eq!(
        (&drop["packets"], &drop["bytes"], &drop["pps"]),
        (&json!(40), &json!(4000), &json!(0.0))
    );
    assert_eq!(watch.stop("INT").code, 0);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    for words in [
        &["status", "--interval", "1ms"][..],
        &["status", "-w", "--interval", "1ms"],
        &["prog", "list"],
    ] {
        let watch = Watch::start(&stage, words);
        let Watch { mut child, lines } = watch;
        drop(lines);
        let end = until("the end of xway", PATIENCE, || Ok(child.try_wait().unwrap()));
        assert_eq!(end.unwrap().code(), Some(0), "{words:?}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "{words:?}");
    }
}

#[test]
fn no_colour_where_no_terminal_is() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    // `script` gives its command a terminal.
    let coloured = |words: &str, variable: Option<&str>| {
        let state = stage.xway.state().display();
        let program = stage.xway.command(&[]).get_program().to_str().unwrap().to_owned();
        let mut command = stage.net.b.command("script").unwrap();
        command.args(["-qec", &format!("{program} --state {state} {words}"), "/dev/null"]);
        command.stdin(Stdio::null()).env_remove("NO_COLOR");
        variable.map(|value| command.env("NO_COLOR", value));
        Answer::of(command.output().unwrap()).ended(0).contains("\x1b[")
    };
    let check = "check drop";
    assert!(coloured(check, None), "a terminal gets colour");
    assert!(!coloured(check, Some("1")));
    let piped = stage.run(&["check", "drop"]).ended(0);
    assert!(!piped.contains('\x1b'), "{piped}");
}

#[test]
fn names_of_interfaces_cannot_steer_the_terminal() {
    let stage = Stage::new();
    let hostile = "e\x1b[2J\u{202e}\u{9b}\x7f";
    let words = ["link", "add", hostile, "type", "veth", "peer", "name", "peer"];
    assert!(stage.net.b.command("ip").unwrap().args(words).status().unwrap().success());
    let commands: [&[&str]; 8] = [
        &["status"],
        &["status", hostile],
        &["drop", hostile, "10.0.0.2 udp 9"],
        &["status", hostile],
        &["filter", "show", hostile],
        &["xsk", "list"],
        &["xsk", "info", hostile],
        &["detach", hostile],
    ];
    for command in commands {
        for form in [&[][..], &["--json"]] {
            let Answer { stdout, stderr, .. } = stage.run(&[command, form].concat());
            let all = stdout.clone() + &stderr;
            let found = all.chars().find(|c| report::text::is_hidden(*c) && *c != '\n');
            assert_eq!(found, None, "{command:?}: {}", all.escape_debug());
            if command == ["status"] {
                let is_shown = |escape| all.contains(escape);
                assert!(is_shown("e\\x1b[2J") || is_shown("e\\u001b[2J"), "{all}");
            }
        }
    }
}
