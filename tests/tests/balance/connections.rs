//! Connections of the kernel's TCP continue while backends change, under a
//! flood.

use xway_tests::balance_lab::{Delivery, Options, run};

const SHORT: Options = Options {
    seed: 11,
    connections: 100,
    changes: 8,
    deaths: 0,
    // Those that begin while a balancer dies may break: the campaign counts them.
    beginning: 0,
    backends: 4,
    delivery: Delivery::Mac,
    flood_pps: 2000,
};

/// `cargo xtask balance-lab` has more of all.
#[track_caller]
fn run_whole(options: &Options) {
    let report = run(options, |_| {});
    assert!(report.is_whole() && report.unsynced.is_empty(), "{report}");
    assert!(report.arrived > 0 && report.answered >= 800, "{report}");
}

#[test]
fn connections_continue_while_backends_change() {
    run_whole(&SHORT);
}
