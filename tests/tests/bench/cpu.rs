//! `bench cpu`: every point is a share of a processor over the rate that was offered; rows whose
//! rate is not the requested one are marked.

use report::figure::Shape;
use xway_tests::cell::{assert_nothing_left, assert_present, reason, run};

#[test]
fn points_are_of_rates_that_were_offered_and_nothing_remains() {
    let bench = run("cpu");
    assert_nothing_left();
    for (taker, rates) in [("xdp-native", RATES), ("nft-raw", RATES), (POLL, POLL_RATES)] {
        for pps in rates {
            let cell = format!("{taker}@{pps}");
            assert_present(&bench, &cell, &cell);
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
                assert!(values.iter().all(|rate| *rate <= 1.1 * asked), "{row:?}");
                let is_kept = bench.median(&row.name).unwrap() >= 0.9 * asked;
                let cell = row.name.trim_start_matches("offered/");
                let mut marks = bench.notes().marks.iter().filter(|mark| mark.row == cell);
                let is_reported = marks.any(|mark| mark.text.contains("the sender offered"));
                assert_eq!(is_reported, !is_kept, "{row:?}");
            }
            _ => panic!("{row:?} is of no known kind"),
        }
    }
    // No sender reaches that, and who was never sent it has no point there.
    let beyond = reason(&bench, "xdp-native@20000000").unwrap();
    assert!(beyond.contains("the sender reaches "), "{beyond}");
    assert_eq!(bench.median("xdp-native@20000000"), None);

    let Shape::Curves { series, .. } = &bench.notes().figures[0].shape else { panic!("no curves") };
    assert!(!series.is_empty());
    for (x, row) in series.iter().flat_map(|curve| &curve.points) {
        assert!(bench.median(row).is_some(), "a point without a row: {row}");
        assert_eq!(bench.median(&format!("offered/{row}")).unwrap_or(0.0), *x, "{row}");
    }
}

const POLL: &str = "af-xdp-busy-poll";
const RATES: &[u64] = &[0, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000];
const POLL_RATES: &[u64] = &[0, 500_000];
