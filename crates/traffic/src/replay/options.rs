//! `Options`: how a capture is converted to a recording.

use std::time::Duration;

use packet::Mac;
use pcap::LinkPolicy;

use super::edit::Edits;

/// The defaults send the packets once, with the timing of the capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// When frames are sent.
    pub timing: Timing,
    /// Number of times that the capture is sent; 0 repeats it until the end of the run.
    pub rounds: u32,
    /// Number of packets from the start of the capture that are used; all when `None`.
    pub first: Option<u64>,
    /// Longest gap between frames; longer ones are shortened.
    pub longest_gap: Option<Duration>,
    /// What happens to packets that were captured only in part.
    pub cut: Cut,
    /// MTU of the sending interface in bytes: longer packets are omitted.
    pub mtu: usize,
    /// Whether packets that were captured without an Ethernet header get one.
    pub link: LinkPolicy,
    /// The Ethernet addresses of such packets.
    pub framing: Framing,
    /// Changes to the frames.
    pub edits: Edits,
}

/// When frames are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Timing {
    /// With the intervals of the capture.
    #[default]
    Captured,
    /// This many times as fast as captured.
    Scaled(f64),
    /// In equal intervals, at this number of packets a second.
    PacketsPerSecond(f64),
    /// At the highest rate.
    Max,
}

/// What happens to packets that were captured only in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// The captured part is sent; its lengths and checksums are those of the whole packet.
    #[default]
    AsCaptured,
    /// They are padded with zeros to their original length.
    Pad,
    /// They are omitted.
    LeaveOut,
}

/// Addresses of an added Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Source address, if the capture has none.
    pub source: Mac,
    /// Destination address.
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
            link: LinkPolicy::AddHeader,
            framing: Framing::default(),
            edits: Edits::default(),
        }
    }
}

impl Default for Framing {
    /// Locally administered addresses.
    fn default() -> Self {
        Self { source: Mac([2, 0, 0, 0, 0, 1]), destination: Mac([2, 0, 0, 0, 0, 2]) }
    }
}
