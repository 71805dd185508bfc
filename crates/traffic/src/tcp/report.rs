//! What connections did so far, and in the end.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use crate::histogram::Histogram;

/// All flows together, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub elapsed: Duration,
    /// Flows whose first SYN was sent.
    pub opened: u64,
    /// Flows whose handshake was completed.
    pub established: u64,
    /// Flows that are over, by how they ended.
    pub ends: Ends,
    /// Payload that the other end has acknowledged.
    pub acked_bytes: u64,
    /// Segments of any kind, retransmitted ones included.
    pub segments: u64,
    /// Segments with payload or FIN, retransmitted ones included.
    pub data_segments: u64,
    /// Retransmitted because later ones had arrived.
    pub fast_retransmissions: u64,
    /// Retransmitted after a timeout: data, SYN and FIN.
    pub timeout_retransmissions: u64,
    pub timeouts: u64,
    /// Questions to a receiver whose window was closed.
    pub window_probes: u64,
    /// SACK ranges that a flow had no room for; that data may be sent again needlessly.
    pub sack_overflows: u64,
    /// Segments to our flows that no state of theirs allows; answered by an ACK or dropped.
    pub unacceptable: u64,
    /// Every round trip that could be measured, in ns.
    pub rtt_ns: Histogram,
}

/// How connections ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ends {
    /// Connections of which both FINs were acknowledged.
    pub closed: u64,
    /// Connections whose SYN was answered by RST: no process listens.
    pub refused: u64,
    /// Connections ended by RST after the handshake.
    pub reset: u64,
    /// Connections of which no SYN was answered.
    pub unanswered: u64,
    /// Connections on which nothing arrived for too long after the handshake.
    pub timed_out: u64,
    /// Connections reset by `xway` after its time limit at the end.
    pub aborted: u64,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    pub local: SocketAddr,
    /// `established` and so on, as RFC 9293 calls states.
    pub state: &'static str,
    /// `closed` and so on, as the fields of [`Ends`]; nothing while it lasts.
    pub end: Option<&'static str>,
    pub acked_bytes: u64,
    /// Acknowledged bytes over the time from the handshake to the end, or to now.
    pub goodput_bps: f64,
    pub segments: u64,
    pub fast_retransmissions: u64,
    pub timeout_retransmissions: u64,
    /// Bytes.
    pub congestion_window: u32,
    /// The receiver's, bytes.
    pub window: u32,
    pub rtt: Option<Rtt>,
}

/// A flow's round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    pub last: Duration,
    pub least: Duration,
    pub smoothed: Duration,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub totals: Snapshot,
    /// From the first handshake completed to the last acknowledgement of data.
    pub seconds: f64,
    /// Bits of acknowledged payload a second.
    pub goodput_bps: f64,
    /// Share of data segments that were retransmitted.
    pub retransmitted: f64,
    /// In the order of their local addresses and ports.
    pub flows: Vec<FlowReport>,
    /// Whether it was ended by `stop` or drop.
    pub stopped: bool,
}

impl Ends {
    pub fn total(&self) -> u64 {
        let Self { closed, refused, reset, unanswered, timed_out, aborted } = self;
        closed + refused + reset + unanswered + timed_out + aborted
    }
}
