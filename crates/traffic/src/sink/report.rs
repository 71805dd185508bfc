//! What arrived.
//!
//! The books are exact: of every stream whose end was seen, `sent` = `received` + `lost`.
//! A corrupted frame did not arrive: its number stays open and is lost unless a good copy comes.

use std::time::Duration;

use crate::histogram::Histogram;
use crate::stamp::Expect;

/// What a sink counted so far, or in the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkReport {
    pub elapsed: Duration,
    /// By id.
    pub streams: Vec<StreamReport>,
    /// Frames without a stamp, and, where the sink verifies, ICMP errors that quote one with a
    /// stamp; they went on to the stack.
    pub foreign: u64,
    pub foreign_bytes: u64,
    /// Frames whose stamp is damaged and names no stream that is known.
    pub damaged: u64,
    /// Stamped frames of more streams or sources than there is room for.
    pub beyond: u64,
    /// Frames that this sink did not read in time, of any kind; they are among the lost ones.
    /// Always 0 in XDP.
    pub missed: u64,
}

/// One stream, all of its sources together.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamReport {
    pub id: u16,
    pub expect: Expect,
    /// Threads that sent it.
    pub sources: u32,
    /// Different frames that arrived whole: no duplicates, no corrupted ones.
    pub received: u64,
    /// Theirs.
    pub bytes: u64,
    /// How many there were, when the end of every source was seen.
    pub sent: Option<u64>,
    /// Those sent (up to the highest number seen, where the end was not) that were not received.
    pub lost: u64,
    /// Received behind one with a higher number.
    pub reordered: u64,
    pub duplicated: u64,
    /// Came with a checksum that does not agree with the frame: the stamp's own, or, where the
    /// sink verifies, the IPv4 header's or that of UDP, TCP, ICMP or ICMPv6.
    pub corrupted: u64,
    /// Behind by more than the window: may be duplicates; in `received` and `reordered`.
    pub late: u64,
    /// Time from the sender's stamp to here, or there and back for reflected frames, of every
    /// frame received. Empty when the clocks have nothing in common.
    pub latency_ns: Histogram,
    /// How much that differs from the frame before, of the same source on the same processor.
    pub jitter_ns: Histogram,
}

impl SinkReport {
    pub fn stream(&self, id: u16) -> Option<&StreamReport> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// Of all streams.
    pub fn received(&self) -> u64 {
        self.streams.iter().map(|stream| stream.received).sum()
    }

    /// Of all streams.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(|stream| stream.lost).sum()
    }

    /// Of all streams; see [`StreamReport::wrong`].
    pub fn wrong(&self) -> u64 {
        self.streams.iter().map(StreamReport::wrong).sum()
    }
}

impl StreamReport {
    /// Frames that the device under test judged wrong: lost ones, or those that arrived where
    /// none should, in whatever state.
    pub fn wrong(&self) -> u64 {
        match self.expect {
            Expect::Pass => self.lost,
            Expect::Drop => self.received + self.corrupted,
        }
    }
}
