//! How a capture becomes a recording.

use std::time::Duration;

use packet::Mac;

use super::edit::Edits;

/// The defaults send what was captured, when it was captured, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub timing: Timing,
    /// How often all of it is sent; 0 for as long as the run lasts.
    pub rounds: u32,
    /// Only so many frames from the start of the capture.
    pub first: Option<u64>,
    /// Gaps between frames that are longer become so long.
    pub longest_gap: Option<Duration>,
    /// What becomes of frames of which only the beginning was captured.
    pub cut: Cut,
    /// The MTU of the interface that will send: longer packets are left out.
    pub mtu: usize,
    /// The Ethernet header of packets that were captured without one.
    pub framing: Framing,
    pub edits: Edits,
}

/// When frames are due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Timing {
    /// As far apart as they were captured.
    #[default]
    Captured,
    /// So many times as fast.
    Scaled(f64),
    /// Evenly, so many a second.
    PacketsPerSecond(f64),
    /// As fast as they can.
    Max,
}

/// What becomes of frames that the capture cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// What was captured is sent; lengths and checksums in it still tell of the whole.
    #[default]
    AsCaptured,
    /// Zeros up to the length that they had.
    Pad,
    LeaveOut,
}

/// Addresses of a made Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    pub source: Mac,
    pub destination: Mac,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timing: Timing::Captured,
            rounds: 1,
            first: None,
            longest_gap: None,
            cut: Cut::AsCaptured,
            mtu: 1500,
            framing: Framing::default(),
            edits: Edits::default(),
        }
    }
}

impl Default for Framing {
    /// Locally administered addresses that nobody has.
    fn default() -> Self {
        Self { source: Mac([2, 0, 0, 0, 0, 1]), destination: Mac([2, 0, 0, 0, 0, 2]) }
    }
}
