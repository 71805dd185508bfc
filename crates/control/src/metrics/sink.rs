//! A sink's counters as metrics: `xway_sink_*`.

use traffic::Histogram;
use traffic::sink::{SinkReport, StreamReport};

use super::{Labels, Sheet};

/// Adds one reading to the page.
pub(super) fn add(sheet: &mut Sheet, report: &SinkReport) {
    for (name, help, field) in COUNTS {
        let values = report.streams.iter().map(|stream| (labels(stream), field(stream)));
        sheet.totals(name, help, values);
    }
    for (name, help, field) in TIMES {
        let values = report.streams.iter().flat_map(|stream| quantiles(stream, field(stream)));
        sheet.levels(name, help, values);
    }
    sheet.total("sink_foreign_frames", "Frames without a stamp", report.foreign);
    sheet.total("sink_foreign_bytes", "Bytes of frames without a stamp", report.foreign_bytes);
    sheet.total("sink_damaged_frames", "Frames whose stamp is damaged", report.damaged);
    sheet.total("sink_beyond_frames", "Stamped frames of streams over the limit", report.beyond);
    sheet.level("sink_elapsed_seconds", "Time since the start", report.elapsed.as_secs_f64());
}

fn labels(stream: &StreamReport) -> Labels {
    vec![("stream", stream.id.to_string())]
}

fn quantiles(stream: &StreamReport, times: &Histogram) -> Vec<(Labels, f64)> {
    let at = |share: f64| {
        let labels = [labels(stream), vec![("quantile", share.to_string())]].concat();
        Some((labels, f64::from(times.quantile(share)?) / 1e9))
    };
    QUANTILES.into_iter().filter_map(at).collect()
}

type Count = fn(&StreamReport) -> u64;
type Times = fn(&StreamReport) -> &Histogram;

const COUNTS: [(&str, &str, Count); 8] = [
    ("sink_received_frames", "Frames received, without duplicates", |one| one.received),
    ("sink_received_bytes", "Bytes of these frames", |one| one.bytes),
    ("sink_lost_frames", "Frames sent that did not arrive", |one| one.lost),
    ("sink_reordered_frames", "Frames after one with a higher number", |one| one.reordered),
    ("sink_duplicated_frames", "Frames that had arrived before", |one| one.duplicated),
    ("sink_corrupted_frames", "Frames with a wrong checksum", |one| one.corrupted),
    ("sink_late_frames", "Frames later than the reordering window", |one| one.late),
    ("sink_wrong_frames", "Frames with another outcome than expected", StreamReport::wrong),
];
const TIMES: [(&str, &str, Times); 2] = [
    ("sink_latency_seconds", "Time from the sender's stamp to reception", |one| &one.latency_ns),
    ("sink_jitter_seconds", "Difference of latency between frames", |one| &one.jitter_ns),
];
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

#[cfg(test)]
mod tests {
    use traffic::Expect;

    use super::*;

    #[test]
    fn every_stream_has_its_lines() {
        let mut latency_ns = Histogram::default();
        latency_ns.record_many(50, 10);
        let stream = StreamReport {
            id: 7,
            expect: Expect::Drop,
            sources: 1,
            received: 10,
            bytes: 640,
            sent: Some(12),
            lost: 2,
            reordered: 1,
            duplicated: 3,
            corrupted: 0,
            late: 0,
            latency_ns,
            jitter_ns: Histogram::default(),
        };
        let report = SinkReport { streams: vec![stream], foreign: 5, ..SinkReport::default() };
        let text = crate::metrics::page(None, Some(&report));
        for line in [
            "xway_sink_received_frames_total{stream=\"7\"} 10",
            "xway_sink_lost_frames_total{stream=\"7\"} 2",
            "xway_sink_wrong_frames_total{stream=\"7\"} 10",
            "xway_sink_latency_seconds{stream=\"7\",quantile=\"0.99\"} 5e-8",
            "xway_sink_foreign_frames_total 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("jitter_seconds{"), "no quantiles without samples");
    }
}
