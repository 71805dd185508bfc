//! Captures as something to send: [`Recording`].
//!
//! A capture becomes Ethernet frames ([`Options::framing`] where it has none), each edited as
//! [`Edits`] say, each with the time at which it is due. What cannot be sent is left out and
//! counted in [`Notes`]. Not here: reading files (`pcap`), sending (`program::replay`).

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
