//! `bench latency`: every way has its times at a low and at a high rate, or says why not.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod cell_support;

use std::collections::BTreeSet;

use cell_support::{assert_nothing_left, run, told};

#[test]
fn each_way_has_times_and_nothing_stays() {
    let bench = run("latency");
    assert_nothing_left();
    let rates: BTreeSet<&str> =
        bench.rounds().iter().filter_map(|row| Some(row.name.split_once('@')?.1)).collect();
    assert!(rates.contains("100") && rates.len() <= 2, "{rates:?}");
    for (way, rate) in WAYS.iter().flat_map(|way| rates.iter().map(move |rate| (way, rate))) {
        let cell = format!("{way}@{rate}");
        told(&bench, &cell, &format!("avg/{cell}"));
        let row = |what: &str| bench.median(&format!("{what}/{cell}"));
        let times = ["p50", "p99", "max"].map(|what| row(what).unwrap_or(0.0));
        assert!(times.is_sorted(), "{cell}: {times:?}");
        let shares = ["below-10us", "lost"].map(|what| row(what).unwrap_or(0.0));
        assert!(shares.iter().all(|share| (0.0..=100.0).contains(share)), "{cell}: {shares:?}");
        assert_eq!(row("avg").is_some(), row("max").is_some_and(|ns| ns > 0.0), "{cell}");
    }
    // Whatever was tried above the rate that was taken failed, and who failed is named.
    let notes = bench.story().notes.join("\n");
    assert!(rates.contains("1000000") || notes.contains("Not at 1000000 packets"), "{notes}");
}

const WAYS: [&str; 4] = ["bridge", "route", "xdp-redirect", "af-xdp-busy-poll"];
