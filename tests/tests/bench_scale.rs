//! `bench run scale` from outside: a row for each number of queues, and that nothing stays.

#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

use serde_json::Value;
use xway_tests::xway::Xway;

const RUN: [&str; 7] = ["bench", "run", "scale", "--seconds", "0.05", "--rounds", "5"];

/// Those of the topology that is measured.
fn labs() -> Vec<String> {
    let all = lab::list().unwrap().into_iter();
    all.filter(|lab| lab.topology.as_deref() == Some("two_hosts")).map(|lab| lab.id).collect()
}

fn named<'a>(report: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    report[list].as_array().unwrap().iter().find(|item| item["name"] == name)
}

#[test]
fn every_number_of_queues_has_its_rows_and_nothing_stays() {
    let before = labs();
    let report = Xway::new().run(&[&RUN[..], &["--json"]].concat()).json(0);
    let cpus = sys::cpu::affinity().unwrap().len();
    for hook in ["xdp-native", "touch", "limit"] {
        for queues in [1, cpus] {
            let point = format!("{hook}@{queues}");
            let row = named(&report, "rows", &point).unwrap_or_else(|| panic!("{point}: {report}"));
            assert_eq!((&row["unit"], &row["rounds"]), (&"pps".into(), &5.into()), "{row}");
            assert!(row["min"].as_f64().unwrap() > 0.0, "{row}");
            let lost = named(&report, "rows", &format!("lost/{point}")).unwrap();
            assert!((0.0..=100.0).contains(&lost["max"].as_f64().unwrap()), "{lost}");
        }
    }
    let more = format!("xdp-native@{}", cpus + 1);
    assert!(named(&report, "rows", &more).is_none(), "no more queues than processors");
    let ratios = report["ratios"].as_array().unwrap();
    let has = |a: &str, b: &str| ratios.iter().any(|ratio| ratio["a"] == a && ratio["b"] == b);
    assert!(has("touch@1", "limit@1"));
    assert_eq!(has(&format!("xdp-native@{cpus}"), "xdp-native@1"), cpus > 1);
    let figure = named(&report, "figures", "scale").unwrap();
    assert_eq!(figure["shape"]["curves"]["series"].as_array().unwrap().len(), 3);
    assert!(!figure["references"].as_array().unwrap().is_empty());
    assert!(report["notes"].to_string().contains("no descriptor rings"));
    assert_eq!(labs(), before, "the labs are gone");
}

#[test]
fn on_a_network_card_it_is_refused_before_anything_is_made() {
    let before = labs();
    let words = [&RUN[..], &["--iface", "nowhere0", "--peer", "nowhere1"]].concat();
    let said = Xway::new().run(&words).error();
    assert!(said.contains("in a lab alone, not on nowhere0"), "{said}");
    assert_eq!(labs(), before);
}
