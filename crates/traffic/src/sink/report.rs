//! What arrived.

use std::time::Duration;

use crate::histogram::Histogram;
use crate::stamp::Expect;

/// What a sink counted so far, or in the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkReport {
    pub elapsed: Duration,
    /// By id.
    pub streams: Vec<StreamReport>,
    /// Frames without a stamp; they went on to the stack.
    pub foreign: u64,
    pub foreign_bytes: u64,
    /// Frames whose stamp is damaged so that their stream is not known.
    pub damaged: u64,
    /// Stamped frames of more streams or sources than there is room for.
    pub beyond: u64,
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamReport {
    pub id: u16,
    pub expect: Expect,
    /// Different frames that arrived: duplicates not counted.
    pub received: u64,
    pub bytes: u64,
    /// How many there were, when the sender's end was seen.
    pub sent: Option<u64>,
    /// Those sent (up to the highest number seen, when `sent` is not known) that did not arrive.
    pub lost: u64,
    /// Arrived behind one with a higher number.
    pub reordered: u64,
    pub duplicated: u64,
    /// Arrived with a checksum that does not agree with the frame.
    pub corrupted: u64,
    /// Behind by more than the window: may be duplicates; in `received` and `reordered`.
    pub late: u64,
    /// Time from the sender's stamp to here. Empty when the clocks have nothing in common.
    pub latency_ns: Histogram,
    /// How much that differs from frame to frame.
    pub jitter_ns: Histogram,
}

impl StreamReport {
    /// Frames that the device under test judged wrong: lost ones, or those that arrived where
    /// none should.
    pub fn wrong(&self) -> u64 {
        match self.expect {
            Expect::Pass => self.lost,
            Expect::Drop => self.received,
        }
    }
}
