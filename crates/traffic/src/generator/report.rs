//! What a run did so far, and in the end.

use std::time::Duration;

use spec::Verdict;

use crate::histogram::Histogram;

/// A running generator's counters at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Since the first frame.
    pub elapsed: Duration,
    /// Frames that the interface took.
    pub sent: u64,
    /// Frames that it did not take: its queue was full, its link down, its peer not listening.
    pub not_sent: u64,
    /// Bytes of the frames given to the interface.
    pub bytes: u64,
    /// Frames given to the interface, by stream, in the order of the run.
    pub streams: Vec<u64>,
    pub threads: Vec<ThreadReport>,
    /// Why frames were not sent, once each, with what to do about it.
    pub faults: Vec<Fault>,
    /// What the program said of the frames, where they met one; its errors are with `Aborted`.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Why it is not known what the interface took, where it is not: `sent` is then what was given
    /// to it.
    pub blind: Option<String>,
}

/// One thread's part.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadReport {
    /// Where it was told to run.
    pub cpu: Option<usize>,
    /// Frames given to the interface.
    pub sent: u64,
    pub bytes: u64,
    /// Processor time of the thread, its receiver's included where that runs on the same one.
    pub cpu_time: Duration,
}

/// Frames that were not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub frames: u64,
    /// `ENXIO`, and so on; 0: its queue was full.
    pub errno: i32,
    /// What to change.
    pub advice: String,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub totals: Snapshot,
    /// From the first frame to the last; at a rate, to when the next one would have left.
    pub seconds: f64,
    /// `sent` over `seconds`.
    pub pps: f64,
    /// Nothing when unpaced.
    pub pacing: Option<Pacing>,
    /// Whether it was ended by `stop` or drop, before its count or time.
    pub stopped: bool,
}

/// How well the schedule was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// How far from its time each frame left, in ns, whether early or late: frames of a group
    /// leave together, in the middle of their times.
    pub error_ns: Histogram,
    /// Frames of a group.
    pub group: u32,
    /// Groups so late that those behind them were moved, too.
    pub slipped: u64,
}
