//! `apply` and `save` with several programs of an interface.

use std::collections::BTreeSet;
use std::fs;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kernel::Mode;
use lab::until;
use serde_json::{Value, json};
use xway_tests::declarations::{Files, actions};
use xway_tests::filter::{rules, show};
use xway_tests::flood::traffic::{Source, Traffic};
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

    // The mode is that of all of them, which continue to count.
    declare(&files, "mode = 'generic'", &[DROP, FILTER, MOVED]);
    assert_eq!(files.plan(), ["mode"]);
    files.applied();
    assert_eq!(stage.attached()[0].0, "generic");
    stage.send(&stage.flow(11).udp(b"x").unwrap(), 1);
    seen_by(&stage, &[("filter", 100, 7), ("first", 150, 7), ("drop", 200, 7)]);
    declare(&files, "mode = 'generic'", &[MOVED, FILTER]);
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    seen_by(&stage, &[("filter", 100, 7), ("first", 150, 7)]);
    let answer = files.apply(&["--stop"]).json(0);
    assert_eq!(answer["interfaces"], json!([]), "it remains");
    fs::remove_file(files.dir.join("eth0.toml")).unwrap();
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

/// The mode, and what changes with it, is that of before or of after, with all members.
#[test]
fn a_killed_change_of_the_mode_leaves_one_of_both_chains() {
    let stage = Stage::new();
    let files = files(&stage);
    let declared = |mode: &str, port: u32| {
        let drop = format!("drop.rules = ['any udp {port}']");
        declare(&files, &format!("mode = '{mode}'"), &[&drop, FILTER, SEEN]);
    };
    declared("native", 10);
    files.applied();
    stage.send(&stage.flow(11).udp(b"x").unwrap(), 3);
    for step in 0..8 {
        let mode = ["generic", "native"][step as usize % 2];
        declared(mode, 20 + step);
        assert_eq!(files.plan(), ["mode", "rules"]);
        let words = ["apply", files.dir.to_str().unwrap()];
        stage.kill_after(&words, Duration::from_millis(40 * u64::from(step)));
        // A command that reads restores what ran before a change that is not complete.
        stage.json(&["chain", "eth0", "show"]);
        let left = files.plan();
        assert!(left.is_empty() || left == ["mode", "rules"], "step {step}: {left:?}");
        let names: Vec<_> = members(&stage).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["first", "filter", "drop"], "step {step}");
        files.applied();
        assert_eq!(stage.attached()[0].0, mode);
    }
    seen_by(&stage, &[("first", 50, 3), ("filter", 100, 3), ("drop", 200, 3)]);
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

    // What runs protects as a whole: an error of one changes none of the others.
    let before = (stage.attached(), stage.pins());
    files.write("rules/eth0.toml", "rules = ['b: drop udp dport 9']\n");
    files.write("eth0.toml", text);
    let failed = files.apply(&[]).json(2);
    assert!(failed["interfaces"][0]["error"].to_string().contains("nonsense"), "{failed}");
    assert_eq!((stage.attached(), stage.pins()), before);
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 0)]);
}

/// Ids of the programs that ran on eth0 until the end of `during`.
fn programs(stage: &Stage, during: impl FnOnce()) -> BTreeSet<u32> {
    let over = AtomicBool::new(false);
    let mut netlink = stage.net.b.netlink().unwrap();
    let mut look = move || netlink.link("eth0").unwrap().xdp.id(Mode::Native).unwrap();
    thread::scope(|scope| {
        let over = &over;
        let watch = scope.spawn(move || {
            let mut ids = BTreeSet::new();
            while !over.load(Ordering::Acquire) {
                ids.insert(look());
                thread::sleep(Duration::from_micros(200));
            }
            ids.insert(look());
            ids
        });
        let done = std::panic::catch_unwind(AssertUnwindSafe(during));
        over.store(true, Ordering::Release);
        let ids = watch.join().unwrap();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ids
    })
}

