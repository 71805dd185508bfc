//! `xway run --explain`, `--trace` and `--cover` without root, over captures made here.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Folder, object, udp, xway};

const VICTIM: [u8; 4] = [10, 1, 0, 2];
const RULE: [&str; 2] = ["--rule", "10.1.0.2 udp 1234"];

fn frames() -> Vec<Vec<u8>> {
    vec![udp(VICTIM, 80), udp(VICTIM, 1234), udp(VICTIM, 1234)]
}

/// All deeds of a kind along a path, loops included.
fn deeds<'a>(path: &'a Value, kind: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    for item in path.as_array().unwrap() {
        let deeds = item["did"].as_array().into_iter().flatten();
        found.extend(deeds.filter(|deed| deed["did"] == kind));
        if item["kind"] == "loop" {
            found.extend(deeds_of_body(item, kind));
        }
    }
    found
}

fn deeds_of_body<'a>(item: &'a Value, kind: &str) -> Vec<&'a Value> {
    deeds(&item["body"], kind)
}

#[test]
fn a_packet_is_explained_with_the_maps_that_it_meets() {
    let folder = Folder::new("explain-drop");
    let capture = folder.capture("in.pcapng", &frames());
    let words = [&["run", "drop", "--in", &capture, "--explain", "3"][..], &RULE].concat();
    let told = xway(&words);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let lines: Vec<_> = told.stdout.lines().map(str::trim).collect();
    let story = [
        "packet 3: IPv4 10.0.0.9 > 10.1.0.2 UDP 4000 > 1234 len 18 (60 bytes)",
        "program xway_drop",
        "xway_drop:",
        "bpf_map_lookup_elem(drop_shapes, 0) = drop_shapes[0]",
        "drop_shapes[0] == 0: not taken",
        "packet+14 > packet+60: not taken",
        "xway_stats[drop rule].packets: 1 → 2",
        "xway_stats[drop rule].bytes: 60 → 120",
        "verdict drop",
        "lost: dropped",
        "map xway_stats[drop rule]: .packets 1 → 2, .bytes 60 → 120",
    ];
    let mut rest = lines.iter();
    for line in story {
        assert!(
            rest.any(|told| *told == line),
            "`{line}` is missing or too early:\n{}",
            told.stdout
        );
    }
    let source = "bpf/drop/drop.bpf.c:158:           if (!shapes)";
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = |line: &&&str| line.ends_with("if (!shapes)") && line.starts_with("bpf/drop/");
    assert!(lines.iter().any(|line| known(&line)), "{} in\n{}", squeezed(source), told.stdout);
}

#[test]
fn rewritten_fields_and_redirects_are_told() {
    let folder = Folder::new("explain-forward");
    let capture = folder.capture("in.pcapng", &frames());
    let world = folder.file("world.toml");
    fs::write(&world, WORLD).unwrap();
    let nat = "10.1.0.2 udp 1234 -> 10.1.0.3:1235";
    let words = ["run", "forward", "--in", &capture, "--world", &world, "--nat", nat];
    let json = xway(&[&words[..], &["--explain", "2", "--json"]].concat()).json();
    assert_eq!(json["verdict"], "redirect");
    assert_eq!(json["went"], serde_json::json!(["to interface 2"]));
    let field = |name: &str| {
        let fields = json["fields"].as_array().unwrap();
        let found = fields.iter().find(|change| change["field"] == name);
        found.map(|change| (change["old"].as_str().unwrap(), change["new"].as_str().unwrap()))
    };
    assert_eq!(field("ipv4.dst"), Some(("10.1.0.2", "10.1.0.3")));
    assert_eq!(field("udp.dport"), Some(("1234", "1235")));
    assert_eq!(field("ipv4.ttl"), Some(("64", "63")));
    assert_eq!(field("ipv4.src"), None, "is as it was");
    let writes = deeds(&json["path"], "write");
    assert!(writes.iter().any(|write| write["place"] == "ipv4.ttl" && write["new"] == "0x3f"));
    let calls = deeds(&json["path"], "call");
    let redirect = calls.iter().find(|call| call["name"] == "bpf_redirect_map").unwrap();
    assert_eq!(redirect["arguments"], serde_json::json!(["xway_tx", "1", "0"]));
    assert_eq!(redirect["result"], "redirect");
    let route = calls.iter().find(|call| call["name"] == "bpf_fib_lookup").unwrap();
    assert_eq!(route["result"], "success");
    let lookup = calls.iter().find(|call| call["arguments"][0] == "route_nat4").unwrap();
    assert!(lookup["arguments"][1].as_str().unwrap().contains("ROUTE_DESTINATION"), "{lookup}");
}

const WORLD: &str = r#"
[[interfaces]]
index = 1
name = "in"
mac = "02:00:00:00:00:01"
addresses = ["10.0.0.1/24"]
forward_ipv4 = true

[[interfaces]]
index = 2
name = "out"
mac = "02:00:00:00:00:02"
addresses = ["10.1.0.1/24"]
forward_ipv4 = true

