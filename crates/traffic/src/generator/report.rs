//! The state of a run, and its final result.

use std::time::Duration;

use serde::{Serialize, Serializer};
use spec::Verdict;

use crate::histogram::Histogram;

/// The counters of a running generator at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time since the first frame.
    pub elapsed: Duration,
    /// Frames that the interface accepted.
    pub sent: u64,
    /// Frames that it did not accept: its queue was full, its link down, or its peer not receiving.
    pub not_sent: u64,
    /// Bytes of the frames that were passed to the interface.
    pub bytes: u64,
    /// Frames that were passed to the interface, by stream, in the order of the run.
    pub streams: Vec<u64>,
    pub threads: Vec<ThreadReport>,
    /// Why frames were not sent, each reason once, with its remedy.
    pub faults: Vec<Fault>,
    /// Verdicts of the program that processed the frames, if there was one; errors count as
    /// `Aborted`.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Why the number of accepted frames is unknown, if it is; `sent` is then the number of frames
    /// that were passed to the interface.
    pub blind: Option<String>,
}

/// The part of one thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadReport {
    /// Processor that the thread was bound to; `null` for any.
    pub cpu: Option<usize>,
    /// Frames that were passed to the interface.
    #[serde(rename = "frames")]
    pub sent: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Processor time of the thread in seconds, including that of its receiver if it runs on the
    /// same processor.
    #[serde(rename = "cpu_s", serialize_with = "seconds")]
    pub cpu_time: Duration,
}

/// Frames that were not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Name of the error (`ENXIO`, …); `full`: the interface's queue was full.
    #[serde(rename = "error", serialize_with = "error_name")]
    pub errno: i32,
    /// Frames that were not sent for this reason.
    pub frames: u64,
    /// What to change.
    pub advice: String,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub totals: Snapshot,
    /// Time from the first frame to the last; with a rate, to the scheduled time of the next frame.
    pub seconds: f64,
    /// `sent` over `seconds`.
    pub pps: f64,
    /// Accuracy of the schedule; `None` without a rate.
    pub pacing: Option<Pacing>,
    /// Whether the run was ended by `stop` or drop, before its count or duration.
    pub stopped: bool,
}

/// Accuracy of the schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pacing {
    /// Deviation of each frame from its scheduled time, early or late, in nanoseconds. The frames
    /// of a group leave together, in the middle of their scheduled times.
    pub error_ns: Histogram,
    /// Number of frames that leave together.
    pub group: u32,
    /// Groups that were so late that the later ones were delayed, too.
    pub slipped: u64,
}

impl Fault {
    /// Name of the error, such as `ENXIO`; `full` if the interface's queue was full.
    pub fn error(&self) -> String {
        error(self.errno)
    }
}

fn error(errno: i32) -> String {
    match errno {
        0 => "full".to_owned(),
        errno => sys::errno_name(errno),
    }
}

fn error_name<S: Serializer>(errno: &i32, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&error(*errno))
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
