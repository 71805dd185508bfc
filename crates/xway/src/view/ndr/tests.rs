//! A measurement, as table, page and JSON.

use traffic::Histogram;
use traffic::ndr::{Burst, FrameSize, Latency};

use super::*;

fn trial(pps: f64, lost: u64, purpose: Purpose) -> Trial {
    Trial {
        purpose,
        asked_pps: Some(pps),
        asked_frames: None,
        offered_pps: pps,
        seconds: 1.0,
        sent: 1000,
        not_sent: 0,
        received: 1000 - lost,
        lost,
        loss: lost as f64 / 1000.0,
        passed: lost == 0,
    }
}

fn report() -> NdrReport {
    let mut latency_ns = Histogram::default();
    latency_ns.record_many(50, 10);
    let jitter_ns = Histogram::default();
    let latency = Latency { share: 0.5, pps: 1e6, lost: 0, latency_ns, jitter_ns };
    let row = |size, pps: Option<f64>, latencies| Row {
        size,
        bytes: 60.0,
        pps,
        gbit_per_second: pps.map(|pps| pps * 480.0 / 1e9),
        loss: pps.map(|_| 0.0),
        above_pps: Some(3e6),
        above_loss: Some(0.25),
        binding: Binding::Device,
        steady: pps.is_some(),
        burst: Some(Burst { frames: Some(512), binding: Binding::Ceiling }),
        latencies,
        trials: vec![trial(3e6, 250, Purpose::Rate), trial(2e6, 0, Purpose::Rate)],
    };
    let rows = vec![
        row(FrameSize::Bytes(64), Some(2e6), vec![latency]),
        row(FrameSize::Imix, None, Vec::new()),
    ];
    NdrReport { loss: 0.0, resolution: 0.01, rows, stopped: false }
}

#[test]
fn one_row_a_size() {
    let text = Measured::new(report()).text(Paint { colour: false });
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = "64 2.00 Mpps 960 Mbit/s 0.000 % device ≥ 512 50 ns / 50 ns";
    assert!(rows.contains(&row.split(' ').collect()), "{text}");
    let row = "imix - - - device ≥ 512 -";
    assert!(rows.contains(&row.split(' ').collect()), "{text}");
    assert!(text.contains("trials of imix contradict each other"), "{text}");
}

#[test]
fn scripts_find_totals_and_rows() {
    let json = serde_json::to_value(Measured::new(report())).unwrap();
    assert_eq!((&json["sent"], &json["seconds"]), (&4000.into(), &4.0.into()));
    assert_eq!((&json["not_sent"], &json["pps"]), (&0.into(), &1000.0.into()));
    assert_eq!(json["rows"][0]["trials"][0]["loss"], 0.25);
    assert!(json["rows"][1]["pps"].is_null());
}

#[test]
fn the_page_holds_table_and_figures() {
    let measured = Measured::new(report());
    let host = report::Host::read();
    let page = page(&measured, &host, &["Frames were sent.".to_owned()]);
    assert_eq!(page.matches("<svg").count(), 3, "rate, loss and latency");
    for words in ["2.00 Mpps", "Frames were sent.", "IMIX", "RFC 2544"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn trials_are_told_in_a_line() {
    let line = line(&trial(2e6, 250, Purpose::Rate));
    assert_eq!(line, "    rate   2.00 Mpps  loss 25.0000 %  failed");
}
