//! Sends captures: reads them into a [`Recording`].
//!
//! Packets of a capture become Ethernet frames (with [`Options::framing`] if they have no Ethernet
//! header), edited by [`Edits`], each with a scheduled time. Packets that cannot be sent are
//! omitted and counted in [`Notes`]. `pcap` reads the files, and `program::replay` sends the
//! frames.

mod edit;
mod framing;
mod layers;
mod notes;
mod options;
mod read;
mod recording;

pub use edit::{AddressMap, EditError, Edits, MacMap, PortMap, Side, Vlan};
pub use notes::{Notes, Reason};
pub use options::{Cut, Framing, Options, Timing};
pub use recording::{Frame, Recording};
