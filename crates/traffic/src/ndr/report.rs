//! The result of a measurement: a row for each load, with all trials.

use serde::{Serialize, Serializer};

use super::search::Binding;
use super::size::FrameSize;
use crate::histogram::Histogram;
use crate::rate::per_second;

/// The result of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NdrReport {
    /// Accepted loss, 0 to 1.
    pub loss: f64,
    /// Largest distance of the rates from the limit, as a share of the rate.
    pub resolution: f64,
    /// A row for each completed load, in the order of the loads.
    pub rows: Vec<Row>,
    /// The measurement was ended before the last load.
    pub stopped: bool,
}

/// Totals of all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Frames sent in all trials together.
    pub sent: u64,
    /// Frames of all trials that the interface did not accept.
    pub not_sent: u64,
    /// Time of all trials together, in seconds.
    pub seconds: f64,
    /// Frames sent per second, over all trials.
    pub pps: f64,
}

/// The result for one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Bytes of a frame with the Ethernet checksum, as text, or `imix`.
    #[serde(serialize_with = "text")]
    pub size: FrameSize,
    /// Bytes of a frame without the checksum; the mean of a mix.
    pub bytes: f64,
    /// Highest offered rate whose loss was acceptable; `null` when the loss of the lowest rate was
    /// too high.
    pub pps: Option<f64>,
    /// Gigabits per second at that rate, of the frames' own bytes.
    pub gbit_per_second: Option<f64>,
    /// Loss at that rate, 0 to 1.
    pub loss: Option<f64>,
    /// Lowest tested rate above `pps` whose loss was too high.
    pub above_pps: Option<f64>,
    /// Loss at `above_pps`, 0 to 1.
    pub above_loss: Option<f64>,
    /// What limits the rate.
    pub binding: Binding,
    /// The trials agree: no rate that passed failed in another trial, or the reverse.
    pub steady: bool,
    /// Longest burst without loss, if it was measured.
    pub burst: Option<Burst>,
    /// Latency at shares of the rate, in their order; empty when no rate was found.
    pub latencies: Vec<Latency>,
    /// Trials in the order in which they were made.
    pub trials: Vec<Trial>,
}

/// The longest burst without loss, sent as fast as the generator can.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Burst {
    /// Frames of the burst; `null` when the shortest one lost frames.
    pub frames: Option<u64>,
    /// `device`: longer bursts lost frames; `ceiling`: the longest requested one did not.
    pub binding: Binding,
}

/// Latency at one share of the rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Share of the rate that was found, 0 to 1.
    pub share: f64,
    /// Offered frames per second.
    pub pps: f64,
    /// Frames lost.
    pub lost: u64,
    /// Latency of every frame; empty when the clocks of both ends cannot be compared.
    pub latency_ns: Histogram,
    /// Difference between the latency and that of the previous frame.
    pub jitter_ns: Histogram,
}

/// The purpose of a trial.
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

/// The result of one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What the trial measured.
    pub purpose: Purpose,
    /// Requested frames per second; `null` for a burst, which is sent as fast as possible.
    pub asked_pps: Option<f64>,
    /// Requested number of frames of a burst.
    pub asked_frames: Option<u64>,
    /// Frames sent per second, while frames were sent.
    pub offered_pps: f64,
    /// Time during which frames were sent, in seconds; for a burst, rounded to milliseconds.
    pub seconds: f64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the interface did not accept: the generator's loss, not the device's.
    pub not_sent: u64,
    /// Frames received.
    pub received: u64,
    /// Frames lost.
    pub lost: u64,
    /// Share of the frames sent that were lost, 0 to 1.
    pub loss: f64,
    /// The loss was acceptable.
    pub passed: bool,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A load begins: its index, and the number of loads.
    Load {
        size: FrameSize,
        index: usize,
        of: usize,
    },
    /// Sent several times per second during a trial.
    Wait(Purpose),
    Trial(&'a Trial),
    Row(&'a Row),
}

impl NdrReport {
    /// Totals of all trials.
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
