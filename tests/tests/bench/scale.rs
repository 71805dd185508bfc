//! `bench scale`: each number of queues has its rows, and nothing remains.

use bench::{Harness, Scenario, Silent, Testbed};
use report::Host;
use report::figure::Shape;
use xway_tests::cell::{assert_nothing_left, is_held_up, reason, run};

#[test]
fn every_number_of_queues_has_its_rows_and_nothing_remains() {
    let bench = run("scale");
    assert_nothing_left();
    let cpus = sys::cpu::affinity().unwrap().len();
    for hook in HOOKS {
        for queues in [1, cpus] {
            let point = format!("{hook}@{queues}");
            let rates = bench.rounds().iter().find(|row| row.name == point);
            let Some(rates) = rates else {
                let reason = reason(&bench, &point).unwrap();
                assert!(is_held_up(reason), "{point}: {reason}");
                continue;
            };
            assert_eq!(rates.unit, "pps", "{point}");
            assert!((3..=5).contains(&rates.values.len()), "{point}: {rates:?}");
            assert!(rates.values.iter().all(|rate| *rate > 0.0), "{rates:?}");
            let lost = bench.median(&format!("lost/{point}")).unwrap();
            assert!((0.0..=100.0).contains(&lost), "{point}: {lost}");
        }
        let more = format!("{hook}@{}", cpus + 1);
        assert_eq!(bench.median(&more), None, "no more queues than processors");
    }
    assert!(bench.notes().notes.join("\n").contains("no descriptor rings"));

    let figure = &bench.notes().figures[0];
    let Shape::Curves { series, .. } = &figure.shape else { panic!("no curves") };
    assert_eq!(series.len(), HOOKS.len());
    assert!(figure.references.iter().all(|it| it.source.contains("figure 3")));
    let report = bench.finish(Host::default()).unwrap();
    let has = |a: &str, b: &str| report.ratios.iter().any(|ratio| ratio.a == a && ratio.b == b);
    let is_here = |name: &str| report.rows.iter().any(|row| row.name == name);
    let more = format!("xdp-native@{cpus}");
    for (a, b) in [("touch@1", "limit@1"), (&more, "xdp-native@1")] {
        assert_eq!(has(a, b), a != b && is_here(a) && is_here(b), "{a}, {b}");
    }
}

#[test]
fn on_a_network_card_it_is_refused() {
    let testbed = Testbed::Nic { iface: "nowhere0".into(), peer: "nowhere1".into() };
    let mut silent = Silent;
    let mut harness = Harness::new(1, 0.01, &mut silent);
    let fault = Scenario::find("scale").unwrap().run(&mut harness, &testbed).unwrap_err();
    assert!(fault.to_string().contains("requires a lab and cannot run on nowhere0"), "{fault}");
}

const HOOKS: [&str; 3] = ["xdp-native", "touch", "limit"];
