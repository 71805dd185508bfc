//! `Summary` and `Interval`: the final report of a run, and its progress between two readings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::report::{Fault, Pacing, Report, Snapshot, ThreadReport};
use crate::rate::{Profile, per_second};

/// The final report of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Frames that the interface accepted.
    pub sent: u64,
    /// Frames that the interface did not accept; `faults` has the reasons.
    pub not_sent: u64,
    /// Time from the first frame to the last, in seconds; with a rate, to the scheduled time of the
    /// next frame.
    pub seconds: f64,
    /// Frames sent per second.
    pub pps: f64,
    /// Frames per second that the rate requires, on average over the run; `null` without a rate.
    pub target_pps: Option<f64>,
    /// Share of the target that was not reached, 0 to 1; `null` without a rate.
    pub missed: Option<f64>,
    /// Bits sent per second, of the frames' own bytes, without checksum and gap.
    pub bps: f64,
    /// Bits sent per second on layer 1: with checksum, preamble and gap, 24 bytes a frame.
    pub l1_bps: f64,
    /// Bytes of the frames that were passed to the interface.
    pub bytes: u64,
    /// The run was ended by a signal, before its count or duration.
    pub stopped: bool,
    /// Accuracy of the schedule; `null` without a rate.
    pub pacing: Option<Pacing>,
    /// Streams in the order of the run.
    pub streams: Vec<StreamFrames>,
    /// Threads that sent.
    pub threads: Vec<ThreadReport>,
    /// Why frames were not sent.
    pub faults: Vec<Fault>,
    /// Frames by the verdict of the program, with `inject --to`; includes the stamps that end a
    /// run.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Why the number of accepted frames is unknown; `sent` is then the number passed to the
    /// interface.
    pub blind: Option<String>,
}

/// One stream of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamFrames {
    /// Index of the stream in its file, from 0.
    pub id: u16,
    /// Name of the stream.
    pub name: String,
    /// Frames that were passed to the interface.
    pub frames: u64,
}

/// Counters of a run, and rates since the previous reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds since the first frame.
    pub t: f64,
    /// Frames sent so far.
    pub sent: u64,
    /// Frames not sent so far.
    pub not_sent: u64,
    /// Frames sent per second since the previous line.
    pub pps: f64,
    /// Bits sent per second since the previous line.
    pub bps: f64,
    /// Share of a processor that each thread used since the previous line, 0 to 1.
    pub cpu: Vec<f64>,
    /// Why frames were not sent so far.
    pub faults: Vec<Fault>,
}

/// Bytes of a frame on layer 1 besides its own: checksum, preamble with delimiter, and gap.
const LAYER_1: f64 = 4.0 + 8.0 + 12.0;

impl Report {
    /// Sums and rates of the run. `streams` are ids and names in the order of the run.
    pub fn summary(&self, streams: &[(u16, String)], profile: &Profile) -> Summary {
        let Snapshot { sent, not_sent, bytes, ref verdicts, ref blind, .. } = self.totals;
        let given = sent + not_sent;
        let each = if given > 0 { bytes as f64 / given as f64 } else { 0.0 };
        let target_pps = profile.mean_pps(self.seconds, each * 8.0).filter(|_| given > 0);
        let frames = self.totals.streams.iter().zip(streams);
        let stream = |(frames, (id, name)): (&u64, &(u16, String))| StreamFrames {
            id: *id,
            name: name.clone(),
            frames: *frames,
        };
        Summary {
            sent,
            not_sent,
            seconds: self.seconds,
            pps: self.pps,
            target_pps,
            missed: target_pps.map(|target| (1.0 - self.pps / target).max(0.0)),
            bps: self.pps * each * 8.0,
            l1_bps: self.pps * (each + LAYER_1) * 8.0,
            bytes,
            stopped: self.stopped,
            pacing: self.pacing.clone(),
            streams: frames.map(stream).collect(),
            threads: self.totals.threads.clone(),
            faults: self.totals.faults.clone(),
            verdicts: verdicts.iter().map(|(verdict, count)| (verdict.name(), *count)).collect(),
            blind: blind.clone(),
        }
    }
}

impl Interval {
    /// The counters of `now`, and the rates since `before`.
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = now.elapsed.saturating_sub(before.elapsed).as_secs_f64();
        let rate = |old: u64, new: u64| per_second(new.saturating_sub(old) as f64, seconds);
        let threads = before.threads.iter().zip(&now.threads);
        let used = threads.map(|(old, new)| {
            per_second(new.cpu_time.saturating_sub(old.cpu_time).as_secs_f64(), seconds)
        });
        Self {
            t: now.elapsed.as_secs_f64(),
            sent: now.sent,
            not_sent: now.not_sent,
            pps: rate(before.sent, now.sent),
            bps: 8.0 * rate(before.bytes, now.bytes),
            cpu: used.collect(),
            faults: now.faults.clone(),
        }
    }
}
