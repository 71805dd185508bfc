//! Captures as something to send: `Recording`.

use std::time::Duration;

/// Frames with the times at which they are due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// All frames, one behind the other.
    pub bytes: Vec<u8>,
    pub frames: Vec<Frame>,
    /// How often all of it is sent; 0 for as long as the run lasts.
    pub rounds: u32,
    /// From the first frame of one round to the first of the next.
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
