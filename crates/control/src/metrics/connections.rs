//! Connections as metrics: `xway_tcp_*`.

use traffic::tcp::{Ends, Snapshot};

use super::Sheet;

/// Adds one reading to the page.
pub(super) fn add(sheet: &mut Sheet, snapshot: &Snapshot) {
    let Ends { closed, refused, reset, unanswered, timed_out, aborted } = snapshot.ends;
    let ends = [
        ("closed", closed),
        ("refused", refused),
        ("reset", reset),
        ("unanswered", unanswered),
        ("timed_out", timed_out),
        ("aborted", aborted),
    ];
    let ends = ends.map(|(end, flows)| (vec![("end", end.to_owned())], flows));
    sheet.total("tcp_flows_opened", "Connections whose first SYN was sent", snapshot.opened);
    sheet.total("tcp_flows_established", "Handshakes completed", snapshot.established);
    sheet.totals("tcp_flows_ended", "Connections that are over, by how they ended", ends);
    sheet.total("tcp_acked_bytes", "Payload that was acknowledged", snapshot.acked_bytes);
    sheet.total("tcp_segments", "Segments sent", snapshot.segments);
    let again =
        [("fast", snapshot.fast_retransmissions), ("timeout", snapshot.timeout_retransmissions)];
    let again = again.map(|(why, segments)| (vec![("why", why.to_owned())], segments));
    sheet.totals("tcp_retransmissions", "Segments sent again", again);
    let at = |share: f64| Some((share, snapshot.rtt_ns.quantile(share)?));
    let times = [0.5, 0.9, 0.99, 1.0].into_iter().filter_map(at);
    let times = times
        .map(|(share, ns)| (vec![("quantile", share.to_string())], f64::from(ns) / 1e9))
        .collect::<Vec<_>>();
    sheet.levels("tcp_rtt_seconds", "Round trips", times);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_lines() {
        let ends = Ends { refused: 2, ..Ends::default() };
        let mut snapshot = Snapshot { opened: 3, ends, ..Snapshot::default() };
        snapshot.rtt_ns.record(50);
        let text = crate::metrics::connections(&snapshot);
        for line in [
            "xway_tcp_flows_opened_total 3",
            "xway_tcp_flows_ended_total{end=\"refused\"} 2",
            "xway_tcp_rtt_seconds{quantile=\"0.5\"} 5e-8",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
