//! `Summary` and `Interval`: the final report of a run, and its progress between two readings.

use std::net::SocketAddr;

use serde::Serialize;

use super::report::{Ends, FlowReport, Report, Snapshot};
use crate::histogram::{Histogram, Quantiles};
use crate::rate::per_second;

/// The final report of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Segments of any kind.
    pub sent: u64,
    /// Always `null`: the number of segments that the interface accepted is unknown.
    pub not_sent: Option<u64>,
    /// Time from the first completed handshake to the last acknowledgement of data, in seconds.
    pub seconds: f64,
    /// Segments per second.
    pub pps: f64,
    /// Bits of acknowledged payload per second.
    pub goodput_bps: f64,
    /// Bytes of payload that were acknowledged.
    pub acked_bytes: u64,
    /// Connections by outcome.
    pub flows: Flows,
    /// Segments with data or FIN, retransmitted ones included.
    pub data_segments: u64,
    /// Segments retransmitted because later ones had arrived.
    pub fast_retransmissions: u64,
    /// Segments retransmitted after a timeout: data, SYN and FIN.
    pub timeout_retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Share of the data segments that were retransmitted, 0 to 1.
    pub retransmitted: f64,
    /// Probes of a receiver whose window was closed.
    pub window_probes: u64,
    /// Received segments that the state of their connection does not allow.
    pub unacceptable: u64,
    /// Round-trip times, in nanoseconds.
    pub rtt_ns: Histogram,
    /// Ended by a signal.
    pub stopped: bool,
    /// Each connection, with `--each`; otherwise empty.
    pub connections: Vec<Connection>,
}

/// Connections by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// Connections whose first SYN was sent.
    pub opened: u64,
    /// Connections whose handshake was completed.
    pub established: u64,
    #[serde(flatten)]
    pub ends: Ends,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// Local address and port.
    pub local: SocketAddr,
    /// State, as named in RFC 9293, in lower case.
    pub state: &'static str,
    /// How it ended, a key of `flows`; `null` while it lasts.
    pub end: Option<&'static str>,
    /// Bytes of payload that were acknowledged.
    pub acked_bytes: u64,
    /// Bits of acknowledged payload per second.
    pub goodput_bps: f64,
    /// Segments of any kind.
    pub segments: u64,
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// Smoothed round-trip time in microseconds; `null` if none was measured.
    pub rtt_us: Option<f64>,
}

/// Counters of a run, and rates since the previous reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds since the start.
    pub t: f64,
    /// Bytes of payload that were acknowledged so far.
    pub acked_bytes: u64,
    /// Bits of acknowledged payload per second since the previous line.
    pub goodput_bps: f64,
    /// Segments sent so far.
    pub segments: u64,
    /// Segments sent per second since the previous line.
    pub pps: f64,
    /// Segments retransmitted so far.
    pub retransmissions: u64,
    /// Connections so far, by outcome.
    pub flows: Flows,
    /// Round-trip times since the previous line, in nanoseconds.
    pub rtt_ns: Quantiles,
}

impl Report {
    /// Sums and rates of the run; `each` includes every connection.
    pub fn summary(&self, each: bool) -> Summary {
        let totals = &self.totals;
        let shown = if each { self.flows.as_slice() } else { &[] };
        Summary {
            sent: totals.segments,
            not_sent: None,
            seconds: self.seconds,
            pps: per_second(totals.segments as f64, self.seconds),
            goodput_bps: self.goodput_bps,
            acked_bytes: totals.acked_bytes,
            flows: totals.flows(),
            data_segments: totals.data_segments,
            fast_retransmissions: totals.fast_retransmissions,
            timeout_retransmissions: totals.timeout_retransmissions,
            timeouts: totals.timeouts,
            retransmitted: self.retransmitted,
            window_probes: totals.window_probes,
            unacceptable: totals.unacceptable,
            rtt_ns: totals.rtt_ns.clone(),
            stopped: self.stopped,
            connections: shown.iter().map(Connection::from).collect(),
        }
    }
}

impl Snapshot {
    /// Connections by outcome.
    pub fn flows(&self) -> Flows {
        Flows { opened: self.opened, established: self.established, ends: self.ends }
    }
}

impl Flows {
    /// Connections that ended because of the other end, or because it did not respond.
    pub fn failed(&self) -> u64 {
        let Ends { refused, reset, unanswered, timed_out, .. } = self.ends;
        refused + reset + unanswered + timed_out
    }
}

impl From<&FlowReport> for Connection {
    fn from(flow: &FlowReport) -> Self {
        Self {
            local: flow.local,
            state: flow.state,
            end: flow.end,
            acked_bytes: flow.acked_bytes,
            goodput_bps: flow.goodput_bps,
            segments: flow.segments,
            retransmissions: flow.fast_retransmissions + flow.timeout_retransmissions,
            rtt_us: flow.rtt.map(|rtt| rtt.smoothed.as_secs_f64() * 1e6),
        }
    }
}

impl Interval {
    /// The counters of `now`, and the rates since `before`.
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let rate = |old: u64, new: u64| per_second(new.saturating_sub(old) as f64, seconds);
        Self {
            t: now.elapsed.as_secs_f64(),
            acked_bytes: now.acked_bytes,
            goodput_bps: 8.0 * rate(before.acked_bytes, now.acked_bytes),
            segments: now.segments,
            pps: rate(before.segments, now.segments),
            retransmissions: now.fast_retransmissions + now.timeout_retransmissions,
            flows: now.flows(),
            rtt_ns: now.rtt_ns.since(&before.rtt_ns).quantiles(),
        }
    }
}
