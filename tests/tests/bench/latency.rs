//! `bench latency`: every path has its times at a low and at a high rate, or a reason; the highest
//! rate of each is searched.

use std::collections::BTreeSet;

use report::figure::Shape;
use xway_tests::cell::{assert_nothing_left, assert_present, run};

#[test]
fn each_path_has_times_and_nothing_remains() {
    let bench = run("latency");
    assert_nothing_left();
    let rates: BTreeSet<&str> =
        bench.rounds().iter().filter_map(|row| Some(row.name.split_once('@')?.1)).collect();
    // On a busy machine there may be no high rate, which is reported.
    assert!(rates.contains("100") || !bench.notes().absent.is_empty(), "{rates:?}");
    for way in WAYS {
        assert_present(&bench, &format!("{way}@100"), &format!("avg/{way}@100"));
    }
    for (way, rate) in WAYS.iter().flat_map(|way| rates.iter().map(move |rate| (way, rate))) {
        let cell = format!("{way}@{rate}");
        let row = |what: &str| bench.median(&format!("{what}/{cell}"));
        let times = ["p50", "p99", "max"].map(|what| row(what).unwrap_or(0.0));
        assert!(times.is_sorted(), "{cell}: {times:?}");
        let shares = ["below-10us", "lost"].map(|what| row(what).unwrap_or(0.0));
        assert!(shares.iter().all(|share| (0.0..=100.0).contains(share)), "{cell}: {shares:?}");
        assert_eq!(row("avg").is_some(), row("max").is_some_and(|ns| ns > 0.0), "{cell}");
    }
    // The rate of each path is reported, and for slower ones the rate at which they fail.
    let notes = bench.notes().notes.join("\n");
    assert!(WAYS.iter().all(|way| notes.contains(&format!("{way} carries "))), "{notes}");
    for figure in bench.notes().figures.iter().filter(|figure| figure.name.contains("own")) {
        let Shape::Bars { rows } = &figure.shape else { panic!("{figure:?}") };
        assert!(rows.iter().all(|row| bench.median(row).is_some()), "{rows:?}");
    }
}

const WAYS: [&str; 4] = ["bridge", "route", "xdp-redirect", "af-xdp-busy-poll"];
