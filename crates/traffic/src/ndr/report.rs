//! What a measurement found: a row for each load, with every trial.

use super::search::Binding;
use super::size::FrameSize;
use crate::histogram::Histogram;

/// The whole measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct NdrReport {
    /// The loss that was accepted: 0 to 1.
    pub loss: f64,
    /// How close the rates are to the limit, as a share of them.
    pub resolution: f64,
    /// In the order of the loads; those that were finished.
    pub rows: Vec<Row>,
    /// Whether it was ended before the last of them.
    pub stopped: bool,
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub size: FrameSize,
    /// Of a frame as software sees it; the mean of a mix.
    pub bytes: f64,
    /// The highest rate that lost no more than was accepted, as it was offered. Nothing when even
    /// the lowest one lost more.
    pub pps: Option<f64>,
    /// At that rate, counting the frames' own bytes.
    pub gbit_per_second: Option<f64>,
    /// What was lost at that rate: 0 to 1.
    pub loss: Option<f64>,
    /// The lowest rate above it that was tried and lost too much, and how much it lost.
    pub above: Option<(f64, f64)>,
    pub binding: Binding,
    /// Whether trials agreed: no rate that was passed once was failed later, or the reverse.
    pub steady: bool,
    pub burst: Option<Burst>,
    /// In the order of the shares; empty when there is no rate.
    pub latencies: Vec<Latency>,
    /// In the order in which they were made.
    pub trials: Vec<Trial>,
}

/// The longest burst without loss, all of it sent as fast as the generator can.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Nothing when even the shortest one lost frames.
    pub frames: Option<u64>,
    /// `Device`: longer ones lost frames. `Ceiling`: the longest one that was asked for did not.
    pub binding: Binding,
}

/// One latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub share: f64,
    /// As it was offered.
    pub pps: f64,
    pub lost: u64,
    /// Of every frame; empty when the clocks of both ends have nothing in common.
    pub latency_ns: Histogram,
    pub jitter_ns: Histogram,
}

/// What one trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The rate.
    Rate,
    /// The longest burst.
    Burst,
    Latency,
}

/// One trial, as it was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub purpose: Purpose,
    /// Nothing in a burst, which leaves as fast as it can.
    pub asked_pps: Option<f64>,
    /// What was asked for, in a burst.
    pub asked_frames: Option<u64>,
    /// What was sent, over the time in which it was.
    pub offered_pps: f64,
    /// In which frames were sent; of a burst to the millisecond in which that was seen.
    pub seconds: f64,
    pub sent: u64,
    /// Frames that the interface did not take: the generator's loss, not the device's.
    pub not_sent: u64,
    pub received: u64,
    pub lost: u64,
    /// Whether it lost no more than was accepted.
    pub passed: bool,
}

/// What is told while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A load begins: its index and how many there are.
    Load {
        size: FrameSize,
        index: usize,
        of: usize,
    },
    /// Several times a second, while a trial is under way.
    Wait(Purpose),
    Trial(&'a Trial),
    Row(&'a Row),
}

impl Trial {
    /// 0 to 1.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}