/// Each part of the change counts from the swap on, so a packet that only some of them had seen
/// would make their counts differ.
#[test]
fn all_changes_of_a_chain_take_effect_with_one_swap() {
    let stage = Stage::new();
    let files = files(&stage);
    let member = |name: &str, more: &str| format!("object = 'seen.o'\nname = '{name}'\n{more}");
    let last = |rule: &str| format!("drop.rules = ['{rule}']\npriority = 400");
    let [gone, kept, old] = ["gone", "kept", "renewed"].map(|name| member(name, ""));
    declare(&files, "", &[FILTER, &last("any udp 10"), &gone, &kept, &old]);
    files.applied();
    let traffic = Traffic::start(&stage.net, Source::Redirect);
    traffic.pass(2000);

    let rule = "rules = ['n: count udp dport 4242', 'a: drop udp dport 9']\n";
    files.write("rules/eth0.toml", rule);
    let (added, new) = (member("added", ""), member("renewed", "set = { verdict = 2 }"));
    declare(&files, "", &[FILTER, &last("any udp 4242"), &kept, &added, &new]);
    assert_eq!(files.plan(), ["rules", "attach", "options", "rules", "detach"]);
    let ids = programs(&stage, || drop(files.apply(&[]).json(0)));
    assert_eq!(ids.len(), 2, "one swap: {ids:?}");
    traffic.pass(2000);
    let sent = traffic.stop();
    let all = || {
        let shown = stage.json(&["chain", "eth0", "show"]);
        let of = |name: &str, key: &str| {
            let mut members = shown["members"].as_array().unwrap().iter();
            let member = members.find(|one| one["name"] == name).unwrap();
            member.pointer(key).unwrap().as_u64().unwrap()
        };
        let packets = ["added", "renewed"].map(|name| of(name, "/packets"));
        let (kept, dropped) = (of("kept", "/packets"), of("drop", "/verdicts/drop"));
        (kept, [packets[0], packets[1], dropped, rules(&show(&stage))[0].1])
    };
    until("the last frames", PATIENCE, || Ok((all().0 >= sent).then_some(()))).unwrap();
    let (seen, counts) = all();
    assert!(seen == sent && counts.iter().all(|one| *one == counts[0]), "{sent}: {counts:?}");
    assert!((2000..sent).contains(&counts[0]), "{sent}: {counts:?}");
    assert_eq!(files.plan(), [""; 0]);
}

#[test]
fn an_unconfirmed_declaration_returns_as_a_whole() {
    let stage = Stage::new();
    let files = files(&stage);
    declare(&files, "", &[DROP, FILTER, SEEN]);
    files.applied();
    let [nine, ten] = [9, 10].map(|port| stage.flow(port).udp(b"x").unwrap());
    stage.send(&nine, 2);
    stage.send(&ten, 3);
    seen_by(&stage, &[("first", 50, 5), ("filter", 100, 5), ("drop", 200, 3)]);
    let before = (stage.attached(), stage.pins());

    files.write("rules/eth0.toml", "rules = ['b: count udp dport 10']\n");
    let seen = format!("{SEEN}\nset = {{ verdict = 2 }}");
    declare(&files, "", &["drop.rules = ['any udp 9']", FILTER, &seen]);
    files.apply(&["--confirm", "1h"]).json(0);
    stage.send(&nine, 4);
    stage.send(&ten, 1);
    seen_by(&stage, &[("first", 50, 5), ("filter", 100, 10), ("drop", 200, 8)]);
    declare(&files, "", &[DROP, FILTER, &seen]);
    let refused = files.apply(&[]).json(2);
    let error = refused["interfaces"][0]["error"].to_string();
    assert!(error.contains("waits for a confirmation"), "{refused}");
    stage.run(&["confirm", "--revert"]).ended(0);
    assert_eq!((stage.attached(), stage.pins()), before);
    // The earlier rules decide, and the member that was replaced counts on where it was.
    stage.send(&nine, 1);
    stage.send(&ten, 1);
    seen_by(&stage, &[("first", 50, 7), ("filter", 100, 12), ("drop", 200, 9)]);
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 3)]);

    declare(&files, "", &["drop.rules = ['any udp 9']", FILTER, &seen]);
    files.apply(&["--confirm", "1h"]).json(0);
    stage.run(&["confirm"]).ended(0);
    assert_eq!(files.plan(), [""; 0]);
    assert_eq!(stage.kept(), 3, "{:?}", stage.pins());
}
