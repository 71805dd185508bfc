//! The examples that need root, run as a reader would run them.

use std::process::Command;

use xway_tests::built;
use xway_tests::xway::Xway;

#[test]
fn a_filter_is_loaded_read_changed_and_unloaded_by_a_program() {
    // Its file system for pins is unmounted afterwards; that of the default directory remains.
    let xway = Xway::new();
    let mut command = Command::new(built::program("08-filter", "xway-examples"));
    let output = command.arg(xway.state()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    assert!(sys::mount::is_bpffs(&xway.state().join("bpf")), "its state is in this directory");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "loaded [\"time\"] in native mode",
            "time: drop udp dport 123 matched 2 packets",
            "now [\"time\", \"dns\"]",
            "unloaded [\"filter\"]",
        ]
    );
}
