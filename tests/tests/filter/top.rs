//! `xway filter top` and `show`: who sends, where to, and the state of limits, events and bans, for
//! people, as JSON and for Prometheus.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

use lab::until;
use serde_json::{Value, json};
use xway_tests::filter::{self, counted, expected, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::prebuilt;

/// A `top` that runs, with its values on standard output.
struct Top {
    child: Child,
    lines: BufReader<ChildStdout>,
    talk: BufReader<ChildStderr>,
}

impl Top {
    /// Waits for its first value: from then on packets are seen.
    fn begin(stage: &Stage, words: &[&str]) -> Self {
        let top = ["--json", "filter", "top", "eth0", "--interval", "100ms", "--time", "100s"];
        let mut command = stage.xway.command_in(&stage.net.b, &[&top, words].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let talk = BufReader::new(child.stderr.take().unwrap());
        let mut top = Self { child, lines, talk };
        top.next();
        top
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut said = String::new();
            let _ended = self.talk.read_to_string(&mut said);
            panic!("{error}: {line}: {said}")
        })
    }

    /// The first value that something holds for.
    #[track_caller]
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..400 {
            last = self.next();
            if holds(&last) {
                return last;
            }
        }
        panic!("{what}: {last:#}");
    }

    /// As it is called where it is in somebody's way.
    fn name(&self) -> String {
        format!("process {} (`", self.child.id())
    }

    /// As Ctrl-C does.
    fn end(mut self) {
        interrupt(&mut self.child);
        assert!(self.child.wait().unwrap().success());
    }
}

fn names(top: &Value, of: &str) -> Vec<(String, u64)> {
    let rows = top["talkers"][of].as_array().unwrap().iter();
    let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
    rows.map(|row| (name(row), row["samples"].as_u64().unwrap())).collect()
}

#[test]
fn senders_and_ports_are_reported_while_rules_change() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let mut top = Top::begin(&stage, &["--sample", "1/1"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 3);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let seen = top.until("all packets", |top| top["talkers"]["samples"] == json!(4));
    assert_eq!(names(&seen, "sources"), [("10.0.0.1".to_owned(), 4)], "{seen:#}");
    assert_eq!(names(&seen, "ports"), [("udp/7".to_owned(), 3), ("udp/8".to_owned(), 1)]);
    let first = &seen["talkers"]["ports"][0];
    assert_eq!((&first["verdict"], &first["reason"]), (&json!("drop"), &json!("rule")));
    assert_eq!((&first["error_pps"], &seen["talkers"]["lost"]), (&json!(0.0), &json!(0)));
    assert_eq!(rules(&seen), expected(&[("seven", 3)]));
    // Rules change meanwhile, no command waits, and sampling continues.
    let program = stage.attached();
    stage.run(&["filter", "add", "eth0", "drop udp dport 9"]).ended(0);
    let added = stage.attached();
    assert_ne!(added, program);
    top.until("a program in front of the new rules", |_| stage.attached() != added);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 2);
    let seen = top
        .until("the new rule", |top| names(top, "ports").iter().any(|(name, _)| name == "udp/9"));
    assert_eq!(rules(&seen), expected(&[("seven", 3), ("drop-udp-dport-9", 2)]));
    top.end();
    // The rules are alone again, by the program of before, and nothing was lost.
    assert_eq!(stage.attached(), added);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(rules(&counted(&stage, 7)), expected(&[("seven", 4), ("drop-udp-dport-9", 2)]));
}

/// In a chain, what earlier members drop is not sampled, and later ones see what the filter passes.
#[test]
fn senders_to_a_member_of_a_chain_are_reported() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let seen = prebuilt("test/seen.o");
    stage.run(&["attach", "eth0", seen.to_str().unwrap()]).ended(0);
    stage.run(&["drop", "eth0", "any udp 5"]).ended(0);
    stage.run(&["chain", "eth0", "move", "drop", "--priority", "50"]).ended(0);
    let before = (stage.attached(), stage.pins());
    let mut top = Top::begin(&stage, &["--sample", "1/1"]);
    assert_ne!(stage.attached(), before.0, "a program of its own");
    for (port, count) in [(5, 4), (7, 3), (8, 1)] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
    }
    let seen = top.until("all packets", |top| top["talkers"]["samples"] == json!(4));
    assert_eq!(names(&seen, "ports"), [("udp/7".to_owned(), 3), ("udp/8".to_owned(), 1)]);
    assert_eq!(rules(&seen), expected(&[("seven", 3)]));
    top.end();
    assert_eq!((stage.attached(), stage.pins()), before);
    let members = stage.json(&["chain", "eth0", "show"])["members"].clone();
    let packets: Vec<_> =
        members.as_array().unwrap().iter().map(|one| one["packets"].clone()).collect();
    assert_eq!(packets, [json!(8), json!(4), json!(1)], "drop, filter, seen");
}

