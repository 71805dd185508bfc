//! `xway bench` from outside: what it lists, what it measures and keeps, and what is left when it
//! is stopped. How fast anything is, tests do not judge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::until;
use serde_json::{Value, json};
use xway_tests::xway::{Answer, Xway};

/// A folder of the test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-bench-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn out(&self) -> String {
        self.0.join("out").to_str().unwrap().to_owned()
    }

    fn raw(&self) -> PathBuf {
        self.0.join("out/raw.json")
    }

    /// `raw.json` has a round that counts.
    fn has_a_round(&self) {
        let raw = self.raw();
        until("raw.json", PATIENCE, || Ok(raw.exists().then_some(()))).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _absent = fs::remove_dir_all(&self.0);
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn start(xway: &Xway, words: &[&str]) -> Child {
    let mut command = xway.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}

#[test]
fn the_list_has_all_scenarios() {
    let xway = Xway::new();
    let list = xway.run(&["bench", "list", "--json"]).json(0);
    let kind = |name: &str| {
        let mut all = list.as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap()["kind"].clone()
    };
    assert_eq!([kind("drop"), kind("noise")], ["picture", "part"]);
    assert!(list.as_array().unwrap().iter().all(|one| one["about"].is_string()));
    let text = xway.run(&["bench", "list"]).ended(0);
    assert!(text.contains("drop") && text.contains("vm-interp"), "{text}");
}

#[test]
fn a_run_keeps_what_scripts_read() {
    let (xway, folder) = (Xway::new(), Folder::new("kept"));
    let out = folder.out();
    let words = ["bench", "run", "noise", "--seconds", "0.01", "--rounds", "6", "--out", &out];
    let answer = xway.run_powerless(&[&words[..], &["--json"]].concat());
    assert_eq!(answer.stderr, "", "with --json only errors are said");
    let report = answer.json(0);
    assert_eq!(report["scenario"], "noise");
    assert_eq!(report["rows"][0]["rounds"], 6);
    assert_eq!(names(Path::new(&out)), ["noise.svg", "raw.json", "report.html", "summary.md"]);
    let raw = read(&folder.raw());
    assert_eq!(raw["scenarios"][0]["samples"][1]["values"].as_array().unwrap().len(), 6);
    assert!(raw["command"].as_str().unwrap().contains("bench run noise"), "{raw}");
    assert_eq!(raw["scenarios"][0]["cut"], Value::Null);

    let answer = xway.run_powerless(&words);
    let lines: Vec<&str> = answer.stderr.lines().collect();
    assert!(lines[0].starts_with("noise: about 2 seconds: 2 arms x 7 rounds"), "{lines:#?}");
    let values =
        lines.iter().filter(|line| line.contains(", round ") || line.contains(", warm-up"));
    assert_eq!(values.count(), 2 * 7, "{lines:#?}");
    assert!(lines.last().unwrap().contains(&out), "{lines:#?}");
    assert!(answer.ended(0).contains("first / second"));
}

#[test]
fn where_runs_are_kept_each_has_a_folder_of_its_own() {
    let (xway, folder) = (Xway::new(), Folder::new("home"));
    let run = |rounds: &str| {
        let mut command = xway.command(&["bench", "run", "noise", "--seconds", "0.01"]);
        command.args(["--rounds", rounds]).current_dir(&folder.0);
        Answer::of(command.output().unwrap())
    };
    let answer = run("5");
    assert!(answer.stderr.contains("--out DIR"), "{}", answer.stderr);
    answer.ended(0);
    assert!(names(&folder.0).is_empty(), "nobody asked for files");
    let runs = folder.0.join("bench/runs");
    fs::create_dir_all(&runs).unwrap();
    run("5").ended(0);
    run("5").ended(0);
    let kept = names(&runs);
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1], format!("{}-2", kept[0]));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let words = kept[0].split('-').filter(|word| *word == host.trim());
    assert_eq!(words.count(), 0, "{kept:?} names the host");
    assert!(kept[0].starts_with("20") && kept[0].contains("linux-"), "{kept:?}");
    let command =
        xway.command(&["bench", "run", "nothing"]).current_dir(&folder.0).output().unwrap();
    Answer::of(command).error();
    assert_eq!(names(&runs), kept, "what was not measured has no folder");
}

