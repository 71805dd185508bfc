//! `xway top`: what interfaces, programs, processors and queues do, compared to the packets sent.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use kernel::{Attach, Mode, Replace};
use lab::{Capture, Host, until};
use serde_json::{Value, json};
use xway_tests::program::foreign;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::terminal::Terminal;
use xway_tests::xway::{Answer, interrupt, prebuilt};

/// A command whose lines of JSON are read with a deadline.
struct Lines {
    child: Child,
    lines: Receiver<String>,
}

impl Lines {
    /// `xway top --json WORDS` in `b`.
    fn top(stage: &Stage, words: &[&str]) -> Self {
        let fixed = ["--json", "top", "--interval", "20ms"];
        let mut command = stage.xway.command_in(&stage.net.b, &[&fixed[..], words].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line for each interval");
        serde_json::from_str(&line).unwrap()
    }

    /// The first of the next lines that satisfies a condition.
    #[track_caller]
    fn find(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        until(what, PATIENCE, || Ok(Some(self.next()).filter(&holds))).unwrap()
    }

    #[track_caller]
    fn end(self) {
        interrupt(&self.child);
        drop(self.lines);
        let answer = Answer::of(self.child.wait_with_output().unwrap());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    }
}

/// A pair of interfaces in a host, which send nothing of their own.
fn pair(host: &Host, [one, other]: [&str; 2]) {
    ip(host, &format!("link add {one} type veth peer name {other}"));
    for name in [one, other] {
        host.set_sysctl(&format!("ipv6/conf/{name}/disable_ipv6"), "1").unwrap();
        ip(host, &format!("link set {name} up"));
    }
}

fn ip(host: &Host, words: &str) {
    let mut command = host.command("ip").unwrap();
    assert!(command.args(words.split(' ')).status().unwrap().success(), "ip {words}");
}

fn interface<'a>(overview: &'a Value, name: &str) -> Option<&'a Value> {
    overview["interfaces"].as_array().unwrap().iter().find(|one| one["name"] == name)
}

/// The only program of an interface.
fn program<'a>(overview: &'a Value, name: &str) -> &'a Value {
    interface(overview, name).map_or(&Value::Null, |one| &one["programs"][0])
}

/// Packets by verdict, without those that did not occur.
fn verdicts(rates: &Value) -> Value {
    let all = rates["verdicts"].as_object().into_iter().flatten();
    let all = all.map(|(name, rate)| (name.clone(), rate["packets"].clone()));
    all.filter(|(_, packets)| *packets != 0).collect::<serde_json::Map<_, _>>().into()
}

fn once(stage: &Stage) -> Value {
    stage.json(&["top", "--once", "--interval", "1ms"])
}

/// A chain on an interface of a pair: a filter, `drop`, and an object that passes all packets.
fn chained(stage: &Stage, name: &str) {
    let rules = stage.xway.state().join("rules.toml");
    std::fs::write(&rules, "rules = ['a: drop udp dport 9']\n").unwrap();
    stage.run(&["filter", "load", name, rules.to_str().unwrap()]).ended(0);
    stage.json(&["drop", name, "any udp 7"]);
    stage.json(&["chain", name, "add", prebuilt("test/seen.o").to_str().unwrap()]);
}

