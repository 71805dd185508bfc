//! `SinkReport`: the counters of a sink.
//!
//! The counters are exact: for every stream whose end was received, `sent` = `received` + `lost`. A
//! corrupted frame does not count as received: its number is lost unless a correct copy arrives.

use std::time::Duration;

use crate::histogram::Histogram;
use crate::stamp::Expect;

/// The counters of a sink, so far or final.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkReport {
    /// Time since the start.
    pub elapsed: Duration,
    /// Counters by stream, in the order of their ids.
    pub streams: Vec<StreamReport>,
    /// Frames without a stamp and, if the sink verifies, ICMP errors that quote a stamped frame;
    /// they continued to the stack.
    pub foreign: u64,
    /// Bytes of these frames.
    pub foreign_bytes: u64,
    /// Frames whose stamp is damaged and names no known stream.
    pub damaged: u64,
    /// Stamped frames of streams or sources beyond the configured number.
    pub beyond: u64,
    /// Frames of any kind that the socket dropped because they were not read in time; they count as
    /// lost. Always 0 with XDP.
    pub missed: u64,
}

/// The counters of one stream, over all its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamReport {
    /// Number of the stream.
    pub id: u16,
    /// What the device under test must do with the frames.
    pub expect: Expect,
    /// Number of threads that sent it.
    pub sources: u32,
    /// Distinct frames that arrived intact: neither duplicates nor corrupted frames.
    pub received: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Number of sent frames, if the end of every source was received.
    pub sent: Option<u64>,
    /// Sent frames that were not received; without an end, up to the highest number received.
    pub lost: u64,
    /// Frames received after one with a higher number.
    pub reordered: u64,
    /// Frames received again.
    pub duplicated: u64,
    /// Frames with a wrong checksum: that of the stamp or, if the sink verifies, that of the IPv4
    /// header, UDP, TCP, ICMP or ICMPv6.
    pub corrupted: u64,
    /// Frames that arrived too late for the window: possibly duplicates, also counted in `received`
    /// and `reordered`.
    pub late: u64,
    /// Time in ns from the stamp to the arrival of each received frame; the round trip for
    /// reflected frames. Empty if the clocks are not comparable.
    pub latency_ns: Histogram,
    /// Absolute difference in ns between this time and that of the previous frame of the same
    /// source on the same processor.
    pub jitter_ns: Histogram,
}

impl SinkReport {
    /// The counters of a stream.
    pub fn stream(&self, id: u16) -> Option<&StreamReport> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// Received frames of all streams.
    pub fn received(&self) -> u64 {
        self.streams.iter().map(|stream| stream.received).sum()
    }

    /// Lost frames of all streams.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(|stream| stream.lost).sum()
    }

    /// Wrong frames of all streams; see [`StreamReport::wrong`].
    pub fn wrong(&self) -> u64 {
        self.streams.iter().map(StreamReport::wrong).sum()
    }
}

impl StreamReport {
    /// Frames that the device under test handled wrongly: lost frames or, if the stream must be
    /// dropped, all frames that arrived.
    pub fn wrong(&self) -> u64 {
        match self.expect {
            Expect::Pass => self.lost,
            Expect::Drop => self.received + self.corrupted,
        }
    }
}
