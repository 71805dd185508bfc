//! `bench run ddos` from outside: its rows or why they are missing, and that nothing stays.
//! Whether the service lives is a matter of speed, which tests do not judge.

#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::Value;
use xway_tests::xway::Xway;

const RUN: [&str; 7] = ["bench", "run", "ddos", "--seconds", "0.05", "--rounds", "5"];

/// Those of the topology that is measured.
fn labs() -> Vec<String> {
    let all = lab::list().unwrap().into_iter();
    all.filter(|lab| lab.topology.as_deref() == Some("service")).map(|lab| lab.id).collect()
}

/// Kernel threads that poll an interface of the name that servers' interfaces have.
fn pollers() -> Vec<u32> {
    sys::netns::pollers_named("eth0").unwrap()
}

fn words(value: &Value, list: &str, key: &str) -> Vec<String> {
    let items = value[list].as_array().into_iter().flatten();
    items.map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_point_has_rows_or_a_reason_and_nothing_stays() {
    let before = (labs(), pollers());
    let report = Xway::new().run(&[&RUN[..], &["--json"]].concat()).json(0);
    let rows = words(&report, "rows", "name");
    let has = |row: &str| rows.iter().any(|name| name == row);
    let gone = words(&report, "absent", "name");

    for (defence, rates) in [
        ("none", &[0, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000][..]),
        ("xdp-drop", &[0, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000]),
    ] {
        for rate in rates {
            let point = format!("{defence}@{rate}");
            assert!(has(&point) != gone.contains(&point), "{point}: {report}");
            assert!(has(&format!("lost/{point}")) == (has(&point) && *rate > 0), "{point}");
            assert!(has(&format!("kept/{point}")) == (has(&point) && *rate > 0), "{point}");
        }
        // Any machine that runs the tests reaches the least flood.
        assert!(has(&format!("{defence}@0")) && has(&format!("offered/{defence}@250000")));
    }
    for row in report["rows"].as_array().unwrap() {
        let [name, unit] = ["name", "unit"].map(|key| row[key].as_str().unwrap());
        let expected = match name.split_once('/') {
            None => "/s",
            Some(("offered", _)) => "pps",
            Some(_) => "%",
        };
        assert_eq!(unit, expected, "{name}");
        assert!(row["max"].as_f64().unwrap() >= 0.0, "{row}");
        if unit == "pps" {
            assert!(row["min"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    for absent in report["absent"].as_array().into_iter().flatten() {
        assert!(absent["reason"].as_str().unwrap().len() > 10, "{absent}");
    }
    let figures = words(&report, "figures", "name");
    assert_eq!(figures, ["ddos", "ddos-kept"]);
    for figure in report["figures"].as_array().unwrap() {
        let references = figure["references"].as_array().unwrap();
        assert_eq!(references.len(), 2, "{figure}");
        for reference in references {
            assert!(reference["source"].as_str().unwrap().contains("CoNEXT 2018"));
        }
    }
    assert_eq!((labs(), pollers()), before, "what the run made is gone");
}

#[test]
fn interrupted_in_the_middle_it_keeps_what_it_has_and_removes_its_lab() {
    let before = (labs(), pollers());
    let xway = Xway::new();
    let mut command = xway.command(&[&RUN[..], &["--json"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = told.by_ref().any(|line| line.unwrap().contains("none@250000, round 1 of 5"));
    assert!(begun, "it ended without a first round");
    assert!(labs().len() > before.0.len(), "it runs in a lab of its own");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    told.for_each(drop);

    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["cut"], "interrupted in round 1 of 5");
    let rows = words(&report, "rows", "name");
    assert!(rows.iter().any(|row| row == "none@250000"), "{rows:?}");
    assert_eq!((labs(), pollers()), before, "what the run made is gone");
}

#[test]
fn on_a_network_card_it_is_refused_before_anything_is_made() {
    let before = labs();
    let words = [&RUN[..], &["--iface", "nowhere0", "--peer", "nowhere1"]].concat();
    let said = Xway::new().run(&words).error();
    assert!(said.contains("in a lab alone, not on nowhere0"), "{said}");
    assert_eq!(labs(), before);
}
