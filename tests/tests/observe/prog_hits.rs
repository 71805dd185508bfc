//! `xway prog hits`: how often each instruction of an interface's programs runs.

use std::process::{Child, Stdio};
use std::time::Duration;

use lab::until;
use serde_json::Value;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, interrupt, prebuilt};

/// For programs to be composed and verified, beside whatever else the machine does.
const LOAD: Duration = Duration::from_mins(2);

/// Starts to count.
fn counting(stage: &Stage) -> Child {
    let before = stage.attached();
    let words = ["--json", "prog", "hits", "eth0", "--time", "300s"];
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the counters", LOAD, || Ok((stage.attached() != before).then_some(()))).unwrap();
    child
}

/// A filter, `drop` and an object that passes all packets.
fn chained() -> Stage {
    let stage = Stage::new();
    let rules = stage.xway.state().join("rules.toml");
    std::fs::write(&rules, "rules = ['a: drop udp dport 9']\n").unwrap();
    stage.run(&["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
    stage.json(&["drop", "eth0", "any udp 7"]);
    let seen = prebuilt("test/seen.o");
    stage.json(&["chain", "eth0", "add", seen.to_str().unwrap()]);
    stage
}

/// Runs of the first instruction of each member.
fn first(report: &Value) -> Vec<(String, u64)> {
    let members = report["members"].as_array().unwrap().iter();
    let of = |one: &Value| {
        let first = &one["functions"][0]["instructions"][0];
        (one["member"].as_str().unwrap().to_owned(), first["hits"].as_u64().unwrap())
    };
    members.map(of).collect()
}

#[test]
fn each_member_runs_for_the_packets_that_reach_it() {
    let stage = chained();
    let before = stage.attached();
    let child = counting(&stage);
    for (port, count) in [(7, 5), (9, 4), (11, 3)] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
    }
    let counted = || {
        let report = stage.json(&["chain", "eth0", "show"]);
        Ok((report["members"][2]["packets"] == 3).then_some(()))
    };
    until("packets", PATIENCE, counted).unwrap();
    interrupt(&child);
    let report = Answer::of(child.wait_with_output().unwrap()).json(0);
    let expected = [("filter", 12), ("drop", 8), ("seen", 3)];
    assert_eq!(first(&report), expected.map(|(name, runs)| (name.to_owned(), runs)), "{report:#}");
    // No instruction runs more often than the first one, except in loops, of which `seen` has none.
    let seen = &report["members"][2]["functions"][0]["instructions"];
    let runs = seen.as_array().unwrap().iter().map(|one| one["hits"].as_u64().unwrap());
    assert_eq!(runs.max(), Some(3));
    assert_eq!(stage.attached(), before, "what ran before runs again");
    let members = stage.json(&["chain", "eth0", "show"])["members"].clone();
    assert_eq!(members[0]["packets"], 12, "counters of verdicts continue: {members:#}");
}

/// Members that cannot be composed are programs of their own, which main reaches by tail calls.
#[test]
fn members_that_are_reached_by_tail_calls_are_counted() {
    let stage = chained();
    let deep = prebuilt("test/deep.o");
    let report = stage.json(&["chain", "eth0", "add", deep.to_str().unwrap()]);
    assert_eq!(report["form"], "tail-calls", "{report:#}");
    let before = stage.attached();
    let child = counting(&stage);
    for (port, count) in [(7, 5), (9, 4), (11, 3)] {
        stage.send(&stage.flow(port).udp(b"x").unwrap(), count);
    }
    let counted = || {
        let report = stage.json(&["chain", "eth0", "show"]);
        Ok((report["members"][3]["packets"] == 3).then_some(()))
    };
    until("packets", PATIENCE, counted).unwrap();
    interrupt(&child);
    let report = Answer::of(child.wait_with_output().unwrap()).json(0);
    let expected = [("filter", 12), ("drop", 8), ("seen", 3), ("deep", 3)];
    assert_eq!(first(&report), expected.map(|(name, runs)| (name.to_owned(), runs)), "{report:#}");
    assert_eq!(stage.attached(), before, "what ran before runs again");
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 2);
    let continued = || {
        let report = stage.json(&["chain", "eth0", "show"]);
        Ok((report["members"][0]["packets"] == 14).then_some(()))
    };
    until("counters of verdicts continue", PATIENCE, continued).unwrap();
}

