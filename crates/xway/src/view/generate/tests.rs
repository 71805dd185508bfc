//! A generator's answer, as text, picture and JSON.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use traffic::generator::{Interval, Report, Snapshot, ThreadReport};
use traffic::{Histogram, Rate};

use super::*;
use crate::view::live::Drawing;

fn snapshot(sent: u64, seconds: u64) -> Snapshot {
    let thread = |cpu, sent| ThreadReport {
        cpu,
        sent,
        bytes: sent * 60,
        cpu_time: Duration::from_millis(500 * seconds),
    };
    Snapshot {
        elapsed: Duration::from_secs(seconds),
        sent,
        not_sent: 0,
        bytes: sent * 60,
        streams: vec![sent / 2, sent / 2],
        threads: vec![thread(Some(1), sent), thread(None, 0)],
        faults: Vec::new(),
        verdicts: Vec::new(),
        blind: None,
    }
}

fn report() -> Report {
    let totals = snapshot(1000, 2);
    Report { totals, seconds: 2.0, pps: 500.0, pacing: None, stopped: false }
}

fn names() -> [(u16, String); 2] {
    [(1, "web".into()), (2, "voice".into())]
}

fn sent(report: &Report) -> Sent {
    Sent { summary: report.summary(&names(), &Rate::Max.into()), ..Sent::default() }
}

fn text(report: &Report) -> String {
    sent(report).text(Paint { colour: false })
}

#[test]
fn scripts_find_the_contract() {
    let json = serde_json::to_value(sent(&report())).unwrap();
    assert_eq!((&json["sent"], &json["not_sent"]), (&1000.into(), &0.into()));
    assert_eq!((&json["seconds"], &json["pps"]), (&2.0.into(), &500.0.into()));
    assert_eq!((&json["bps"], &json["bytes"]), (&240_000.0.into(), &60_000.into()));
    assert_eq!(json["streams"][1]["name"], "voice");
    assert!(json["sink"].is_null() && json["pacing"].is_null());
}

#[test]
fn totals_streams_and_threads_are_told() {
    let text = text(&report());
    assert!(text.starts_with("1000 frames sent in 2 s (500 pps, 240 kbit/s)\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [vec!["2", "voice", "500"], vec!["0", "1", "1000", "60000", "50", "%"]] {
        assert!(rows.contains(&row), "{row:?} in\n{text}");
    }
}

#[test]
fn what_was_not_sent_says_why() {
    let mut report = report();
    report.stopped = true;
    report.totals.not_sent = 3;
    let advice = "the peer drops them".to_owned();
    report.totals.faults = vec![Fault { frames: 3, errno: 6, advice }];
    let text = text(&report);
    assert!(text.contains(", stopped\n"), "{text}");
    assert!(text.contains("3 frames were not sent (ENXIO): the peer drops them\n"), "{text}");
}

#[test]
fn pacing_is_told_in_quantiles() {
    let mut error_ns = Histogram::default();
    error_ns.record_many(50, 100);
    let pacing = Some(Pacing { error_ns, group: 8, slipped: 2 });
    let text = text(&Report { pacing, ..report() });
    let line = "off schedule: p50 50 ns, p99 50 ns, max 50 ns; 8 frames left together; \
                fell behind schedule 2 times";
    assert!(text.contains(line), "{text}");
}

#[test]
fn samples_are_differences() {
    let sample = Interval::between(&snapshot(1000, 2), &snapshot(4000, 4));
    assert_eq!((sample.sent, sample.pps, sample.bps), (4000, 1500.0, 720_000.0));
    assert_eq!(sample.cpu, [0.5, 0.5]);
    assert_eq!(Interval::between(&snapshot(1, 1), &snapshot(1, 1)).pps, 0.0);
}

#[test]
fn the_picture_shows_rates_and_reasons() {
    let mut now = snapshot(4000, 4);
    now.faults = vec![Fault { frames: 3, errno: 6, advice: "turn GRO on".into() }];
    let interval = Interval::between(&snapshot(1000, 2), &now);
    let state = Sending { interval, sink: None, done: Some(0.5), history: vec![1, 2, 3] };
    let mut terminal = Terminal::new(TestBackend::new(80, Sending::HEIGHT)).unwrap();
    terminal.draw(|frame| state.draw(frame)).unwrap();
    let shown = terminal.backend().to_string();
    for words in ["4.0 s; Ctrl-C ends", "1.50 kpps", "CPU of each thread 50 % 50 %", "turn GRO on"]
    {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
}
