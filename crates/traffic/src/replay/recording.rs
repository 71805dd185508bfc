//! `Recording`: frames and when they are due.

use std::time::Duration;

/// Frames with the times at which they are due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// All frames, one behind the other.
    pub bytes: Vec<u8>,
    pub frames: Vec<Frame>,
    /// How often all of it is sent; 0 for as long as the run lasts.
    pub rounds: u32,
    /// From the first frame of one round to the first of the next. Zero: frames have no times and
    /// leave as fast as they can.
    pub length: Duration,
}

/// A frame of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub at: usize,
    pub len: usize,
    /// Since the first.
    pub due: Duration,
}

impl Recording {
    /// The bytes of a frame.
    pub fn bytes_of(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.at..frame.at + frame.len]
    }

    /// Of the longest frame.
    pub fn longest(&self) -> usize {
        self.frames.iter().map(|frame| frame.len).max().unwrap_or(0)
    }

    /// Whether frames have times.
    pub fn is_paced(&self) -> bool {
        !self.length.is_zero()
    }

    /// Frames of all rounds; nothing when they have no end.
    pub fn total(&self) -> Option<u64> {
        (self.rounds > 0).then(|| u64::from(self.rounds) * self.frames.len() as u64)
    }

    /// Frames of all rounds of those whose number leaves `part` when divided by `parts`.
    pub fn share(&self, part: usize, parts: usize) -> Option<u64> {
        let frames = self.frames.len().saturating_sub(part).div_ceil(parts);
        (self.rounds > 0).then(|| u64::from(self.rounds) * frames as u64)
    }

    /// Frames a second, on average; nothing when they have no times.
    pub fn mean_pps(&self) -> Option<f64> {
        self.is_paced().then(|| self.frames.len() as f64 / self.length.as_secs_f64())
    }
}
