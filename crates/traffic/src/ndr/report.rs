//! `NdrReport`: the result of a measurement, a row for each load with all its trials.

use super::search::Binding;
use super::size::FrameSize;
use crate::histogram::Histogram;

/// The result of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct NdrReport {
    /// The accepted loss, The share of sent frames that were lost, 0 to 1.
    pub loss: f64,
    /// Precision of the rates, as a share of them.
    pub resolution: f64,
    /// The finished rows, in the order of the loads.
    pub rows: Vec<Row>,
    /// Whether it was ended before the last row.
    pub stopped: bool,
}

/// The result for one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Size of the frames.
    pub size: FrameSize,
    /// Bytes of a frame without the Ethernet checksum; the mean for a mix.
    pub bytes: f64,
    /// The highest offered rate with at most the accepted loss, in packets a second; `None` when
    /// even the lowest rate lost more.
    pub pps: Option<f64>,
    /// That rate in Gbit/s of the frames' own bytes.
    pub gbit_per_second: Option<f64>,
    /// The loss at that rate, 0 to 1.
    pub loss: Option<f64>,
    /// The lowest tried rate above it that exceeded the accepted loss, and its loss.
    pub above: Option<(f64, f64)>,
    /// Why the rate is not higher.
    pub binding: Binding,
    /// Whether the trials were consistent: no rate that passed once failed later, or the reverse.
    pub steady: bool,
    /// The longest burst, if bursts were measured.
    pub burst: Option<Burst>,
    /// Latencies in the order of the shares; empty without a rate.
    pub latencies: Vec<Latency>,
    /// All trials in order.
    pub trials: Vec<Trial>,
}

/// The longest burst without loss, sent at the highest rate of the generator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Number of frames; `None` when even the shortest burst lost frames.
    pub frames: Option<u64>,
    /// Why it is not longer. `Device`: longer bursts lost frames. `Ceiling`: the longest requested
    /// burst did not.
    pub binding: Binding,
}

/// The latency at one share of the rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The share of the found rate, 0 to 1.
    pub share: f64,
    /// The offered rate in packets a second.
    pub pps: f64,
    /// Lost frames.
    pub lost: u64,
    /// Latency of each frame in ns; empty if the clocks are not comparable.
    pub latency_ns: Histogram,
    /// Jitter of each frame in ns.
    pub jitter_ns: Histogram,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find the rate.
    Rate,
    /// To find the longest burst.
    Burst,
    /// To measure latency.
    Latency,
}

/// The result of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What it was for.
    pub purpose: Purpose,
    /// The requested rate; `None` for a burst, which is sent at the highest rate.
    pub asked_pps: Option<f64>,
    /// The requested number of frames of a burst.
    pub asked_frames: Option<u64>,
    /// Sent frames a second.
    pub offered_pps: f64,
    /// Duration of sending; for a burst, until its end was detected, within a millisecond.
    pub seconds: f64,
    /// Sent frames.
    pub sent: u64,
    /// Frames that the interface rejected: losses of the generator, not of the device.
    pub not_sent: u64,
    /// Received frames.
    pub received: u64,
    /// Sent frames that were not received.
    pub lost: u64,
    /// Whether the loss was at most the accepted one.
    pub passed: bool,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A load begins: its index, and the number of loads.
    Load { size: FrameSize, index: usize, of: usize },
    /// A trial is in progress; sent several times a second.
    Wait(Purpose),
    /// A trial has ended.
    Trial(&'a Trial),
    /// A row is finished.
    Row(&'a Row),
}

impl Trial {
    /// 0 to 1.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}
