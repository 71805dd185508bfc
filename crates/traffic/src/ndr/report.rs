//! What a measurement found: a row for each load, with every trial.

use serde::{Serialize, Serializer};

use super::search::Binding;
use super::size::FrameSize;
use crate::histogram::Histogram;
use crate::rate::per_second;

/// The whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NdrReport {
    /// Loss that was accepted, 0 to 1.
    pub loss: f64,
    /// Distance of the rates from the limit, as a share of them.
    pub resolution: f64,
    /// A row for each load that was finished, in the order of the loads.
    pub rows: Vec<Row>,
    /// Ended before the last load.
    pub stopped: bool,
}

/// Sums over all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Frames sent in all trials together.
    pub sent: u64,
    /// Frames of all trials that the interface did not take.
    pub not_sent: u64,
    /// Time of all trials together, in seconds.
    pub seconds: f64,
    /// Frames sent per second, over all trials.
    pub pps: f64,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Bytes of a frame with the Ethernet checksum, as text, or `imix`.
    #[serde(serialize_with = "text")]
    pub size: FrameSize,
    /// Bytes of a frame without the checksum; the mean of a mix.
    pub bytes: f64,
    /// Highest rate that lost no more than was accepted, as it was offered; `null` when the lowest
    /// one lost more.
    pub pps: Option<f64>,
    /// Gigabits per second at that rate, of the frames' own bytes.
    pub gbit_per_second: Option<f64>,
    /// Loss at that rate, 0 to 1.
    pub loss: Option<f64>,
    /// Lowest higher rate that was tried and lost too much.
    pub above_pps: Option<f64>,
    /// Loss at `above_pps`, 0 to 1.
    pub above_loss: Option<f64>,
    /// What limits the rate.
    pub binding: Binding,
    /// Trials agreed: no rate that passed once failed later, or the reverse.
    pub steady: bool,
    /// Longest burst without loss, where it was measured.
    pub burst: Option<Burst>,
    /// Latency at shares of the rate, in their order; empty when there is no rate.
    pub latencies: Vec<Latency>,
    /// Trials in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// The longest burst without loss, all of it sent as fast as the generator can.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Burst {
    /// Frames of the burst; `null` when the shortest one lost frames.
    pub frames: Option<u64>,
    /// `device`: longer ones lost frames; `ceiling`: the longest one that was asked for did not.
    pub binding: Binding,
}

/// Latency at one share of the rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Share of the rate that was found, 0 to 1.
    pub share: f64,
    /// Frames per second, as they were offered.
    pub pps: f64,
    /// Frames lost.
    pub lost: u64,
    /// Latency of every frame; empty when the clocks of both ends have nothing in common.
    pub latency_ns: Histogram,
    /// Difference of the latency from that of the frame before.
    pub jitter_ns: Histogram,
}

/// What one trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The rate.
    Rate,
    /// The longest burst.
    Burst,
    /// The latency at a share of the rate.
    Latency,
}

/// One trial, as it was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What the trial was for.
    pub purpose: Purpose,
    /// Frames per second that were asked for; `null` in a burst, which leaves as fast as it can.
    pub asked_pps: Option<f64>,
    /// Frames that were asked for in a burst.
    pub asked_frames: Option<u64>,
    /// Frames sent per second, over the time in which they were.
    pub offered_pps: f64,
    /// Time in which frames were sent, in seconds; of a burst to the millisecond.
    pub seconds: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the interface did not take: the generator's loss, not the device's.
    pub not_sent: u64,
    /// Frames received.
    pub received: u64,
    /// Frames lost.
    pub lost: u64,
    /// Share of the frames sent that were lost, 0 to 1.
    pub loss: f64,
    /// Lost no more than was accepted.
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

impl NdrReport {
    /// Sums over all trials.
    pub fn totals(&self) -> Totals {
        let trials = || self.rows.iter().flat_map(|row| &row.trials);
        let sent = trials().map(|trial| trial.sent).sum();
        let seconds = trials().map(|trial| trial.seconds).sum();
        let not_sent = trials().map(|trial| trial.not_sent).sum();
        Totals { sent, not_sent, seconds, pps: per_second(sent as f64, seconds) }
    }
}

fn text<S: Serializer>(size: &FrameSize, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(size)
}
