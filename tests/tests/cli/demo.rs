//! The demo from outside: its output, its files, and that nothing remains. Whether the service
//! survives depends on speed, which tests do not judge.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::until;
use serde_json::Value;
use xway_tests::xway::{Answer, Xway};

/// A folder for the report, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        Self(std::env::temp_dir().join(format!("xway-demo-{test}-{}", std::process::id())))
    }

    fn words<'a>(&'a self, phase: &'a str) -> [&'a str; 8] {
        let out = self.0.to_str().unwrap();
        ["demo", "--phase", phase, "--rate", "100000", "--out", out, "--json"]
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _absent = fs::remove_dir_all(&self.0);
    }
}

/// A demo that runs, and the lab that it made.
struct Demo {
    child: Child,
    lab: String,
}

impl Demo {
    /// Waits until the lab is there. Labs of other processes do not count: a lab's maker has its
    /// lock file open.
    fn start(folder: &Folder, phase: &str) -> Self {
        let xway = Xway::new();
        let mut command = xway.command(&folder.words(phase));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let files = format!("/proc/{}/fd", child.id());
        let made = || {
            let files = fs::read_dir(&files).unwrap().flatten();
            let opened = files.filter_map(|file| fs::read_link(file.path()).ok());
            let mut labs = opened.filter_map(|path| {
                let below = path.to_str()?.strip_prefix("/run/xway/lab/")?;
                Some(below.strip_suffix("/lock")?.to_owned())
            });
            Ok(labs.next())
        };
        let lab = until("the demo's lab", Duration::from_secs(60), made).unwrap();
        Self { child, lab }
    }

    /// Waits for its end. Its lab must be gone then, or as soon as its processes have ended, which
    /// takes them a while if the processors are busy.
    fn end(self) -> Answer {
        let answer = Answer::of(self.child.wait_with_output().unwrap());
        let found = || lab::list().unwrap().into_iter().find(|lab| lab.id == self.lab);
        let removed = until("the removal of its lab", Duration::from_secs(20), || {
            Ok(found().is_none().then_some(()))
        });
        assert!(removed.is_ok(), "{:?}: {}", found(), answer.stderr);
        answer
    }
}

#[test]
fn four_phases_are_measured_and_written_down() {
    let folder = Folder::new("whole");
    let answer = Demo::start(&folder, "400ms").end();
    assert!([0, 1].contains(&answer.code), "{}", answer.stderr);
    let text: Value = serde_json::from_str(&answer.stdout).unwrap();

    let phases = text["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["quiet", "flood", "flood-generic", "flood-native"]);
    let number = |phase: usize, field: &str| phases[phase][field].as_f64().unwrap();
    assert!(number(0, "tps") > 0.0, "{text}");
    assert_eq!([number(0, "offered_pps"), number(0, "dropped_pps")], [0.0, 0.0]);
    assert_eq!(number(1, "dropped_pps"), 0.0, "nothing drops without XDP");
    for flooded in 1..4 {
        assert!(number(flooded, "offered_pps") > 0.0, "{text}");
        assert!((0.0..=1.0).contains(&number(flooded, "cpu")), "{text}");
    }
    assert!(number(2, "dropped_pps") > 0.0 && number(3, "dropped_pps") > 0.0, "{text}");

    let rules = text["rules"].as_array().unwrap();
    let count = |name: &str, key: &str| {
        let rule = rules.iter().find(|rule| rule["name"] == name).unwrap();
        rule[key].as_u64().unwrap()
    };
    assert!(count("service", "packets") > 0 && count("udp", "packets") > 0, "{text}");
    // Each packet comes from a new address: only the total is over the limit.
    assert!(count("udp", "taken") > count("udp", "packets") / 2, "{text}");
    let page = fs::read_to_string(text["report"].as_str().unwrap()).unwrap();
    assert!(page.contains("<svg") && page.contains("How it was done"));
    assert!(
        page.contains("limit 5pps burst 10 per source total 5kpps burst 100 udp"),
        "the rules are told"
    );
    let kept = fs::read_to_string(folder.0.join("rules.toml")).unwrap();
    assert!(kept.contains("per source"), "{kept}");
    let figure = fs::read_to_string(text["figure"].as_str().unwrap()).unwrap();
    assert!(figure.contains("flood,") && figure.contains("Transactions"));
    let samples = fs::read_to_string(folder.0.join("samples.json")).unwrap();
    let samples: Value = serde_json::from_str(&samples).unwrap();
    assert_eq!(samples["samples"].as_array().unwrap().len(), 4);
}

#[test]
fn interrupted_it_removes_its_lab_and_reports_it() {
    let folder = Folder::new("interrupted");
    let demo = Demo::start(&folder, "30s");
    let pid = demo.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let said = demo.end().error();
    assert!(said.contains("stopped"), "{said}");
    assert!(!folder.0.exists(), "half a report is none");
}
