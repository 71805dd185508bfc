//! The results of a run over a capture: verdicts, targets, rates, maps, coverage, differences, the
//! path of a packet. They serialize as `xway run --json` prints them.

mod cover;
mod difference;
mod explain;
mod nature;
mod trace;

use std::collections::BTreeMap;
use std::path::PathBuf;

use control::inventory::Entries;
use report::Stats;
use serde::Serialize;

pub use cover::{BranchCounts, Covered, CoveredFunction, CoveredInsn, CoveredLine};
pub use difference::{Difference, What};
pub use explain::{Explanation, FieldChange, Item, MapChange, StepEffect};
pub use nature::NotCompared;
pub use trace::Traced;

/// The result of a run over a capture, or of a comparison of both runtimes.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Name of the object.
    pub object: String,
    /// Name of the program.
    pub program: String,
    /// `vm`, `kernel`, or with `--diff` `kernel and vm`.
    pub runtime: &'static str,
    /// A signal ended the run before the end of the capture.
    pub interrupted: bool,
    /// Packets that no driver would give to the program, and that were left out: shorter than an
    /// Ethernet header, longer than one buffer (3520 bytes) where the program is not
    /// `xdp.frags`, or of a protocol that Ethernet does not carry.
    pub unfit: Unfit,
    /// Packets that were captured without an Ethernet header and got one, by link type.
    pub framed: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub tally: Tallied,
    /// Absent where nothing was measured.
    #[serde(flatten)]
    pub rates: Option<Rates>,
    /// Maps that hold anything but zeros.
    pub maps: Vec<Entries>,
    /// Records of ring buffers and perf event arrays (engine only).
    pub events: Vec<Events>,
    /// Lines that the program printed (engine only).
    pub log: Vec<String>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// With `--cover`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Covered>,
    /// The first difference, with `--diff`.
    pub first_difference: Option<Difference>,
    /// What was different and left out because it comes from a clock, a random number or an
    /// address, with `--diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<NotCompared>,
}

/// Packets by outcome.
#[derive(Debug, Serialize)]
pub struct Tallied {
    /// Packets that were run.
    pub packets: u64,
    /// Packets by verdict, always all five.
    pub verdicts: BTreeMap<&'static str, Counted>,
    /// Copies by target: `dev:`, `cpu:` or `xsk:` with the number, and the name of an interface of
    /// the world. A packet sent back with `tx` counts as `dev:` of the interface that it came from.
    pub redirects: BTreeMap<String, u64>,
    /// Copies that the network stack received.
    pub stack: u64,
    /// Copies that were dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets whose program was stopped by a fault.
    pub faults: u64,
    /// The first fault.
    pub first_fault: Option<FirstFault>,
}

/// Packets of the capture that were left out.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Unfit {
    /// Packets that were left out.
    pub packets: u64,
    /// Number of the first of them, from 1.
    pub first: Option<u64>,
}

/// Records that the program sent to user space through one map.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Events {
    /// Name of the map.
    pub map: String,
    /// Records sent.
    pub records: u64,
    /// Records that did not fit.
    pub lost: u64,
    /// The first thousand records.
    pub first: Vec<Event>,
}

/// One record.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Number of the packet during which it was sent.
    pub packet: u64,
    /// Processor of a perf event; `null` for a ring buffer.
    pub cpu: Option<u32>,
    /// The record as `hex:…`.
    pub bytes: String,
}

/// Packets and bytes of one verdict; JSON has the number of packets alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Counted {
    /// Packets with the verdict.
    pub packets: u64,
    /// Bytes of these packets as they arrived.
    #[serde(skip)]
    pub bytes: u64,
}

/// The first fault.
#[derive(Clone, Debug, Serialize)]
pub struct FirstFault {
    /// Number of the packet, from 1.
    pub packet: u64,
    /// What was wrong, for people.
    pub message: String,
}

/// The time of the program, measured in rounds over the first packets of the capture.
#[derive(Debug, Serialize)]
pub struct Rates {
    /// Packets of a round.
    #[serde(skip)]
    pub packets: usize,
    /// Nanoseconds per packet, a sample for each round.
    #[serde(skip)]
    pub stats: Stats,
    /// Median time per packet, in nanoseconds; absent where nothing was measured.
    pub ns_per_packet: f64,
    /// Shortest time per packet, in nanoseconds; absent where nothing was measured.
    pub ns_per_packet_min: f64,
    /// Packets per second at the median; `null` when the time was too short, absent where nothing
    /// was measured.
    pub pps: Option<f64>,
}

impl Rates {
    /// Rates of rounds over some packets, in nanoseconds per packet.
    pub(crate) fn new(packets: usize, stats: Stats) -> Self {
        let pps = (stats.median > 0.0).then(|| 1e9 / stats.median);
        let (ns_per_packet, ns_per_packet_min) = (stats.median, stats.min);
        Self { packets, stats, ns_per_packet, ns_per_packet_min, pps }
    }
}