[[neighbours]]
ip = "10.1.0.3"
dev = "out"
mac = "02:00:00:00:00:13"
"#;

#[test]
fn functions_and_callbacks_are_entered_and_left() {
    let folder = Folder::new("explain-calls");
    let capture = folder.capture("in.pcapng", &frames());
    let calls = object("test/calls");
    let words = ["run", &calls, "--program", "calls_all", "--in", &capture, "--explain", "1"];
    let told = xway(&words);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(told.stdout.contains("enters shared(0)"), "{}", told.stdout);
    assert!(told.stdout.contains("leaf returned 1"), "{}", told.stdout);
    assert!(told.stdout.contains("sum: 0 → 2"), "{}", told.stdout);
    let words = ["run", &calls, "--program", "calls_back", "--in", &capture, "--explain", "1"];
    let json = xway(&[&words[..], &["--json"]].concat()).json();
    let enters = deeds(&json["path"], "enter");
    assert!(enters.iter().any(|deed| deed["function"] == "each"), "{json}");
    let calls = deeds(&json["path"], "call");
    let bpf_loop = calls.iter().find(|call| call["name"] == "bpf_loop").unwrap();
    assert_eq!(bpf_loop["arguments"][1], "each");
    assert_eq!(bpf_loop["result"], "4");
}

