//! `xway run` without root: built-in functions and foreign objects over captures made here.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs::{self, File};

use pcap::{Packet, Reader};
use support::{Folder, object, udp, xway};

const VICTIM: [u8; 4] = [10, 1, 0, 2];

/// Three packets for the rule, two for others, one cut short.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = vec![
        udp(VICTIM, 1234),
        udp(VICTIM, 80),
        udp(VICTIM, 1234),
        udp([10, 1, 0, 3], 1234),
        udp(VICTIM, 1234),
    ];
    frames.push(frames[0][..20].to_vec());
    frames
}

fn packets(path: &str) -> Vec<Packet> {
    Reader::new(File::open(path).unwrap()).unwrap().map(Result::unwrap).collect()
}

#[test]
fn drop_counts_by_verdict_and_writes_what_came_out() {
    let folder = Folder::new("run-drop");
    let capture = folder.capture("in.pcapng", &frames());
    let out = folder.file("out");
    let rule = ["--rule", "10.1.0.2 udp 1234"];
    let words = ["run", "drop", "--in", &capture, "--out", &out, "--json"];
    let answer = xway(&[&words[..], &rule].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let json = answer.json();
    assert_eq!(json["packets"], 6);
    assert_eq!(json["verdicts"]["drop"], 3);
    assert_eq!(json["verdicts"]["pass"], 3);
    assert_eq!(json["verdicts"]["aborted"], 0);
    assert_eq!(json["redirects"], serde_json::json!({}));
    assert!(json["first_difference"].is_null() && json["first_fault"].is_null());
    assert!(json["ns_per_packet"].as_f64().unwrap() >= 0.0);
    let stats = json["maps"].as_array().unwrap().iter();
    let stats: Vec<_> = stats.filter(|map| map["map"]["name"] == "xway_stats").collect();
    let keys: Vec<_> = stats[0]["entries"].as_array().unwrap().iter().map(|e| &e["key"]).collect();
    assert!(keys.contains(&&serde_json::json!("drop rule")), "{keys:?}");

    let dropped = packets(&format!("{out}/drop.pcapng"));
    assert_eq!(dropped.iter().map(|p| p.id.unwrap()).collect::<Vec<_>>(), [1, 3, 5]);
    assert!(dropped.iter().all(|packet| packet.verdict == Some(1) && packet.queue == Some(0)));
    assert_eq!(dropped[0].data, frames()[0]);
    assert_eq!(dropped[1].timestamp_ns, 1_767_300_000_002_000_000);
    let mut files: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["drop.pcapng", "pass.pcapng", "stack.pcapng"]);
}

