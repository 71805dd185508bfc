//! A group that may read the state: members see what runs, and can change nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use serde_json::Value;
use xway_tests::stage::Stage;
use xway_tests::xway::{Answer, Xway};

/// User and group without any rights.
const NOBODY: u32 = 65534;
/// A group that no file of this host has.
const READERS: u32 = 64_242;

/// A state directory of root in a directory that all users can open.
struct Shared<'s> {
    stage: &'s Stage,
    xway: Xway,
}

impl<'s> Shared<'s> {
    fn new(stage: &'s Stage) -> Self {
        fs::set_permissions(stage.xway.state(), Permissions::from_mode(0o755)).unwrap();
        Self { stage, xway: Xway::at(stage.xway.state().join("home")) }
    }

    fn share(&self) {
        let group = READERS.to_string();
        let answer = self.run(&["state", "init", "--group", &group]);
        assert!(answer.stdout.contains("readable by group 64242"), "{answer:?}");
    }

    fn run(&self, words: &[&str]) -> Answer {
        let answer = self.xway.run_in(&self.stage.net.b, words);
        assert_eq!(answer.code, 0, "{words:?}: {answer:?}");
        answer
    }

    fn load(&self, rules: &str, words: &[&str]) {
        let path = self.stage.xway.state().join("rules.toml");
        fs::write(&path, rules).unwrap();
        self.run(&[&["filter", "load", "eth0", path.to_str().unwrap()], words].concat());
    }

    /// As a user without capabilities in the group, or in no group.
    fn reads(&self, group: Option<u32>, words: &[&str]) -> Answer {
        self.xway.run_with_group(&self.stage.net.b, NOBODY, group, words)
    }

    fn json(&self, words: &[&str]) -> Value {
        self.reads(Some(READERS), &[&["--json"], words].concat()).json(0)
    }

    /// All pins and directories below the bpffs, with their permissions.
    fn pins(&self) -> Vec<(PathBuf, u32)> {
        let (mut folders, mut pins) = (vec![self.xway.state().join("bpf")], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                // The kernel's own pins, which only root can open.
                if path.extension().is_some() {
                    continue;
                }
                let found = fs::metadata(&path).unwrap();
                pins.push((path.clone(), found.mode() & 0o7777));
                assert_eq!(found.gid(), READERS, "{path:?}");
                if found.is_dir() {
                    folders.push(path);
                }
            }
        }
        pins
    }
}

const RULES: &str = "rules = ['a: drop udp dport 9', 'b: limit 10pps per source udp dport 10', \
                     'c: sample 1/2 udp', 'd: drop for 1h udp dport 11']\n";

#[test]
fn members_of_the_group_see_what_others_are_not_permitted_to_see() {
    let stage = Stage::new();
    let shared = Shared::new(&stage);
    shared.share();
    shared.load(RULES, &[]);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 3);
    let owner: Value = shared.run(&["--json", "status", "eth0"]).json(0);
    let status = shared.json(&["status", "eth0"]);
    let (owner, reader) =
        (&owner["interfaces"][0]["programs"][0], &status["interfaces"][0]["programs"][0]);
    for key in ["id", "name", "tag", "mode", "owner", "permitted"] {
        assert_eq!(reader[key], owner[key], "{key}: {reader:#}");
    }
    assert_eq!(reader["rates"]["verdicts"]["drop"]["packets"], 3);
    let shown = shared.json(&["filter", "show", "eth0"]);
    assert_eq!(shown["rules"][0]["packets"], 3, "{shown:#}");
    assert!(shown["rules"][3]["left_s"].as_f64().unwrap() > 3000.0, "{shown:#}");
    assert_eq!(shown["limits"][0]["rule"], "b");
    assert_eq!(shared.json(&["filter", "bans", "eth0"])["bans"], Value::Array(Vec::new()));
    shared.reads(Some(READERS), &["filter", "top", "eth0", "--time", "1ms"]).ended(0);
    for words in [&["status", "eth0"][..], &["filter", "show", "eth0"], &["filter", "bans", "eth0"]]
    {
        let error = shared.reads(None, words).error();
        assert!(error.contains("not permitted") && error.contains("--group"), "{error}");
    }
}

