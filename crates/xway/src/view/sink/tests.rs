//! What arrived, as table, judgement and JSON.

use std::time::Duration;

use traffic::Histogram;
use traffic::sink::Interval;

use super::*;

fn stream(id: u16, expect: Expect, received: u64, lost: u64) -> StreamReport {
    let mut latency_ns = Histogram::default();
    latency_ns.record_many(50, received);
    StreamReport {
        id,
        name: None,
        expect,
        sources: 1,
        received,
        bytes: received * 64,
        sent: Some(received + lost),
        lost,
        reordered: 0,
        duplicated: 0,
        corrupted: 0,
        late: 0,
        wrong: if expect == Expect::Pass { lost } else { received },
        latency_ns,
        jitter_ns: Histogram::default(),
    }
}

fn report(streams: Vec<StreamReport>) -> SinkReport {
    SinkReport { elapsed: Duration::from_secs(2), streams, ..SinkReport::default() }
}

fn text(report: &SinkReport) -> String {
    let mut report = report.clone();
    report.name_streams(&[(1, "web".into())]);
    report.text(Paint { colour: false })
}

#[test]
fn one_row_a_stream() {
    let text = text(&report(vec![stream(1, Expect::Pass, 10, 0), stream(2, Expect::Drop, 0, 5)]));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = text.lines().map(words).collect();
    let row = |id: &str| rows.iter().find(|row| row.first().is_some_and(|first| first == id));
    assert_eq!(row("1").unwrap()[1..8], ["web", "pass", "10", "0", "0", "0", "0"], "{text}");
    assert_eq!(row("1").unwrap()[8..], ["50", "ns"].repeat(3), "{text}");
    assert_eq!(row("2").unwrap()[1..4], ["drop", "0", "5"], "{text}");
    assert_eq!(row("2").unwrap()[7..], ["-", "-", "-"], "{text}");
    assert!(text.ends_with("PASS: all frames behaved as expected\n"), "{text}");
}

#[test]
fn what_is_wrong_is_told() {
    let doubled = StreamReport { duplicated: 2, ..stream(1, Expect::Pass, 10, 0) };
    let corrupted = StreamReport { corrupted: 1, ..stream(1, Expect::Pass, 10, 0) };
    let reordered = StreamReport { reordered: 9, ..stream(1, Expect::Pass, 10, 0) };
    for (streams, wrong) in [
        (vec![stream(1, Expect::Pass, 10, 0)], None),
        (vec![stream(1, Expect::Pass, 9, 1)], Some("1 frames lost")),
        (vec![stream(1, Expect::Drop, 0, 9)], None),
        (vec![stream(1, Expect::Drop, 1, 9)], Some("1 frames arrived that should not")),
        (vec![doubled], Some("2 frames duplicated")),
        (vec![corrupted], Some("1 frames corrupted")),
        (vec![reordered], None),
        (vec![], Some("no stamped frame arrived")),
    ] {
        let report = report(streams);
        let judgement = Judgement::of(&report);
        assert_eq!(judgement.good, wrong.is_none(), "{judgement:?}");
        if let Some(wrong) = wrong {
            assert!(judgement.reasons[0].starts_with(wrong), "{judgement:?}");
            assert!(text(&report).contains(wrong));
        }
    }
}

#[test]
fn ends_that_did_not_arrive_are_told() {
    let open = StreamReport { sent: None, ..stream(4, Expect::Pass, 10, 0) };
    let text = text(&report(vec![open]));
    assert!(text.contains("end did not arrive for stream 4"), "{text}");
}

#[test]
fn scripts_find_the_contract() {
    let json = serde_json::to_value(report(vec![stream(7, Expect::Pass, 10, 2)])).unwrap();
    let stream = &json["streams"][0];
    for (field, value) in [
        ("id", 7),
        ("received", 10),
        ("lost", 2),
        ("reordered", 0),
        ("duplicated", 0),
        ("corrupted", 0),
    ] {
        assert_eq!(stream[field], value, "{field}");
    }
    for field in ["p50", "p99", "max"] {
        assert_eq!(stream["latency_ns"][field], 50, "{field}");
        assert!(stream["jitter_ns"][field].is_null(), "{field}");
    }
}

#[test]
fn samples_are_differences() {
    let before = report(vec![stream(1, Expect::Pass, 10, 0)]);
    let mut now = report(vec![stream(1, Expect::Pass, 30, 1)]);
    now.elapsed += Duration::from_secs(2);
    let sample = Interval::between(&before, &now);
    assert_eq!((sample.received, sample.lost, sample.pps), (30, 1, 10.0));
    assert_eq!((sample.bps, sample.latency_ns.p50), (5120.0, Some(50)));
    let line = interval_line(&sample);
    assert!(
        line.starts_with("received 30 (10 pps, 5.12 kbit/s), lost 1; latency p50 50"),
        "{line}"
    );
    assert_eq!(Interval::between(&now, &now).pps, 0.0);
}
