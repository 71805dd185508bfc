//! `SinkConfig`: where a sink counts frames, and what happens to counted frames.

use kernel::Mode;

use crate::error::{ConfigError, Result};
use crate::limits::{SOURCES, STREAMS};

/// The settings of a sink. [`SinkConfig::new`] sets defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkConfig {
    /// The interface, in the network namespace of the calling thread.
    pub interface: String,
    /// How frames are received.
    pub via: Via,
    /// What happens to counted frames.
    pub action: FrameAction,
    /// Whether headers and checksums are verified, as described at [`StreamReport::corrupted`].
    /// This is a quarter of the cost of a short frame, more than half of that of a long one.
    /// Without it only the stamp counts, and an ICMP error that quotes a stamped frame counts as
    /// that frame.
    ///
    /// [`StreamReport::corrupted`]: super::StreamReport::corrupted
    pub verify: bool,
    /// Which clocks can be compared.
    pub clocks: Clocks,
    /// Most streams, 1 to [`STREAMS`]; each uses 27 KiB per processor.
    pub streams: u32,
    /// Most pairs of a stream and a sending thread, a power of two up to [`SOURCES`]; each uses 64
    /// KiB.
    pub sources: u32,
}

/// How frames are received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// An XDP program on the interface, in the driver if it supports XDP, otherwise in the stack.
    #[default]
    Xdp,
    /// An XDP program in this mode. In generic mode the stack may already have merged TCP segments,
    /// as for [`Via::Stack`].
    XdpIn(Mode),
    /// A packet socket on the interface, read by a thread: for interfaces that already have an XDP
    /// program, and as a reference for the program of this crate. It is far slower, and the stack
    /// receives every frame, too. If the stack merges TCP segments (GRO), only the stamp of the
    /// last one is seen: disable that with `ethtool -K DEV gro off`.
    Stack,
}

/// What happens to a stamped frame after it is counted. Other frames always continue to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameAction {
    /// It is dropped.
    #[default]
    Drop,
    /// It continues to the stack.
    Pass,
    /// It is returned to its sender with source and destination swapped and a mark, so that a sink
    /// at the sender measures the round trip. Frames that are already marked, corrupted, or that a
    /// host would not answer (to another MAC address, to or from a group) are dropped.
    Reflect,
}

/// Whether the clock of the stamps is the clock of the sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Sender and sink run on one kernel.
    #[default]
    Shared,
    /// Sender and sink have different clocks: latency is measured only of reflected frames, jitter
    /// of all.
    Apart,
    /// No times are measured. Reading the clock is about half of the cost of a frame.
    Ignored,
}

impl SinkConfig {
    /// Drops verified frames, with times on a shared clock.
    pub fn new(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            via: Via::default(),
            action: FrameAction::default(),
            verify: true,
            clocks: Clocks::default(),
            streams: STREAMS as u32,
            sources: 256,
        }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// [`ConfigError`] for numbers beyond their limits.
    pub fn check(&self) -> Result<()> {
        if !(1..=STREAMS as u32).contains(&self.streams) {
            let (max, given) = (STREAMS as u64, self.streams.into());
            let what = "streams of a sink";
            return Err(ConfigError::Range { what, min: 1, max, given }.into());
        }
        if !self.sources.is_power_of_two() || self.sources > SOURCES {
            let (max, given) = (SOURCES.into(), self.sources.into());
            let what = "sources of a sink";
            return Err(ConfigError::PowerOfTwo { what, max, given }.into());
        }
        if self.via == Via::XdpIn(Mode::Offload) {
            return Err(ConfigError::SinkOffload.into());
        }
        Ok(())
    }
}