#[test]
fn forward_routes_by_the_scenario() {
    let folder = Folder::new("run-forward");
    let capture = folder.capture("in.pcapng", &[udp(VICTIM, 80), udp([192, 0, 2, 1], 80)]);
    let world = folder.file("world.toml");
    fs::write(&world, WORLD).unwrap();
    let answer = xway(&["run", "forward", "--in", &capture, "--world", &world, "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let json = answer.json();
    assert_eq!(json["verdicts"]["redirect"], 1, "{json}");
    assert_eq!(json["redirects"], serde_json::json!({"dev:2 (out)": 1}));
    assert_eq!(json["verdicts"]["pass"], 1, "no route: the stack answers it");
    let table = xway(&["run", "forward", "--in", &capture, "--world", &world]);
    assert!(table.stdout.contains("to dev:2 (out): 1 packet"), "{}", table.stdout);
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

[[routes]]
to = "10.1.0.0/24"
dev = "out"

[[neighbours]]
ip = "10.1.0.2"
dev = "out"
mac = "02:00:00:00:00:12"
"#;

#[test]
fn objects_of_others_run_with_globals_and_maps_set() {
    let folder = Folder::new("run-foreign");
    let capture = folder.capture("in.pcapng", &frames());
    let count = xway(&["run", &object("test/paper_count"), "--in", &capture, "--json"]);
    assert_eq!(count.code, 0, "{}", count.stderr);
    assert_eq!(count.json()["verdicts"]["tx"], 5, "{}", count.stdout);
    assert_eq!(count.json()["redirects"]["dev:1"], 5, "back to where they came from");
    let json = count.json();
    let entries = json["maps"][0]["entries"].as_array().unwrap();
    let udp = entries.iter().find(|entry| entry["key"] == 17).unwrap();
    assert_eq!(udp["cpus"][0], "hex:0500000000000000", "by IP protocol, without types");
}

#[test]
fn a_cut_capture_is_used_as_far_as_it_goes() {
    let folder = Folder::new("run-cut");
    let whole = folder.capture("in.pcapng", &frames());
    let bytes = fs::read(&whole).unwrap();
    let cut = folder.file("cut.pcapng");
    fs::write(&cut, &bytes[..bytes.len() - 10]).unwrap();
    let answer = xway(&["run", "drop", "--in", &cut, "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(answer.json()["packets"], 5);
    assert!(answer.stderr.contains("after packet 5"), "{}", answer.stderr);
    let rules = folder.file("rules.toml");
    fs::write(&rules, "rules = ['drop udp']\n").unwrap();
    for words in [
        &["filter", "explain", &cut, "--rules", &rules][..],
        &["run", "drop", "--in", &cut, "--explain", "5"],
        &["run", "drop", "--in", &cut, "--trace"],
    ] {
        let answer = xway(words);
        assert_eq!(answer.code, 0, "{words:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("after packet 5"), "{words:?}: {}", answer.stderr);
    }
}

#[test]
fn packets_that_no_driver_would_hand_over_are_left_out() {
    let folder = Folder::new("run-unfit");
    let mut long = udp(VICTIM, 80);
    long.resize(4000, 0);
    let frames = [udp(VICTIM, 80), vec![0; 13], long];
    let capture = folder.capture("in.pcapng", &frames);
    let counts = |program: &[&str]| {
        let answer = xway(&[&["run", "drop", "--in", &capture, "--json"], program].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let json = answer.json();
        [&json["packets"], &json["unfit"]["packets"], &json["unfit"]["first"]].map(|n| n.as_u64())
    };
    assert_eq!(counts(&[]), [Some(1), Some(2), Some(2)]);
    assert_eq!(counts(&["--program", "xway_drop_frags"]), [Some(2), Some(1), Some(2)]);
}

#[test]
fn bad_input_is_an_error_that_names_it() {
    let folder = Folder::new("run-bad");
    let capture = folder.capture("in.pcapng", &frames());
    let text = folder.file("text");
    fs::write(&text, "neither object nor capture").unwrap();
    let map = format!("drop_rules4={text}");
    let table: &[(&[&str], &str)] = &[
        (&["drop", "--in", "/nowhere"], "/nowhere"),
        (&["drop", "--in", &text], "not a pcap or pcapng capture"),
        (&[&text, "--in", &capture], "text"),
        (&["drop", "--in", &capture, "--world", &text], "text"),
        (&["drop", "--in", &capture, "--map", &map], "text:1"),
        (&["drop", "--in", &capture, "--map", "absent=x"], "absent"),
        (&["drop", "--in", &capture, "--set", "absent=1"], "absent"),
        (&["drop", "--in", &capture, "--nat", "x"], "--nat is for"),
        (&["forward", "--in", &capture, "--rule", "x"], "--rule is for"),
        (&["drop", "--in", &capture, "--rule", "10.1"], "10.1"),
        (&["drop", "--in", &capture, "--program", "absent"], "absent"),
    ];
    for (words, told) in table {
        let answer = xway(&[&["run"], *words].concat());
        assert_eq!(answer.code, 2, "{words:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(told), "{words:?}: {}", answer.stderr);
        assert!(answer.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn the_demo_replays_its_story() {
    let folder = Folder::new("demo-vm");
    let out = folder.file("report");
    let words = ["demo", "--runtime", "vm", "--phase", "10ms", "--rate", "100000", "--out", &out];
    let answer = xway(&[&words[..], &["--json"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let json = answer.json();
    assert_eq!(json["phases"][2]["name"], "flood-vm");
    // Of a thousand frames the rules let a burst of a hundred through, and what is earned since.
    let [offered, dropped] =
        ["offered_pps", "dropped_pps"].map(|field| json["phases"][2][field].as_f64().unwrap());
    assert!(dropped > 0.8 * offered && dropped <= 0.9 * offered, "{dropped} of {offered}");
    let [left, allowed] =
        [&json["phases"][2]["attack_pps"], &json["allowed_pps"]].map(|it| it.as_f64().unwrap());
    assert!(left <= 1.05 * allowed, "{left} of {allowed} that the rules allow");
    assert_eq!(json["phases"][1]["dropped_pps"], 0.0);
    for file in ["report.html", "figure.svg", "flood.pcapng", "rules.toml"] {
        assert!(fs::metadata(format!("{out}/{file}")).unwrap().len() > 0, "{file}");
    }
    assert_eq!(packets(&format!("{out}/flood.pcapng")).len(), 70 * 3 + 2000 + 3);
}

#[test]
fn each_line_of_a_program_is_printed_once() {
    let folder = Folder::new("run-printed");
    let capture = folder.capture("in.pcapng", &frames());
    let object = object("test/helpers_text");
    let run = |limit: &str| {
        let words = ["run", &object, "--in", &capture, "--program", "text_trace", "--limit", limit];
        let json = xway(&[&words[..], &["--json"]].concat()).json();
        json["log"].as_array().unwrap().len()
    };
    let each = run("1");
    assert!(each > 0);
    assert_eq!(run("3"), 3 * each);
}

#[test]
fn the_file_of_coverage_follows_with_or_without_an_equals_sign() {
    let folder = Folder::new("run-cover");
    let capture = folder.capture("in.pcapng", &frames());
    for (number, form) in
        [&["drop", "--cover=FILE"][..], &["drop", "--cover", "FILE"], &["--cover=FILE", "drop"]]
            .into_iter()
            .enumerate()
    {
        let file = folder.file(&format!("{number}.lcov"));
        let words: Vec<_> = form.iter().map(|word| word.replace("FILE", &file)).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let answer = xway(&[&["run", "--in", &capture], &words[..]].concat());
        assert_eq!(answer.code, 0, "{form:?}: {}", answer.stderr);
        assert!(fs::read_to_string(&file).unwrap().contains("SF:"), "{form:?}");
    }
    // Without a file, the object may follow.
    let answer = xway(&["run", "--in", &capture, "--cover", "drop"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let answer = xway(&["run", "--in", &capture, "--cover"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("expected an object file"), "{}", answer.stderr);
}
