//! `Recording`: frames with their scheduled times.

use std::time::Duration;

/// Frames with their scheduled times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The bytes of all frames in order.
    pub bytes: Vec<u8>,
    /// The frames in order.
    pub frames: Vec<Frame>,
    /// Number of times that it is sent; 0 repeats it until the end of the run.
    pub rounds: u32,
    /// Interval from the first frame of one round to that of the next. Zero: frames have no times,
    /// and are sent at the highest rate.
    pub length: Duration,
}

/// A frame of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Offset in [`Recording::bytes`].
    pub at: usize,
    /// Number of bytes.
    pub len: usize,
    /// Scheduled time since the first frame.
    pub due: Duration,
}

impl Recording {
    /// The bytes of a frame.
    pub fn bytes_of(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.at..frame.at + frame.len]
    }

    /// Length of the longest frame.
    pub fn longest(&self) -> usize {
        self.frames.iter().map(|frame| frame.len).max().unwrap_or(0)
    }

    /// Whether frames have times.
    pub fn is_paced(&self) -> bool {
        !self.length.is_zero()
    }

    /// Number of frames of all rounds; `None` when it is repeated without end.
    pub fn total(&self) -> Option<u64> {
        (self.rounds > 0).then(|| u64::from(self.rounds) * self.frames.len() as u64)
    }

    /// Number of frames of all rounds whose index is `part` modulo `parts`; `None` when it is
    /// repeated without end.
    pub fn share(&self, part: usize, parts: usize) -> Option<u64> {
        let frames = self.frames.len().saturating_sub(part).div_ceil(parts);
        (self.rounds > 0).then(|| u64::from(self.rounds) * frames as u64)
    }

    /// Mean number of frames a second; `None` without times.
    pub fn mean_pps(&self) -> Option<f64> {
        self.is_paced().then(|| self.frames.len() as f64 / self.length.as_secs_f64())
    }
}