/// An object whose program ends with a tail call to another one; if that failed, it would return
/// "aborted".
fn calling() -> Stage {
    let stage = Stage::new();
    let locals = prebuilt("test/locals.o");
    let locals = locals.to_str().unwrap();
    stage.json(&["attach", "eth0", locals, "--program", "locals_first"]);
    stage
}

/// Sends packets, all of which the called program decides. `before`: those of earlier calls.
#[track_caller]
fn send_through(stage: &Stage, before: u64) -> u64 {
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 3);
    let shown = || stage.json(&["chain", "eth0", "show"])["members"].clone();
    let locals = |members: &Value| {
        let mut members = members.as_array().unwrap().iter();
        members.find(|one| one["program"] == "locals_first").unwrap().clone()
    };
    let counted = || Ok((locals(&shown())["packets"] == before + 3).then_some(()));
    until("packets", PATIENCE, counted).unwrap();
    let verdicts = locals(&shown())["verdicts"].clone();
    assert_eq!(verdicts["aborted"].as_u64().unwrap_or(0), 0, "no tail call failed: {verdicts}");
    before + 3
}

#[test]
fn programs_that_a_member_calls_itself_are_counted() {
    for other in [None, Some("seen"), Some("deep")] {
        let stage = calling();
        if let Some(other) = other {
            let object = prebuilt(&format!("test/{other}.o"));
            stage.json(&["chain", "eth0", "add", object.to_str().unwrap(), "--priority", "50"]);
        }
        let (before, pins) = (stage.attached(), stage.pins());
        let child = counting(&stage);
        let sent = send_through(&stage, 0);
        interrupt(&child);
        let report = Answer::of(child.wait_with_output().unwrap()).json(0);
        let members = report["members"].as_array().unwrap().iter();
        let programs = members.map(|one| one["name"].as_str().unwrap().to_owned());
        let runs: Vec<_> =
            programs.zip(first(&report)).map(|(name, (_, runs))| (name, runs)).collect();
        let expected = [("locals_first", 3), ("locals_last", 3)];
        let expected = expected.map(|(name, runs)| (name.to_owned(), runs));
        assert_eq!(runs[runs.len() - 2..], expected, "{report:#}");
        assert_eq!((stage.attached(), stage.pins()), (before, pins), "what ran before runs again");
        send_through(&stage, sent);
    }
}

/// The process that counts is killed, or another one changes the chain meanwhile: the programs that
/// a member calls are those without counters.
#[test]
fn called_programs_are_uncounted_after_a_kill_or_a_change() {
    for kill in [true, false] {
        let stage = calling();
        let mut counter = Some(counting(&stage));
        if kill && let Some(mut child) = counter.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // No command has restored what ran before.
        stage.send(&stage.flow(7).udp(b"x").unwrap(), 3);
        let object = prebuilt("test/seen.o");
        stage.json(&["chain", "eth0", "add", object.to_str().unwrap(), "--priority", "50"]);
        send_through(&stage, 3);
        if let Some(child) = counter {
            let report = Answer::of(child.wait_with_output().unwrap()).json(0);
            assert_eq!(report["members"].as_array().unwrap().len(), 2, "{report:#}");
        }
        let left = stage.pins();
        let left: Vec<_> =
            left.iter().filter(|pin| pin.to_string_lossy().contains("xway_hits")).collect();
        assert!(left.is_empty(), "{left:?}");
        send_through(&stage, 6);
    }
}

#[test]
fn a_killed_counter_leaves_what_ran_before() {
    let stage = chained();
    let before = stage.attached();
    let mut child = counting(&stage);
    child.kill().unwrap();
    child.wait().unwrap();
    let report = stage.json(&["chain", "eth0", "show"]);
    assert_eq!(report["members"].as_array().unwrap().len(), 3, "{report:#}");
    stage.run(&["filter", "add", "eth0", "b: drop udp dport 10"]).ended(0);
    assert_eq!(stage.kept(), 3, "{:?}", stage.pins());
    assert_ne!(stage.attached(), before, "a new filter");
}

#[test]
fn without_a_program_there_is_nothing_to_count() {
    let stage = Stage::new();
    let error = stage.run(&["prog", "hits", "eth0", "--time", "1s"]).error();
    assert!(error.contains("no program of xway runs on eth0"), "{error}");
}
