//! What people read.

use std::time::Duration;

use bench::load::{Interval, LoadReport, Loss, Progress, Role, Setup};
use sys::net::Statistics;
use traffic::Quantiles;
use xsk::diagnose::Holder;

use super::*;
use crate::view::live::Drawing;

const PLAIN: Paint = Paint { colour: false };

fn measured(role: Role) -> LoadReport {
    let setup = Setup {
        role,
        dev: "eth0".to_owned(),
        out_dev: None,
        zero_copy: false,
        why_copy: Some("driver veth has no zero copy for AF_XDP".to_owned()),
        workers: vec!["queue 0 on CPU 1 (the next in turn)".to_owned()],
    };
    LoadReport {
        setup,
        sent: 0,
        completed: 0,
        received: 0,
        missing: 0,
        duplicated: 0,
        reordered: 0,
        foreign: 0,
        unanswered: 0,
        dropped: 0,
        seconds: 2.0,
        pps: 1.5e6,
        user_ns: 0,
        system_ns: 0,
        user_ns_per_packet: 5.5,
        system_ns_per_packet: 330.0,
        losses: Vec::new(),
        interfaces: Vec::new(),
        round_trip_ns: Quantiles::default(),
    }
}

#[test]
fn each_role_tells_what_it_is_about() {
    let sent = LoadReport { sent: 30, completed: 29, ..measured(Role::Tx) };
    assert_eq!(
        sent.text(PLAIN),
        "sent 30 (29 completed)\n1.50 Mpps over 2.00 s; a packet cost 5.50 ns user, 330 ns system\n"
    );
    let lost = [("rx_ring_full", 6), ("rx_dropped", 1)];
    let losses = lost.map(|(name, count)| Loss { name, count }).to_vec();
    let received =
        LoadReport { received: 20, missing: 7, foreign: 2, losses, ..measured(Role::Rx) };
    let text = received.text(PLAIN);
    assert!(text.starts_with("received 20, missing 7, 2 without a number\n"), "{text}");
    assert!(text.ends_with("sockets counted: rx_ring_full 6, rx_dropped 1\n"), "{text}");
    let times = Quantiles {
        min: Some(1),
        p50: Some(2000),
        p99: Some(3000),
        max: Some(4),
        ..Quantiles::default()
    };
    let asked = LoadReport {
        sent: 3,
        received: 2,
        unanswered: 1,
        round_trip_ns: times,
        ..measured(Role::Rtt)
    };
    let text = asked.text(PLAIN);
    assert!(text.contains("received 2, missing 0, 1 unanswered"), "{text}");
    assert!(text.contains("p50 2.00 µs, p99 3.00 µs"), "{text}");
}

#[test]
fn the_mode_is_told_with_its_reason() {
    let setup = measured(Role::Rx).setup;
    assert_eq!(
        setup_line(&setup),
        "queue 0 on CPU 1 (the next in turn); copy mode: driver veth has no zero copy for AF_XDP"
    );
    let fast = Setup { zero_copy: true, why_copy: None, ..setup };
    assert!(setup_line(&fast).ends_with("; zero copy"));
}

#[test]
fn interfaces_count_from_the_start_of_a_run() {
    let counted =
        |tx_dropped, rx_packets| Statistics { tx_dropped, rx_packets, ..Statistics::default() };
    let at = |counters| vec![("eth0".to_owned(), counters)];
    let mut measured = measured(Role::Tx);
    measured.note_interfaces(&at(counted(5, 1)), &at(counted(12, 1)));
    assert!(
        measured.text(PLAIN).ends_with("eth0 counted: tx_dropped 7\n"),
        "{}",
        measured.text(PLAIN)
    );
}

#[test]
fn rates_are_those_since_the_line_before() {
    let sample = |seconds, sent, received| Progress {
        elapsed: Duration::from_secs(seconds),
        sent,
        received,
        missing: 3,
    };
    let line = |before, now| Interval::between(before, now).line();
    assert_eq!(line(Progress::default(), Progress::default()), "no packet has arrived yet");
    assert_eq!(line(sample(1, 1000, 0), sample(3, 5000, 0)), "    3.0 s  sent 5.00 k (2.00 kpps)");
    assert_eq!(
        line(sample(1, 0, 0), sample(2, 0, 500)),
        "    2.0 s  received 500 (500 pps), missing 3"
    );
}

#[test]
fn queues_are_listed_with_their_holders() {
    let process = |pid| Holder { pid, command: "zmap".to_owned() };
    let held = |queue, certain, processes| HeldQueue {
        interface: "eth1".to_owned(),
        queue,
        certain,
        processes,
    };
    let sockets = vec![
        held(0, true, vec![process(7)]),
        held(1, false, vec![process(7), process(9)]),
        held(2, true, Vec::new()),
    ];
    let text = Sockets { sockets }.text(PLAIN);
    for expected in ["zmap (7)\n", "one of zmap (7), zmap (9)\n", "not visible here\n"] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(Sockets { sockets: Vec::new() }.text(PLAIN).starts_with("no queue"));
}