#[test]
fn invalid_requests_are_reported() {
    let (xway, folder) = (Xway::new(), Folder::new("asked"));
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("out");
    let table: &[(&[&str], &str)] = &[
        (&["nothing"], "unknown scenario \"nothing\"; expected one of: drop"),
        (&["noise", "nothing"], "expected one of:"),
        (&[], "NAME"),
        (&["noise", "--all"], "--all"),
        (&["noise", "--rounds", "4"], "from 5 to 1000 rounds"),
        (&["noise", "--rounds", "1001"], "from 5 to 1000 rounds"),
        (&["noise", "--rounds", "-5"], "-5"),
        (&["noise", "--rounds", "many"], "'many' for '--rounds <N>': expected a number from 5"),
        (&["noise", "--time", "1ms"], "from 0.01 to 600 seconds"),
        (&["noise", "--time", "11m"], "from 0.01 to 600 seconds"),
        (&["noise", "--time", "0"], "above zero"),
        (&["noise", "--time", "nan"], "such as 500ms"),
        (&["noise", "--out", below.to_str().unwrap()], "cannot open the directory"),
        (&["noise", "--dev", "eth1"], "--peer"),
    ];
    for (words, want) in table {
        let said = xway.run(&[&["bench", "run"], *words].concat()).error();
        assert!(said.contains(want), "{words:?}: {said}");
    }
}

#[test]
fn one_that_fails_does_not_stop_the_next() {
    let (xway, folder) = (Xway::new(), Folder::new("failed"));
    let out = folder.out();
    let words = [
        "bench",
        "run",
        "drop",
        "noise",
        "--rounds",
        "5",
        "--seconds",
        "0.01",
        "--out",
        &out,
        "--json",
    ];
    let answer = xway.run_powerless(&words);
    assert_eq!(answer.code, 2, "{}", answer.stderr);
    let lines: Vec<&str> = answer.stderr.lines().collect();
    assert!(lines[0].contains("\"drop\"") && lines[0].contains("CAP_NET_ADMIN"), "{lines:#?}");
    assert_eq!(lines[1..], ["xway: not measured, or not kept: drop"]);
    let report: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(report["scenario"], "noise");
    assert_eq!(read(&folder.raw())["scenarios"][0]["report"], report["report"]);
    let said = xway.run_powerless(&words[..3]).error();
    assert_eq!(said.matches("CAP_NET_ADMIN").count(), 1, "{said}");
}

#[test]
fn an_interrupt_ends_it_after_the_turn_and_keeps_all() {
    let (xway, folder) = (Xway::new(), Folder::new("interrupted"));
    let out = folder.out();
    let words =
        ["bench", "run", "noise", "drop", "--rounds", "1000", "--seconds", "0.05", "--out", &out];
    let child = start(&xway, &words);
    folder.has_a_round();
    signal(&child, "INT");
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert!(answer.stderr.contains("ends after this turn"), "{}", answer.stderr);
    assert!(answer.stderr.contains("not measured: drop"), "{}", answer.stderr);
    let text = answer.ended(1);
    assert!(text.contains("interrupted in round") && !text.contains("xdp-native"), "{text}");
    assert_eq!(names(Path::new(&out)), ["noise.svg", "raw.json", "report.html", "summary.md"]);
    let raw = read(&folder.raw());
    assert!(raw["scenarios"][0]["cut"].as_str().unwrap().starts_with("interrupted"), "{raw}");
}