/// The object with its first instruction, `r6 = r1`, made `r6 = 0`: the context is lost.
fn broken(folder: &Folder) -> String {
    let mut bytes = fs::read(object("drop")).unwrap();
    let first = [0xbf, 0x16, 0, 0, 0, 0, 0, 0];
    let at = bytes.windows(8).position(|window| window == first).unwrap();
    bytes[at..at + 8].copy_from_slice(&[0xb7, 6, 0, 0, 0, 0, 0, 0]);
    let path = folder.file("broken.o");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_fault_is_told_where_it_happens() {
    let folder = Folder::new("explain-fault");
    let capture = folder.capture("in.pcapng", &frames());
    let broken = broken(&folder);
    let told = xway(&["run", &broken, "--in", &capture, "--explain", "2"]);
    assert_eq!(told.code, 1, "{}", told.stderr);
    let lines: Vec<_> = told.stdout.lines().map(str::trim).collect();
    let fault = lines.iter().position(|line| line.starts_with("fault:")).unwrap();
    assert!(
        lines[fault].contains("reads 4 bytes at 0x0: that is a null pointer"),
        "{}",
        told.stdout
    );
    assert!(lines[fault - 1].ends_with("return (void *)(unsigned long)ctx->data;"), "{lines:?}");
    assert!(lines[fault..].contains(&"verdict aborted"), "{}", told.stdout);
    assert!(lines.contains(&"lost: fault"), "{}", told.stdout);
    let trace = xway(&["run", &broken, "--in", &capture, "--limit", "1", "--trace", "--json"]);
    assert_eq!(trace.code, 1);
    assert!(trace.stdout.contains(r#""returned":null,"fault":"`xway_drop`"#), "{}", trace.stdout);
}

#[test]
fn what_is_wrong_at_the_end_is_told_there() {
    let folder = Folder::new("explain-end");
    let capture = folder.capture("in.pcapng", &frames());
    let (lasting, program) = (object("test/helpers_lasting"), "lasting_leaked");
    let words = ["run", &lasting, "--program", program, "--in", &capture];
    let told = xway(&[&words[..], &["--explain", "1"]].concat()).stdout;
    let lines: Vec<_> = told.lines().map(str::trim).collect();
    let fault = "fault: at the end of the program an allocated object is not dropped";
    assert_eq!(lines.iter().filter(|line| **line == fault).count(), 1, "{told}");
    let trace = xway(&[&words[..], &["--trace", "--limit", "1"]].concat()).stdout;
    assert_eq!(trace.lines().filter(|line| line.trim() == fault).count(), 1, "{trace}");
    assert!(trace.contains("call bpf_obj_new_impl"), "kernel functions have names: {trace}");
}

/// The object without line information: its section has another name.
fn bare(folder: &Folder) -> String {
    let mut bytes = fs::read(object("test/paper_count")).unwrap();
    let name = b".BTF.ext\0";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + 1] = b'X';
    let path = folder.file("bare.o");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn without_lines_instructions_are_told() {
    let folder = Folder::new("explain-bare");
    let capture = folder.capture("in.pcapng", &frames());
    let bare = bare(&folder);
    let json = xway(&["run", &bare, "--in", &capture, "--explain", "1", "--json"]).json();
    let path = json["path"].as_array().unwrap();
    assert!(path.iter().skip(1).all(|item| item["kind"] == "insn"), "{json}");
    assert_eq!(path.last().unwrap()["text"], "(95) exit");
    let told = xway(&["run", &bare, "--in", &capture, "--explain", "1"]).stdout;
    assert!(told.lines().any(|line| line.ends_with(": (95) exit")), "{told}");
    let cover = xway(&["run", &bare, "--in", &capture, "--cover", "--json"]).json();
    let coverage = &cover["coverage"];
    assert_eq!(coverage["lines"], serde_json::json!([]));
    let insns = coverage["instructions"].as_array().unwrap();
    let exit = insns.iter().find(|insn| insn["text"] == "(95) exit").unwrap();
    assert_eq!(exit["hits"], 3);
}

#[test]
fn only_the_engine_can_be_watched() {
    let folder = Folder::new("explain-kernel");
    let capture = folder.capture("in.pcapng", &frames());
    for option in [&["--explain", "1"][..], &["--trace"], &["--cover"]] {
        let words = ["run", "drop", "--in", &capture, "--runtime", "kernel"];
        let answer = xway(&[&words[..], option].concat());
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains("--runtime vm"), "{}", answer.stderr);
    }
}

#[test]
fn a_packet_that_is_not_there_is_an_error() {
    let folder = Folder::new("explain-absent");
    let capture = folder.capture("in.pcapng", &frames());
    let answer = xway(&["run", "drop", "--in", &capture, "--explain", "4"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("3 packets, not 4"), "{}", answer.stderr);
    let words = ["run", "drop", "--in", &capture, "--explain", "0"];
    assert_eq!(xway(&words).code, 2);
}

#[test]
fn a_trace_has_every_instruction_and_ends_with_its_reader() {
    let folder = Folder::new("trace");
    let capture = folder.capture("in.pcapng", &frames());
    let words = ["run", "drop", "--in", &capture, "--trace", "--json"];
    let answer = xway(&words);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let lines: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((of("packet"), of("end"), of("verdict")), (3, 3, 3));
    assert_eq!(lines[0]["summary"], "IPv4 10.0.0.9 > 10.1.0.2 UDP 4000 > 80 len 18");
    assert_eq!(lines[1]["slot"], 0);
    assert!(lines[1]["source"]["text"].as_str().unwrap().contains("xway_drop"));
    let lookup = lines.iter().find(|line| {
        line["text"].as_str().is_some_and(|text| text.contains("bpf_map_lookup_elem"))
    });
    assert_eq!(lookup.unwrap()["set"]["r0"], "drop_shapes[0]");

    let many = folder.capture("many.pcapng", &vec![udp(VICTIM, 80); 500]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_xway"))
        .args(["run", "drop", "--in", &many, "--trace"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("packet 1: IPv4"), "{first}");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn coverage_counts_lines_and_writes_lcov() {
    let folder = Folder::new("cover");
    let capture = folder.capture("in.pcapng", &frames());
    let file = folder.file("drop.lcov");
    let cover = format!("--cover={file}");
    let words = [&["run", "drop", "--in", &capture, &cover, "--json"][..], &RULE].concat();
    let json = xway(&words).json();
    let coverage = &json["coverage"];
    assert_eq!(coverage["runs"], 3, "rounds that measure are not counted");
    let line = |text: &str| {
        let lines = coverage["lines"].as_array().unwrap().iter();
        let of = |line: &&Value| line["text"].as_str().unwrap().trim() == text;
        lines.clone().find(of).unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(line("if (!shapes)")["hits"], 3);
    let ways = serde_json::json!([{"taken": 0, "not_taken": 3}]);
    assert_eq!(line("if (!shapes)")["branches"], ways);
    assert_eq!(line("rule.shape = shape->mask.shape;")["hits"], 3);
    let function = &coverage["functions"][0];
    assert_eq!((&function["name"], &function["hits"]), (&"xway_drop".into(), &3.into()));
    let counts = ["lines", "lines_hit", "branches", "branches_hit"]
        .map(|name| function[name].as_u64().unwrap());
    assert!(counts[0] > counts[1] && counts[1] > 10, "{counts:?}");
    assert!(counts[2] > counts[3] && counts[3] > 10, "{counts:?}");

    let lcov = fs::read_to_string(&file).unwrap();
    assert!(lcov.starts_with("TN:\nSF:bpf/drop/drop.bpf.c\nFN:"), "{lcov}");
    assert!(lcov.contains("FNDA:3,xway_drop\n"));
    assert_eq!(lcov.matches("SF:").count(), lcov.matches("end_of_record").count());
    let never = lcov.lines().filter(|line| line.starts_with("DA:") && line.ends_with(",0")).count();
    assert!(never > 0, "IPv6 never came");

    let text = xway(&[&["run", "drop", "--in", &capture, "--cover"][..], &RULE].concat()).stdout;
    let shown = |line: &str, words: &str| line.contains("#####") && line.contains(words);
    assert!(text.lines().any(|line| shown(line, "struct drop_rule6 rule")), "{text}");
    assert!(text.lines().any(|line| line.ends_with("if (!shapes)  [0/3]")), "{text}");
    assert!(text.contains("\nlines "), "{text}");
}
