//! Counters of connections, and the final report of a run.

use std::net::SocketAddr;
use std::time::Duration;

use crate::histogram::Histogram;

/// The counters of all flows at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Time since the start.
    pub elapsed: Duration,
    /// Flows whose first SYN was sent.
    pub opened: u64,
    /// Flows whose handshake was completed.
    pub established: u64,
    /// Ended flows, by reason.
    pub ends: Ends,
    /// Bytes of payload that the peer has acknowledged.
    pub acked_bytes: u64,
    /// Segments of any kind, including retransmissions.
    pub segments: u64,
    /// Segments with payload or FIN, including retransmissions.
    pub data_segments: u64,
    /// Segments retransmitted because later ones had arrived.
    pub fast_retransmissions: u64,
    /// Segments retransmitted after a timeout: data, SYN and FIN.
    pub timeout_retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// SACK ranges beyond the number that a flow can store; their data may be retransmitted
    /// unnecessarily.
    pub sack_overflows: u64,
    /// Segments to flows of this run that their state does not permit; answered by an ACK or
    /// dropped.
    pub unacceptable: u64,
    /// Measured round-trip times in ns.
    pub rtt_ns: Histogram,
}

/// Number of ended flows by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Both FINs were acknowledged.
    pub closed: u64,
    /// The SYN was answered by RST: no process listens.
    pub refused: u64,
    /// The peer sent RST after the handshake.
    pub reset: u64,
    /// No SYN was answered.
    pub unanswered: u64,
    /// The peer no longer replied after the handshake.
    pub timed_out: u64,
    /// Reset by this run after its patience had elapsed.
    pub aborted: u64,
}

/// The report of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// Local address and port.
    pub local: SocketAddr,
    /// State by its name in RFC 9293, such as `established`.
    pub state: &'static str,
    /// How it ended, as the fields of [`Ends`]; `None` before the end.
    pub end: Option<&'static str>,
    /// Bytes of acknowledged payload.
    pub acked_bytes: u64,
    /// Acknowledged payload in bits a second, from the handshake to the end, or to now.
    pub goodput_bps: f64,
    /// Segments sent, including retransmissions.
    pub segments: u64,
    /// Segments retransmitted because later ones had arrived.
    pub fast_retransmissions: u64,
    /// Segments retransmitted after a timeout.
    pub timeout_retransmissions: u64,
    /// Congestion window in bytes.
    pub congestion_window: u32,
    /// Window of the receiver in bytes.
    pub window: u32,
    /// Round-trip times, if any was measured.
    pub rtt: Option<Rtt>,
}

/// Round-trip times of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The last measured time.
    pub last: Duration,
    /// The shortest measured time.
    pub least: Duration,
    /// The smoothed time (RFC 6298).
    pub smoothed: Duration,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The final counters.
    pub totals: Snapshot,
    /// Seconds from the first completed handshake to the last acknowledgment of data.
    pub seconds: f64,
    /// Bits of acknowledged payload a second.
    pub goodput_bps: f64,
    /// Share of data segments that were retransmitted.
    pub retransmitted: f64,
    /// Flows in the order of their local addresses and ports.
    pub flows: Vec<FlowReport>,
    /// Whether it was ended by `stop` or drop.
    pub stopped: bool,
}

impl Ends {
    /// Number of all ended flows.
    pub fn total(&self) -> u64 {
        let Self { closed, refused, reset, unanswered, timed_out, aborted } = self;
        closed + refused + reset + unanswered + timed_out + aborted
    }
}
