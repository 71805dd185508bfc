//! What a run did so far, and in the end.

use std::time::Duration;

use serde::{Serialize, Serializer};
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

/// The part of one thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadReport {
    /// Processor that the thread was bound to; `null`: any.
    pub cpu: Option<usize>,
    /// Frames given to the interface.
    #[serde(rename = "frames")]
    pub sent: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Processor time of the thread in seconds, its receiver's included where that runs on the
    /// same processor.
    #[serde(rename = "cpu_s", serialize_with = "seconds")]
    pub cpu_time: Duration,
}

/// Frames that were not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Name of the error (`ENXIO`, …); `full`: the interface's queue had no room.
    #[serde(rename = "error", serialize_with = "error_name")]
    pub errno: i32,
    /// Frames that were not sent for it.
    pub frames: u64,
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pacing {
    /// Distance of each frame from its scheduled time, early or late, in nanoseconds. Frames of a
    /// group leave together, in the middle of their times.
    pub error_ns: Histogram,
    /// Frames that leave together.
    pub group: u32,
    /// Groups so late that those after them were delayed, too.
    pub slipped: u64,
}

impl Fault {
    /// `ENXIO`, and so on; `full` where the interface's queue was.
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