#[test]
fn one_top_samples_and_others_tell_of_rules() {
    let stage = Stage::new();
    load(&stage, &["all: drop udp"]);
    let first = Top::begin(&stage, &[]);
    let program = stage.attached();
    let answer =
        stage.run(&["--json", "filter", "top", "eth0", "--interval", "20ms", "--time", "200ms"]);
    let holder = first.name();
    let notice = format!("senders and ports are not shown while {holder}");
    assert!(answer.stderr.contains(&notice), "{}", answer.stderr);
    let text = answer.ended(0);
    let value: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&value["talkers"], &value["rules"][0]["name"]), (&Value::Null, &json!("all")));
    assert_eq!(stage.attached(), program, "the first one's samples go on");
    first.end();
    let before = stage.attached();
    let words = ["filter", "top", "eth0", "--rules-only", "--time", "100ms", "--interval", "20ms"];
    let said = stage.run(&words).stderr;
    assert!(said.contains("eth0, native, 1 rules"), "lines for people: {said}");
    assert_eq!(stage.attached(), before, "nothing was put in front of the rules");
    let text = stage.run(&["filter", "top", "lo"]).error();
    assert!(text.contains("no filter runs on lo"), "{text}");
}

#[test]
fn a_look_at_packets_and_a_top_do_not_disturb_each_other() {
    let stage = Stage::new();
    load(&stage, &["all: count udp"]);
    let mut top = Top::begin(&stage, &["--sample", "1/1"]);
    let program = stage.attached();
    let words = ["--json", "filter", "explain", "eth0", "--live", "--for", "100ms"];
    stage.run(&words).ended(1);
    assert_eq!(stage.attached(), program, "the top's program is back");
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 2);
    top.until("the packets", |top| top["talkers"]["samples"] == json!(2));
    top.end();
}

/// Rates of rules are always reported; senders and ports as soon as possible.
#[test]
fn rules_are_reported_while_another_command_samples_packets() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let frame = stage.flow(7).udp(b"x").unwrap();
    let before = stage.attached();
    let mut looking = explaining(&stage, &before);
    let holder = format!("process {} (`", looking.id());
    // One that begins meanwhile, and one that was there before.
    let mut top = Top::begin(&stage, &["--sample", "1/1"]);
    let held = |top: &Value| top["talkers_held_by"].as_str().is_some_and(|it| it.contains(&holder));
    let meets = |top: &mut Top| {
        stage.send(&frame, 5);
        let is_reported = |top: &Value| top["rules"][0]["pps"].as_f64().unwrap() > 0.0;
        top.until("a rate of the rule", is_reported)
    };
    let seen = meets(&mut top);
    assert!(held(&seen) && seen["talkers"].is_null(), "{seen:#}");
    interrupt(&mut looking);
    top.until("senders", |top| top["talkers"].is_object() && top["talkers_held_by"].is_null());
    let program = stage.attached();
    let mut looking = explaining(&stage, &program);
    let holder = format!("process {} (`", looking.id());
    let held = |top: &Value| top["talkers_held_by"].as_str().is_some_and(|it| it.contains(&holder));
    top.until("who looks", |top| held(top) && top["talkers"].is_null());
    let seen = meets(&mut top);
    assert!(held(&seen), "{seen:#}");
    interrupt(&mut looking);
    top.until("senders", |top| top["talkers"].is_object());
    stage.send(&frame, 2);
    top.until("the packets", |top| top["talkers"]["samples"] == json!(2));
    assert_eq!(rules(&counted(&stage, 12)), expected(&[("seven", 12)]));
    top.end();
    assert_eq!((stage.attached(), stage.kept()), (before, 1), "{:?}", stage.pins());
}

/// The value during which programs change has rates, too.
#[test]
fn rates_go_on_when_the_same_rules_have_another_program() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let mut top = Top::begin(&stage, &["--rules-only"]);
    let before = stage.attached();
    let mut last = top.next();
    for count in 1..=2 {
        let mut looking = explaining(&stage, &before);
        let of_before = last["program_id"].clone();
        let now = top.until("another program", |top| top["program_id"] != of_before);
        assert!(now["interval_s"].as_f64().unwrap() > 0.05, "a whole interval: {now:#}");
        stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
        let now = top.until("a packet", |top| top["rules"][0]["packets"] == json!(count));
        assert!(now["rules"][0]["pps"].as_f64().unwrap() > 0.0, "{now:#}");
        interrupt(&mut looking);
        last = top.until("the program of before", |top| top["program_id"] == of_before);
        assert!(last["interval_s"].as_f64().unwrap() > 0.05, "a whole interval: {last:#}");
    }
    top.end();
}