#[test]
fn numbers_are_those_of_status_of_the_chain_and_of_the_sink() {
    let stage = Stage::new();
    let b = &stage.net.b;
    pair(b, ["in", "out"]);
    chained(&stage, "in");
    let out = Capture::open(b, "out").unwrap();
    for (port, count) in [(7, 5), (9, 4), (11, 3)] {
        let frame = stage.flow(port).udp(b"x").unwrap();
        (0..count).for_each(|_| out.send(&frame).unwrap());
    }
    let mut command = stage.xway.command_in(b, &["--json", "sink", "eth0", "--time", "60s"]);
    let sink = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the sink", PATIENCE, || Ok((stage.attached().len() == 1).then_some(()))).unwrap();
    let words = ["gen", "udp", "10.0.0.2", "--dev", "eth0", "--rate", "5kpps", "--count", "300"];
    let words = [&words[..], &["--force", "--allow-miss"]].concat();
    stage.xway.run_in(&stage.net.a, &words).ended(0);

    let is_counted = |overview: &Value| {
        program(overview, "eth0")["rates"]["verdicts"]["drop"]["packets"] == 300
            && verdicts(&program(overview, "in")["rates"]) == json!({"drop": 9, "pass": 3})
    };
    let overview = until("all packets", PATIENCE, || Ok(Some(once(&stage)).filter(is_counted)));
    let overview = overview.unwrap();
    // The chain: each member has its own packets.
    let chain = program(&overview, "in")["chain"].as_array().unwrap();
    let members = chain.iter().map(|one| (one["name"].as_str().unwrap(), verdicts(&one["rates"])));
    let expected = [
        ("filter", json!({"drop": 4, "pass": 8})),
        ("drop", json!({"drop": 5, "pass": 3})),
        ("seen", json!({"pass": 3})),
    ];
    assert_eq!(members.collect::<Vec<_>>(), expected);
    let shown = stage.json(&["chain", "in", "show"]);
    for (own, other) in chain.iter().zip(shown["members"].as_array().unwrap()) {
        for (verdict, packets) in verdicts(&own["rates"]).as_object().unwrap() {
            assert_eq!(*packets, other["verdicts"][verdict], "{}", own["name"]);
        }
    }
    // Processors and queues count the same packets.
    let of_cpu = |one: &Value| one["verdicts"]["drop"]["packets"].as_u64().unwrap_or(0);
    let dropped = |cpus: &Value| cpus.as_array().unwrap().iter().map(of_cpu).sum::<u64>();
    assert_eq!(dropped(&program(&overview, "in")["cpus"]), 9);
    assert_eq!(dropped(&program(&overview, "eth0")["cpus"]), 300);
    assert_eq!(dropped(&overview["cpus"]), 309);
    // The stack of the sender may send to eth0 as well, but not to the pair.
    let shown = interface(&overview, "in").unwrap();
    assert_eq!(shown["rx"]["packets"], 12, "{shown:#}");
    let queues = shown["queues"].as_array().unwrap().iter();
    let queues: Vec<_> = queues.map(|queue| &queue["counters"]["xdp_packets"]["total"]).collect();
    assert!(queues.contains(&&json!(12)), "{queues:?}");
    let queues = interface(&overview, "eth0").unwrap()["queues"].as_array().unwrap().iter();
    let queues = queues.filter_map(|queue| queue["counters"]["xdp_packets"]["total"].as_u64());
    assert!(queues.sum::<u64>() >= 300, "{overview:#}");
    // `status` has the same rates.
    let status = stage.json(&["status", "--interval", "1ms"]);
    assert_eq!(program(&status, "in")["rates"], program(&overview, "in")["rates"]);
    for name in ["in", "eth0"] {
        let (own, other) = (program(&overview, name), program(&status, name));
        for field in ["id", "name", "tag", "mode", "owner", "link_id", "members"] {
            assert_eq!(own[field], other[field], "{name}: {field}");
        }
    }
    assert_eq!(program(&status, "eth0")["rates"]["verdicts"]["drop"]["packets"], 300);
    interrupt(&sink);
    assert_eq!(Answer::of(sink.wait_with_output().unwrap()).json(0)["received"], 300);
}

#[test]
fn pins_of_programs_are_shown() {
    let stage = Stage::new();
    let b = &stage.net.b;
    pair(b, ["in", "out"]);
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    // Another owner's program, whose link is pinned.
    let object = foreign();
    let (program_of_in, ifindex) = (&object.programs()[0], b.ifindex("in").unwrap());
    let attach =
        Attach { ifindex, program: program_of_in, mode: Mode::Native, replace: Replace::No };
    let mut link = b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let pin = stage.xway.state().join("bpf").join("others_link");
    link.pin(&pin).unwrap();
    drop(link);
    let overview = once(&stage);
    let pins = program(&overview, "eth0")["pins"].as_array().unwrap();
    let pins: Vec<_> = pins.iter().map(|path| path.as_str().unwrap()).collect();
    assert!(matches!(pins[..], [one, two] if one.ends_with("/program") && two.ends_with("/link")));
    assert!(pins.iter().all(|path| Path::new(path).exists()), "{pins:?}");
    assert_eq!(program(&overview, "in")["pins"], json!([pin]), "{overview:#}");
    let text = stage.run(&["top", "--once", "--interval", "1ms"]).ended(0);
    assert!(text.contains("pinned at") && text.contains("others_link"), "{text}");
    // A second reading knows them as well.
    let top = Lines::top(&stage, &["--count", "2"]);
    let (first, second) = (top.next(), top.next());
    for name in ["eth0", "in"] {
        assert_eq!(program(&first, name)["pins"], program(&second, name)["pins"], "{name}");
    }
    assert_eq!(program(&second, "eth0")["pins"], json!(pins));
    std::fs::remove_file(pin).unwrap();
}

/// Every packet has its place in one interval, also while the chain is composed again; a program
/// with counters of its own begins without a rate.
#[test]
fn programs_are_replaced_while_it_runs() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let top = Lines::top(&stage, &["eth0"]);
    let first = program(&top.next(), "eth0")["id"].clone();
    let frame = stage.flow(9).udp(b"x").unwrap();
    stage.send(&frame, 40);
    let seen = prebuilt("test/seen.o");
    let seen = seen.to_str().unwrap();
    stage.json(&["chain", "eth0", "add", seen]);
    stage.send(&frame, 20);
    let mut packets = 0.0;
    let composed = top.find("all packets", |line| {
        verdicts(&program(line, "eth0")["rates"]) == json!({"drop": 60})
            && program(line, "eth0")["members"] == json!(["drop", "seen"])
    });
    assert_ne!(program(&composed, "eth0")["id"], first);
    // The chain has counted since it began: a later reader has the rates of the interval alone.
    let later = Lines::top(&stage, &[]);
    later.next();
    stage.send(&frame, 10);
    until("rates of all packets", PATIENCE, || {
        let line = later.next();
        let pps = program(&line, "eth0")["rates"]["verdicts"]["drop"]["pps"].as_f64().unwrap();
        packets += pps * line["interval_s"].as_f64().unwrap();
        assert!(pps >= 0.0 && packets < 10.5, "{line}");
        Ok((packets > 9.5).then_some(()))
    })
    .unwrap();
    later.end();

    stage.json(&["attach", "eth0", seen, "--replace"]);
    let is_alone = |line: &Value| program(line, "eth0")["owner"] == "xway seen";
    let replaced = top.find("another program", is_alone);
    let rates = &program(&replaced, "eth0")["rates"];
    assert_eq!(verdicts(rates), json!({}), "{rates}");
    stage.run(&["detach", "eth0"]).ended(0);
    top.find("no program", |line| program(line, "eth0").is_null());
    top.end();
}

