//! Counters of a run, and its final report.

use std::time::Duration;

use spec::Verdict;

use crate::histogram::Histogram;

/// The counters of a generator at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time since the first frame.
    pub elapsed: Duration,
    /// Frames that the interface accepted.
    pub sent: u64,
    /// Frames that it rejected: its queue was full, its link down, or its peer not receiving XDP
    /// frames.
    pub not_sent: u64,
    /// Bytes of the frames passed to the interface.
    pub bytes: u64,
    /// Frames passed to the interface by stream, in the order of the run.
    pub streams: Vec<u64>,
    /// Counters by thread.
    pub threads: Vec<ThreadReport>,
    /// The reasons why frames were not sent, each with advice.
    pub faults: Vec<Fault>,
    /// Verdicts of the caller's program, if there is one; its errors count as `Aborted`.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Why the number of accepted frames is unknown; `sent` is then the number of frames passed to
    /// the interface.
    pub blind: Option<String>,
}

/// The counters of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadReport {
    /// The processor that it is pinned to.
    pub cpu: Option<usize>,
    /// Frames passed to the interface.
    pub sent: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Processor time of the thread, including that of its receiver if it runs on the same
    /// processor.
    pub cpu_time: Duration,
}

/// Frames that were not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of frames.
    pub frames: u64,
    /// Error number, such as `ENXIO`; 0 when the queue was full.
    pub errno: i32,
    /// The setting to change.
    pub advice: String,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The final counters.
    pub totals: Snapshot,
    /// Seconds from the first frame to the last; at a rate, to the time of the next frame.
    pub seconds: f64,
    /// Frames a second: `sent` over `seconds`.
    pub pps: f64,
    /// Deviations from the schedule; `None` without a rate.
    pub pacing: Option<Pacing>,
    /// Whether it was ended by `stop` or drop, before its count or duration.
    pub stopped: bool,
}

/// Deviations from the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// Absolute deviation of each frame from its scheduled time in ns. Frames of a group are sent
    /// together, in the middle of their times.
    pub error_ns: Histogram,
    /// Number of frames of a group.
    pub group: u32,
    /// Groups so late that later groups were delayed, too.
    pub slipped: u64,
}