#[test]
fn members_of_the_group_can_change_nothing() {
    let stage = Stage::new();
    let shared = Shared::new(&stage);
    shared.share();
    shared.load(RULES, &[]);
    let pins = shared.pins();
    for words in [
        &["filter", "add", "eth0", "drop udp"][..],
        &["filter", "unload", "eth0"],
        &["filter", "ban", "eth0", "192.0.2.1", "--time", "1m"],
        &["detach", "eth0"],
        &["attach", "eth0", "drop", "--replace"],
        &["confirm"],
    ] {
        let answer = shared.reads(Some(READERS), words);
        assert_eq!(answer.code, 2, "{words:?}: {answer:?}");
    }
    assert_eq!(shared.pins(), pins);
    let stats = pins.iter().find(|(path, _)| path.ends_with("xway_stats")).unwrap();
    let stats = stats.0.to_str().unwrap();
    shared.reads(Some(READERS), &["map", "dump", stats]).ended(0);
    let update = shared.reads(Some(READERS), &["map", "update", stats, "0", "1"]);
    assert_eq!(update.code, 2, "{update:?}");

    // Programs, links and secrets cannot be opened; maps cannot be opened for changes.
    let mut readable = Vec::new();
    for (path, mode) in &pins {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            assert_eq!(*mode, 0o2750, "{path:?}");
        } else if *mode == 0o640 {
            readable.push(name);
        } else {
            assert_eq!(*mode, 0o600, "{path:?}");
        }
    }
    for secret in ["program", "link", "filter_seed", "filter_guards", "filter_samples"] {
        assert!(pins.iter().any(|(path, _)| path.ends_with(secret)), "{secret}");
        assert!(!readable.contains(&secret), "{readable:?}");
    }
    for shown in ["identity", "xway_stats", "xway_record", "filter_file", "filter_counts"] {
        assert!(readable.contains(&shown), "{shown}: {readable:?}");
    }
    assert_eq!(mode(&shared.xway.state().join("lock")), 0o600);
}

/// As `tmpfiles.d` prepares it; the bpffs is mounted by the first command.
#[test]
fn a_directory_of_the_group_is_shared_from_the_first_command_on() {
    let stage = Stage::new();
    let shared = Shared::new(&stage);
    fs::create_dir_all(shared.xway.state()).unwrap();
    chown(shared.xway.state(), None, Some(READERS)).unwrap();
    fs::set_permissions(shared.xway.state(), Permissions::from_mode(0o2750)).unwrap();
    shared.load(RULES, &[]);
    assert_eq!(shared.json(&["filter", "show", "eth0"])["rules"][0]["name"], "a");
    assert_eq!(shared.pins().iter().filter(|(_, mode)| *mode == 0o2750).count(), 4);
}

#[test]
fn what_runs_already_is_shared_as_well_and_changes_remain_shared() {
    let stage = Stage::new();
    let shared = Shared::new(&stage);
    shared.load("rules = ['a: drop udp dport 9']\n", &[]);
    shared.reads(Some(READERS), &["filter", "show", "eth0"]).error();
    shared.share();
    let names = |shown: Value| {
        let rules = shown["rules"].as_array().unwrap().clone();
        rules.iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(shared.json(&["filter", "show", "eth0"])), ["a"]);
    shared.load("rules = ['b: drop udp dport 9']\n", &["--confirm", "1h"]);
    assert_eq!(names(shared.json(&["filter", "show", "eth0"])), ["b"]);
    let status = shared.json(&["status", "eth0"]);
    let left = &status["interfaces"][0]["programs"][0]["unconfirmed_s"];
    assert!(left.as_f64().unwrap() > 3000.0, "{status:#}");
    shared.run(&["confirm"]);
    let status = shared.json(&["status", "eth0"]);
    assert_eq!(status["interfaces"][0]["programs"][0]["unconfirmed_s"], Value::Null);
    assert_eq!(names(shared.json(&["filter", "show", "eth0"])), ["b"]);
    shared.run(&["drop", "eth0", "any udp 7", "--replace"]);
    let status = shared.json(&["status", "eth0"]);
    assert_eq!(status["interfaces"][0]["programs"][0]["name"], "xway_drop");
    // Without a group again, the state is private.
    shared.run(&["state", "init", "--owner", "0"]);
    assert_eq!(mode(shared.xway.state()), 0o700);
    shared.reads(Some(READERS), &["status", "eth0"]).error();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}