#[test]
fn interfaces_come_and_go_while_it_runs() {
    let stage = Stage::new();
    let b = &stage.net.b;
    let top = Lines::top(&stage, &[]);
    let names = |line: &Value| -> Vec<String> {
        let all = line["interfaces"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let line = top.next();
    assert_eq!(names(&line), ["lo", "eth0"]);
    assert!(program(&line, "eth0").is_null(), "a namespace without programs");
    assert!(!line["cpus"].as_array().unwrap().is_empty(), "{line}");
    pair(b, ["in", "out"]);
    chained(&stage, "in");
    let is_chained =
        |line: &Value| program(line, "in")["chain"].as_array().map(Vec::len) == Some(3);
    top.find("the chain", is_chained);
    let only = Lines::top(&stage, &["in"]);
    assert_eq!(names(&only.next()), ["in"]);
    ip(b, "link delete in");
    top.find("no interface", |line| names(line) == ["lo", "eth0"]);
    only.find("no interface", |line| names(line).is_empty());
    pair(b, ["in", "out"]);
    only.find("the interface again", |line| names(line) == ["in"]);
    top.end();
    only.end();
}

#[test]
fn text_for_a_pipe_counts_and_errors() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 6);
    stage.counted(6);
    let text = stage.run(&["top", "--once", "--interval", "1ms", "--run-time"]).ended(0);
    for (table, words) in [
        ("interfaces", ["eth0", "native"]),
        ("programs", ["xway_drop", "xway drop"]),
        ("verdicts", ["xway_drop", " 6 "]),
        ("queues", ["eth0", "rx 0"]),
    ] {
        let (_, rows) =
            text.split_once(&format!("\n{table}\n")).unwrap_or_else(|| panic!("{text}"));
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(rows.lines().take_while(|line| !line.is_empty()).any(has_all), "{table}: {text}");
    }
    let text = stage.run(&["top", "eth0", "--count", "2", "--interval", "1ms"]).ended(0);
    assert_eq!(text.matches("1 interfaces, 1 up").count(), 2, "{text}");
    let text = stage.run(&["top", "eth7"]).error();
    assert!(text.contains("no interface `eth7`"), "{text}");
}

#[test]
fn names_of_interfaces_cannot_steer_the_terminal() {
    let stage = Stage::new();
    let hostile = "e\x1b[2J\u{202e}";
    let words = ["link", "add", hostile, "type", "veth", "peer", "name", "peer"];
    let mut command: Command = stage.net.b.command("ip").unwrap();
    assert!(command.args(words).status().unwrap().success());
    for form in [&[][..], &["--json"]] {
        let text = stage.run(&[&["top", "--once", "--interval", "1ms"], form].concat()).ended(0);
        let found = text.chars().find(|c| report::text::is_hidden(*c) && *c != '\n');
        assert_eq!(found, None, "{}", text.escape_debug());
    }
}

/// Tables, an interface that is selected in all of them, a narrow terminal, and the end.
#[test]
fn the_live_view_has_tables_and_keys() {
    let stage = Stage::new();
    pair(&stage.net.b, ["in", "out"]);
    chained(&stage, "in");
    let words = ["top", "--interval", "50ms"];
    let mut top = Terminal::start(stage.xway.command_in(&stage.net.b, &words), (24, 100));
    let is_whole = |text: &str| text.contains("XDP drops") && text.contains("q quit");
    let text = top.wait_for("interfaces", is_whole);
    assert!(text.contains("4 interfaces") && text.contains("eth0"), "{text}");
    top.press("/in\ra");
    top.wait_for("one interface", |text| text.contains("filter `in`") && !text.contains("eth0"));
    top.press("\t\t");
    let is_chain = |text: &str| ["filter", "drop", "seen"].iter().all(|name| text.contains(name));
    top.wait_for("members", |text| text.contains("aborted") && is_chain(text));
    top.press("p");
    top.wait_for("paused", |text| text.contains("paused"));
    top.press("q");
    assert!(top.wait().success());
    top.wait_for("the screen from before", |text| !text.contains("paused"));
    assert!(!top.is_taken_over());
    let top = Terminal::start(stage.xway.command_in(&stage.net.b, &words), (10, 40));
    let text =
        top.wait_for("a narrow view", |text| text.contains("in ") && text.contains("q quit"));
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
}