/// Samples packets before this program.
fn explaining(stage: &Stage, before: &[(&str, u32)]) -> Child {
    let words = ["--json", "filter", "explain", "eth0", "--live", "--for", "100s"];
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the look", PATIENCE, || Ok((stage.attached() != before).then_some(()))).unwrap();
    child
}

fn interrupt(child: &mut Child) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    child.wait().unwrap();
}

#[test]
fn limits_events_and_bans_are_shown() {
    let stage = Stage::new();
    let few = "few: limit 8bps burst 129byte per source udp dport 7";
    load(
        &stage,
        &[few, "mark: mark 5 udp", "out: redirect socket udp dport 9", "ban: ban 60s udp dport 8"],
    );
    for (port, count) in [(7, 10), (9, 2), (8, 1)] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
    }
    let shown = counted(&stage, 13);
    let limit = &shown["limits"][0];
    assert_eq!((&limit["rule"], &limit["over"]), (&json!("few"), &json!(7)), "{limit:#}");
    assert_eq!(shown["rules"][0]["taken"], json!(7));
    let levels = limit["levels"].as_array().unwrap();
    let per: Vec<_> = levels.iter().map(|level| level["per"].as_str().unwrap()).collect();
    assert_eq!(per, ["source", "source/24,64", "source/16,48"]);
    // The clock continues: a byte is regained each second.
    let own = &levels[0];
    assert_eq!((&own["buckets"], &own["used"]), (&json!(32_768), &json!(1)), "{own:#}");
    assert!(own["left"].as_f64().unwrap() < 1.0, "{own:#}");
    assert!(limit["load"].is_number() && limit["loss"].is_number(), "{limit:#}");
    let events = shown["events"].as_array().unwrap().iter();
    let event =
        |name: &str| events.clone().find(|one| one["name"] == name).unwrap()["count"].clone();
    assert_eq!((event("no-target"), event("bans-full")), (json!(2), json!(0)));
    assert_eq!(shown["bans"], json!({ "number": 1, "most": 65_536 }));
    let text = stage.run(&["filter", "show", "eth0", "--interval", "1ms"]).ended(0);
    for part in ["no-target 2", "1 sources are banned, of 65536", "source/24,64"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    stage.run(&["filter", "unban", "eth0", "10.0.0.1"]).ended(0);
    assert_eq!(show(&stage)["bans"]["number"], json!(0));
}

#[test]
fn scrapes_tell_what_is_shown() {
    let stage = Stage::new();
    load(
        &stage,
        &["few: limit 8bps burst 129byte per source udp dport 7", "eight: drop udp dport 8"],
    );
    let mut top = Top::begin(&stage, &["--prometheus", "127.0.0.1:0"]);
    let mut said = String::new();
    top.talk.read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("metrics at http://").unwrap();
    let address = address.strip_suffix("/metrics").unwrap().to_owned();
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 5);
    stage.send(&stage.flow(8).udp(b"x").unwrap(), 1);
    let shown = top.until("all packets", |top| filter::total(top) == 6);
    let page = until("the page", PATIENCE, || {
        let page = stage.net.b.run(|| scrape(&address)).unwrap();
        let is_new = value(&page, "rule_packets_total{interface=\"eth0\",rule=\"eight\"}") == "1";
        Ok(is_new.then_some(page))
    });
    let page = page.unwrap();
    for (name, field) in [
        ("rule_taken_packets_total{interface=\"eth0\",rule=\"few\"}", &shown["limits"][0]["over"]),
        ("limit_used_buckets{interface=\"eth0\",rule=\"few\",per=\"source\"}", &json!(1.0)),
        ("bans_most{interface=\"eth0\"}", &json!(1.0)),
        ("events_total{interface=\"eth0\",event=\"no-target\"}", &json!(0)),
    ] {
        assert_eq!(value(&page, name), field.to_string(), "{name}: {page}");
    }
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let family = line.split(['{', ' ']).next().unwrap();
        assert!(page.contains(&format!("# HELP {family} ")), "{line}");
    }
    top.end();
}

/// The page, from inside of the namespace.
fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn value<'p>(page: &'p str, name: &str) -> &'p str {
    let name = format!("xway_filter_{name} ");
    page.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default()
}
