//! `bench cpu`: every point is a share of a processor at a rate that was kept, or says why not.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod cell_support;

use cell_support::{assert_nothing_left, reason, run, told};
use report::figure::Shape;

#[test]
fn points_are_of_rates_that_were_kept_and_nothing_stays() {
    let bench = run("cpu");
    assert_nothing_left();
    for (taker, rates) in [("xdp-native", RATES), ("nft-raw", RATES), (POLL, POLL_RATES)] {
        for pps in rates {
            let cell = format!("{taker}@{pps}");
            told(&bench, &cell, &cell);
        }
    }
    for row in bench.rounds() {
        let values = &row.values;
        assert!(!values.is_empty(), "{} has no value", row.name);
        match (row.unit.as_str(), row.name.split_once('@')) {
            ("%", _) => assert!(values.iter().all(|share| (0.0..=100.0).contains(share))),
            ("pps", Some((offered, pps))) => {
                assert!(offered.starts_with("offered/"), "{}", row.name);
                let asked: f64 = pps.parse().unwrap();
                assert!(values.iter().all(|rate| (rate / asked - 1.0).abs() <= 0.1), "{row:?}");
            }
            _ => panic!("{row:?} is of no known kind"),
        }
    }
    // No sender reaches that, and who was never sent it has no point there.
    let beyond = reason(&bench, "xdp-native@20000000").unwrap();
    assert!(beyond.contains("the sender reaches "), "{beyond}");
    assert_eq!(bench.median("xdp-native@20000000"), None);

    let Shape::Curves { series, .. } = &bench.story().figures[0].shape else { panic!("no curves") };
    assert!(!series.is_empty());
    for (_, row) in series.iter().flat_map(|curve| &curve.points) {
        assert!(bench.median(row).is_some(), "a point without a row: {row}");
    }
}

const POLL: &str = "af-xdp-busy-poll";
const RATES: &[u64] = &[0, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000];
const POLL_RATES: &[u64] = &[0, 500_000];
