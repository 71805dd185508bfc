//! `apply` and `save` with several programs of an interface.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::fs;

use lab::until;
use serde_json::{Value, json};
use xway_tests::declarations::{Files, actions};
use xway_tests::filter::{rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::prebuilt;

/// Names, priorities and packets of the members, in order.
fn members(stage: &Stage) -> Vec<(String, u64, u64)> {
    let report = stage.json(&["chain", "eth0", "show"]);
    let members = report["members"].as_array().unwrap().iter();
    let of = |one: &Value| {
        let number = |key: &str| one[key].as_u64().unwrap();
        (one["name"].as_str().unwrap().to_owned(), number("priority"), number("packets"))
    };
    members.map(of).collect()
}

const FILTER: &str = "filter = 'rules/eth0.toml'";
const DROP: &str = "drop.rules = ['any udp 10']";
const SEEN: &str = "object = 'seen.o'\nname = 'first'\npriority = 50";
const MOVED: &str =
    "object = 'seen.o'\nname = 'first'\npriority = 150\ncontinue-on = ['pass', 'tx']";

/// Files that the declared programs need.
fn files(stage: &Stage) -> Files<'_> {
    let files = Files::new(stage);
    fs::copy(prebuilt("test/seen.o"), files.dir.join("seen.o")).unwrap();
    files.write("rules/eth0.toml", "rules = ['a: drop udp dport 9']\n");
    files
}

/// Declares these programs of eth0.
fn declare(files: &Files<'_>, head: &str, programs: &[&str]) {
    let programs = programs.iter().map(|one| format!("[[program]]\n{one}\n"));
    let text = format!("interface = 'eth0'\n{head}\n{}", programs.collect::<String>());
    files.write("eth0.toml", &text);
}

/// Waits until the members have these names, priorities and packets.
#[track_caller]
fn seen_by(stage: &Stage, all: &[(&str, u64, u64)]) {
    let of =
        |(name, priority, packets): &(&str, u64, u64)| ((*name).to_owned(), *priority, *packets);
    let expected: Vec<_> = all.iter().map(of).collect();
    let is_so = || Ok((members(stage) == expected).then_some(()));
    let end = until("members", PATIENCE, is_so);
    assert!(end.is_ok(), "{:?}, expected {expected:?}", members(stage));
}

#[test]
fn several_programs_are_declared_and_each_changes_without_the_others() {
    let stage = Stage::new();
    let files = files(&stage);
    declare(&files, "", &[DROP, FILTER, SEEN]);
    assert_eq!(files.plan(), ["attach"; 3]);
    files.applied();
    let [nine, ten] = [9, 10].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&nine, 2);
    stage.send(&ten, 3);
    seen_by(&stage, &[("first", 50, 5), ("filter", 100, 5), ("drop", 200, 3)]);

    // Each program is changed without the others, whose counts continue.
    files.write("rules/eth0.toml", "rules = ['a: drop udp dport 9', 'b: drop udp dport 11']\n");
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    declare(&files, "", &["drop.rules = ['any udp 12']", FILTER, SEEN]);
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    seen_by(&stage, &[("first", 50, 5), ("filter", 100, 5), ("drop", 200, 3)]);
    declare(&files, "", &[DROP, FILTER, MOVED]);
    assert_eq!(files.plan(), ["move", "rules"]);
    files.applied();
    seen_by(&stage, &[("filter", 100, 5), ("first", 150, 5), ("drop", 200, 3)]);
    let verdict = format!("{MOVED}\nset = {{ verdict = 1 }}");
    declare(&files, "", &[DROP, FILTER, &verdict]);
    assert_eq!(files.plan(), ["options"]);
    files.applied();
    stage.send(&ten, 1);
    seen_by(&stage, &[("filter", 100, 6), ("first", 150, 1), ("drop", 200, 3)]);
}

#[test]
fn a_chain_is_saved_as_it_was_declared_and_its_mode_changes() {
    let stage = Stage::new();
    let files = files(&stage);
    declare(&files, "", &[DROP, FILTER, MOVED]);
    files.applied();
    stage.send(&stage.flow(11).udp(b"x").unwrap(), 6);
    seen_by(&stage, &[("filter", 100, 6), ("first", 150, 6), ("drop", 200, 6)]);

    let saved = stage.xway.state().join("saved");
    let saved = saved.to_str().unwrap();
    let report = stage.json(&["save", saved]);
    assert_eq!(report["skipped"], json!([]), "{report}");
    let before = stage.attached();
    stage.json(&["apply", saved]);
    assert_eq!(stage.attached(), before, "only the records change");
    let planned = stage.json(&["apply", "--plan", saved]);
    assert_eq!(actions(&planned["interfaces"][0]), [""; 0], "{planned}");
    stage.json(&["apply", files.dir.to_str().unwrap()]);

    // The mode is that of all of them.
    declare(&files, "mode = 'generic'", &[DROP, FILTER, MOVED]);
    assert_eq!(files.plan(), ["mode", "attach", "attach"]);
    files.applied();
    assert_eq!(stage.attached()[0].0, "generic");
    seen_by(&stage, &[("filter", 100, 6), ("first", 150, 0), ("drop", 200, 0)]);
    declare(&files, "mode = 'generic'", &[MOVED, FILTER]);
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    seen_by(&stage, &[("filter", 100, 6), ("first", 150, 0)]);
    let answer = files.apply(&["--stop"]).json(0);
    assert_eq!(answer["interfaces"], json!([]), "it remains");
    fs::remove_file(files.dir.join("eth0.toml")).unwrap();
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn a_member_that_cannot_be_added_leaves_the_others() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.write("rules/eth0.toml", "rules = ['a: drop udp dport 9']\n");
    let text = "interface = 'eth0'\n[[program]]\nfilter = 'rules/eth0.toml'\n[[program]]\n\
                drop.rules = ['any udp 10']\nset = { nonsense = 1 }\n";
    files.write("eth0.toml", text);
    let failed = files.apply(&[]).json(2);
    assert!(failed["interfaces"][0]["error"].to_string().contains("nonsense"), "{failed}");
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 0)], "what runs first protects");
    files.write("eth0.toml", &text.replace("set = { nonsense = 1 }\n", ""));
    assert_eq!(files.plan(), ["attach"]);
    files.applied();
    let with_confirm = "drop.rules = ['any udp 11']";
    files.write("eth0.toml", &format!("interface = 'eth0'\n[[program]]\n{with_confirm}\n"));
    let refused = files.apply(&["--confirm", "60s"]).json(2);
    assert!(refused["interfaces"][0]["error"].to_string().contains("--confirm"), "{refused}");
}