#[test]
fn a_second_interrupt_ends_it_immediately() {
    let (xway, folder) = (Xway::new(), Folder::new("twice"));
    let mut child = start(&xway, &["bench", "run", "noise", "--seconds", "600"]);
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        line
    };
    assert!(line().contains("about 120 minutes"));
    // An interrupt before the first turn would already end it.
    let busy_ns = || sys::proc::run_ns(child.id()).unwrap();
    until("the first turn", PATIENCE, || Ok((busy_ns() > BEGUN_NS).then_some(()))).unwrap();
    signal(&child, "INT");
    assert!(line().contains("press again to end immediately"));
    signal(&child, "TERM");
    let last = line();
    assert!(last.starts_with("xway: ended immediately"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(names(&folder.0).is_empty());
}

#[test]
fn a_killed_run_keeps_its_rounds_and_leaves_no_namespace() {
    let (xway, folder) = (Xway::new(), Folder::new("killed"));
    let out = folder.out();
    let known = lab::list().unwrap();
    let words = ["bench", "run", "drop", "--rounds", "1000", "--seconds", "0.05", "--out", &out];
    let mut child = start(&xway, &[&words[..], &["--json"]].concat());
    folder.has_a_round();
    signal(&child, "KILL");
    child.wait().unwrap();
    let raw = read(&folder.raw());
    let measured = &raw["scenarios"][0];
    let cut = measured["cut"].as_str().unwrap();
    assert!(cut.starts_with("cut off after round"), "{cut}");
    assert!(!measured["samples"][0]["values"].as_array().unwrap().is_empty(), "{measured}");
    lab::gc(false).unwrap();
    let left = lab::list().unwrap();
    let left = left.iter().filter(|one| !one.running && !known.contains(one));
    assert_eq!(left.count(), 0);
}

#[test]
fn two_runs_are_compared() {
    let (xway, folder) = (Xway::new(), Folder::new("compared"));
    let run = |name: &str, speed: f64| {
        let row = |name: &str, speed: f64| {
            let (min, max) = (0.98 * speed, 1.02 * speed);
            json!({"name": name, "unit": "pps",
                   "min": min, "median": speed, "max": max, "rounds": 5})
        };
        let samples = |name: &str, speed: f64| {
            let values = [1.0, 1.01, 0.99, 1.02, 0.98].map(|part| part * speed);
            json!({"name": name, "unit": "pps", "values": values})
        };
        let ratio = speed / 50.0;
        let ratio =
            json!({"a": "native", "b": "generic", "min": ratio, "median": ratio, "max": ratio});
        let run = json!({"version": 1, "command": "xway bench run drop", "scenarios": [{
            "scenario": "drop", "host": {}, "ratios": [ratio],
            "rows": [row("native", speed), row("generic", 50.0)],
            "samples": [samples("native", speed), samples("generic", 50.0)],
        }]});
        let path = folder.0.join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("raw.json"), run.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (quick, slow) = (run("quick", 100.0), run("slow", 50.0));
    let compare = |a: &str, b: &str| xway.run_powerless(&["bench", "compare", a, b]);
    let text = compare(&quick, &slow).ended(1);
    assert!(text.contains("slower") && text.contains("-50.0 %"), "{text}");
    assert!(compare(&slow, &quick).ended(0).contains("faster"));
    compare(&quick, &format!("{quick}/raw.json")).ended(0);
    let words = ["bench", "compare", &quick, &slow, "--json"];
    let answer = xway.run_powerless(&words).json(1);
    assert_eq!(answer["scenarios"][0]["rows"][0]["verdict"], "slower");
    assert_eq!(answer["scenarios"][0]["same_order"], true);
}

#[test]
fn incomparable_runs_are_reported() {
    let (xway, folder) = (Xway::new(), Folder::new("broken"));
    let file = |name: &str, text: &str| {
        let path = folder.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("good", r#"{"version": 1, "command": "xway", "scenarios": []}"#);
    let table = [
        (file("cut", r#"{"version": 1, "comm"#), "is not a run of `xway bench`"),
        (file("other", "[1, 2]"), "is not a run of `xway bench`"),
        (file("later", &fs::read_to_string(&good).unwrap().replace('1', "9")), "of version 9"),
        (folder.out(), "cannot read"),
        (folder.0.to_str().unwrap().to_owned(), "raw.json"),
        (good.clone(), "no scenario in common"),
    ];
    for (path, want) in &table {
        let said = xway.run_powerless(&["bench", "compare", &good, path]).error();
        assert!(said.contains(want), "{path}: {said}");
    }
}

/// More than a run takes until it measures.
const BEGUN_NS: u64 = 1_000_000_000;
/// For something that is sure to happen.
const PATIENCE: Duration = Duration::from_secs(60);
