//! A generator's counters as metrics: `xway_gen_*`.

use traffic::generator::Snapshot;

use super::Sheet;

/// Adds one reading to the page. `streams` are the names in the order of the run.
pub(super) fn add(sheet: &mut Sheet, snapshot: &Snapshot, streams: &[String]) {
    sheet.total("gen_frames_sent", "Frames that the interface accepted", snapshot.sent);
    sheet.total("gen_frames_not_sent", "Frames that the interface rejected", snapshot.not_sent);
    sheet.total("gen_bytes", "Bytes of the frames given to the interface", snapshot.bytes);
    let given = snapshot.streams.iter().enumerate().map(|(index, frames)| {
        let name = streams.get(index).cloned().unwrap_or_else(|| index.to_string());
        (vec![("stream", name)], *frames)
    });
    sheet.totals("gen_stream_frames", "Frames given to the interface, by stream", given);
    let faults = snapshot
        .faults
        .iter()
        .map(|fault| (vec![("error", error_name(fault.errno))], fault.frames));
    sheet.totals("gen_fault_frames", "Frames not sent, by error", faults);
    let cpu = snapshot.threads.iter().enumerate().map(|(index, thread)| {
        let cpu = thread.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
        let labels = vec![("thread", index.to_string()), ("cpu", cpu)];
        (labels, thread.cpu_time.as_secs_f64())
    });
    sheet.levels("gen_thread_cpu_seconds", "Processor time of each sending thread", cpu);
    let elapsed = snapshot.elapsed.as_secs_f64();
    sheet.level("gen_elapsed_seconds", "Time since the first frame", elapsed);
}

/// Name of an error number; 0 means that the queue was full.
pub fn error_name(errno: i32) -> String {
    match errno {
        0 => "full".to_owned(),
        errno => sys::errno_name(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use traffic::generator::{Fault, ThreadReport};

    use super::*;

    #[test]
    fn every_counter_has_a_line() {
        let thread = ThreadReport {
            cpu: Some(3),
            sent: 10,
            bytes: 640,
            cpu_time: Duration::from_millis(1500),
        };
        let snapshot = Snapshot {
            elapsed: Duration::from_secs(2),
            sent: 10,
            not_sent: 2,
            bytes: 640,
            streams: vec![7, 5],
            threads: vec![thread],
            faults: vec![Fault { frames: 2, errno: 6, advice: "no".into() }],
            verdicts: Vec::new(),
            blind: None,
        };
        let names = ["a".to_owned(), "b\"".to_owned()];
        let text = crate::metrics::page(Some((&snapshot, &names)), None);
        for line in [
            "# TYPE xway_gen_frames_sent counter",
            "xway_gen_frames_sent_total 10",
            "xway_gen_frames_not_sent_total 2",
            "xway_gen_bytes_total 640",
            "xway_gen_stream_frames_total{stream=\"a\"} 7",
            "xway_gen_stream_frames_total{stream=\"b\\\"\"} 5",
            "xway_gen_fault_frames_total{error=\"ENXIO\"} 2",
            "xway_gen_thread_cpu_seconds{thread=\"0\",cpu=\"3\"} 1.5",
            "xway_gen_elapsed_seconds 2.0",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
