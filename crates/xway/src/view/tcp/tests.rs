//! What connections came to, as text and JSON.

use std::time::Duration;

use traffic::tcp::{FlowReport, Interval, Report, Snapshot};

use super::*;

fn report() -> Report {
    let ends = Ends { closed: 2, refused: 1, ..Ends::default() };
    let totals = Snapshot {
        elapsed: Duration::from_secs(2),
        opened: 3,
        established: 2,
        ends,
        acked_bytes: 2_000_000,
        segments: 2000,
        data_segments: 1000,
        fast_retransmissions: 10,
        ..Snapshot::default()
    };
    let flow = FlowReport {
        local: "10.0.0.1:1024".parse().unwrap(),
        state: "closed",
        end: Some("refused"),
        acked_bytes: 0,
        goodput_bps: 0.0,
        segments: 1,
        fast_retransmissions: 0,
        timeout_retransmissions: 0,
        congestion_window: 0,
        window: 0,
        rtt: None,
    };
    Report {
        totals,
        seconds: 2.0,
        goodput_bps: 8e6,
        retransmitted: 0.01,
        flows: vec![flow],
        stopped: false,
    }
}

#[test]
fn goodput_and_ends_are_told() {
    let text = report().summary(false).text(Paint { colour: false });
    for words in [
        "2.00 MB of payload acknowledged in 2 s: 8.00 Mbit/s of goodput\n",
        "2000 segments (1.00 kpps), 10 of 1000 with data sent again (1.00 %)",
        "connections: 3 opened, 2 established, 2 closed, 1 refused\n",
        "1 connections failed",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(!text.contains("10.0.0.1:1024"), "{text}");
    let text = report().summary(true).text(Paint { colour: false });
    assert!(text.contains("10.0.0.1:1024  refused"), "{text}");
}

#[test]
fn scripts_find_the_contract() {
    let json = serde_json::to_value(report().summary(true)).unwrap();
    assert_eq!((&json["sent"], &json["pps"]), (&2000.into(), &1000.0.into()));
    assert!(json["not_sent"].is_null());
    assert_eq!((&json["flows"]["refused"], &json["goodput_bps"]), (&1.into(), &8e6.into()));
}

#[test]
fn samples_are_differences() {
    let before = Snapshot { elapsed: Duration::from_secs(1), ..Snapshot::default() };
    let sample = Interval::between(&before, &report().totals);
    assert_eq!((sample.goodput_bps, sample.pps, sample.retransmissions), (16e6, 2000.0, 10));
}
