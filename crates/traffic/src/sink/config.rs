//! What a sink listens to, and what becomes of the frames that it counted.

use kernel::Mode;

use crate::error::{ConfigError, Result};
use crate::limits::{SOURCES, STREAMS};

/// One sink. [`SinkConfig::new`] gives the rest of the fields a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkConfig {
    /// In the calling thread's namespace.
    pub interface: String,
    pub via: Via,
    pub fate: Fate,
    /// Whether headers are read and checksums computed again, as [`StreamReport::corrupted`] tells;
    /// a quarter of what a short frame costs, more than half of a long one. Without it a frame is
    /// what its stamp says, and an ICMP error that quotes a stamped frame is taken for that frame.
    ///
    /// [`StreamReport::corrupted`]: super::StreamReport::corrupted
    pub verify: bool,
    pub clocks: Clocks,
    /// Room for so many streams, 1 to [`STREAMS`]; each takes 27 KiB on every processor.
    pub streams: u32,
    /// Room for so many pairs of a stream and a thread that sends it, a power of two up to
    /// [`SOURCES`]; each takes 64 KiB.
    pub sources: u32,
}

/// Where frames are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// An XDP program on the interface, in the driver where that can, else in the stack.
    #[default]
    Xdp,
    /// An XDP program in this mode and no other. In generic mode the stack may have joined TCP
    /// segments before, as for [`Via::Stack`].
    XdpIn(Mode),
    /// A socket that sees what the interface receives, read by a thread. For interfaces that
    /// already have an XDP program, and to check this sink's own; far slower. The stack
    /// gets every frame too. Where it joins TCP segments (GRO), only the last one's stamp is seen:
    /// switch that off with `ethtool -K DEV gro off`.
    Stack,
}

/// What becomes of a stamped frame, once it is counted. Others always go on to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It ends here.
    #[default]
    Drop,
    /// It goes on to the stack.
    Pass,
    /// The frame returns to its sender with source and destination swapped, and is marked, so that
    /// a sink at the sender measures the round trip. Frames that are already marked, corrupted, or
    /// that a host would not answer (to another MAC address, to or from a group) are dropped.
    Reflect,
}

/// Whether stamps were written by the clock that they are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Sender and sink run on one kernel.
    #[default]
    Shared,
    /// They do not: latency is told of reflected frames alone, jitter of all.
    Apart,
    /// No times are told. Looking at the clock is about half of what a frame costs.
    Ignored,
}

impl SinkConfig {
    pub fn new(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            via: Via::default(),
            fate: Fate::default(),
            verify: true,
            clocks: Clocks::default(),
            streams: STREAMS as u32,
            sources: 256,
        }
    }

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
