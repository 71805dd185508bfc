//! `Notice`: an event of a run that is not an error, and the function that receives it.

use std::fmt;
use std::sync::Arc;

use pcap::{Framing, LinkType};

/// An event of which the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The kernel tests a program for devmaps or cpumaps as a plain XDP program.
    PlainProgram,
    /// The capture is damaged; the packets before the damage are used.
    DamagedCapture {
        /// Path of the capture.
        capture: String,
        /// Number of the last packet before the damage.
        packet: u64,
        /// What is wrong.
        cause: String,
    },
    /// Packets of a link type got an Ethernet header; reported once for each type.
    AddedHeader {
        /// Path of the capture.
        capture: String,
        /// The link type.
        link_type: LinkType,
        /// Addresses of the header.
        framing: Framing,
    },
    /// A request to end the run came while this map was read.
    MapsNotListed {
        /// Name of the map.
        map: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainProgram => f.write_str(
                "the kernel runs the program as a plain XDP program, not after a redirect",
            ),
            Self::DamagedCapture { capture, packet, cause } => {
                write!(f, "{capture}: after packet {packet}: {cause}")
            }
            Self::AddedHeader { capture, link_type, framing } => {
                write!(f, "{capture}: {}", framing.notice(*link_type))
            }
            Self::MapsNotListed { map } => write!(
                f,
                "interrupted while map `{map}` was read; the maps after it are not listed"
            ),
        }
    }
}

/// A function that receives notices.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        (self.0)(notice);
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new(|_notice| {})
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
