//! What the router cannot follow is named when it starts.

use lab::{LinkOptions, Router};
use xway_tests::xway::Xway;

#[test]
fn a_rule_by_a_mark_and_a_hash_of_inner_addresses_are_named_at_start() {
    let lab = Router::build(&LinkOptions::default()).unwrap();
    let xway = Xway::new();
    let start = || {
        let answer = xway.run_in(&lab.b, &["route", "start", "eth0", "eth1"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stderr
    };
    assert!(!start().contains("does not follow"), "nothing is special yet");

    let mut ip = lab.b.command("ip").unwrap();
    assert!(ip.args(["rule", "add", "fwmark", "7", "table", "100"]).status().unwrap().success());
    lab.b.set_sysctl("ipv6/fib_multipath_hash_policy", "2").unwrap();
    let text = start();
    assert!(text.contains("does not follow rule 32765 (IPv4) by the firewall mark 0x7/"), "{text}");
    assert!(text.contains("does not follow net.ipv6.fib_multipath_hash_policy=2: "), "{text}");
}
