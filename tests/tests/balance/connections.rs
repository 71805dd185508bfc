//! Connections of the kernel's TCP continue while backends change, under a flood.

use xway_tests::balance_lab::{Options, run};

/// `cargo xtask balance-lab` has more of all.
#[test]
fn connections_continue_while_backends_change() {
    let options = Options { seed: 11, connections: 100, changes: 8, backends: 4, flood_pps: 2000 };
    let report = run(&options, |_| {});
    assert!(report.is_whole(), "{report}");
    assert!(report.flood > 0 && report.answered >= 800, "{report}");
}
