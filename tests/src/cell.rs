//! A scenario that is run here, with its rows and reasons.
//!
//! Rule: no value is compared with a number, because the speed of a test machine varies.

use std::fs;

use bench::{Harness, Scenario, Silent, Testbed};
use report::Bench;

/// Five rounds, each as short as makes sense.
pub fn run(name: &str) -> Bench {
    rounds(name, 5)
}

/// Runs a scenario for a number of rounds.
pub fn rounds(name: &str, rounds: usize) -> Bench {
    let mut silent = Silent;
    let mut harness = Harness::new(rounds, 0.05, &mut silent);
    Scenario::find(name).unwrap().run(&mut harness, &Testbed::Lab).unwrap()
}

/// Why a cell is not there.
pub fn reason<'b>(bench: &'b Bench, cell: &str) -> Option<&'b str> {
    let mut absent = bench.notes().absent.iter();
    absent.find(|gone| gone.name == cell).map(|gone| gone.reason.as_str())
}

/// Whether a cell is not there because this machine had no time for it, round after round: so that
/// tests do not ask for more than a machine can do beside others.
pub fn is_held_up(reason: &str) -> bool {
    reason.starts_with("failed in ")
}

/// A cell has a value, or a reason why not.
#[track_caller]
pub fn assert_present(bench: &Bench, cell: &str, row: &str) {
    let (value, reason) = (bench.median(row), reason(bench, cell));
    assert!(
        value.is_some() || reason.is_some_and(|why| !why.is_empty()),
        "{cell}: neither value nor reason"
    );
}

/// This process holds no namespace, no BPF object and no packet socket any more.
#[track_caller]
pub fn assert_nothing_left() {
    let kinds = ["net:[", "anon_inode:bpf"];
    let entries = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let held: Vec<String> = entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .filter(|target| kinds.iter().any(|kind| target.starts_with(kind)))
        .collect();
    assert!(held.is_empty(), "left behind: {held:?}");
    for (protocol, what) in [("XDP", "AF_XDP sockets"), ("NETLINK", "netlink sockets")] {
        let own = |pid| pid == std::process::id();
        let left = sys::proc::socket_holders(protocol);
        assert!(!left.iter().any(|holder| own(holder.pid)), "left behind: {what}");
    }
}
