//! Metadata of packets: attributes of received packets, and requests for packets to be sent.
//!
//! Metadata is stored in the frame directly before the packet: the attributes that the redirect
//! program writes for a received packet ([`Received`]), and the request to the device for a packet
//! to be sent ([`Offload`]). Rule: memory before a packet has arbitrary old contents, so metadata
//! is used only if its writer is known. `bpf/redirect` reads the attributes;
//! [`device`](crate::device) knows the abilities of drivers.
//!
//! ```no_run
//! use xsk::metadata::{Offload, checksum};
//! use xsk::{Interface, Umem};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let umem = Umem::builder().transmit_metadata(true).build()?;
//! let (mut tx, mut rx) = Interface::open("eth0")?.socket(0).umem(&umem).open()?.split();
//! rx.wait(std::time::Duration::from_secs(1))?;
//! for mut frame in rx.batch(64) {
//!     println!("{:?}", frame.received());
//!     if let Some(offload) = checksum::prepare(&mut frame) {
//!         frame.request(offload)?;
//!     }
//!     frame.request(Offload::Timestamp { number: 7 })?;
//!     tx.push(frame).map_err(|rejected| rejected.why)?;
//! }
//! for sent in tx.transmissions() {
//!     println!("{} at {:?}", sent.number, sent.timestamp_ns);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! On veth, which copies, Linux 6.18 writes the time (`CLOCK_TAI`) and completes checksums. With
//! zero copy the abilities that the device reports are available; other requests are rejected.

pub mod checksum;
mod offload;
mod received;
mod request;
mod transmitted;

pub(crate) use offload::Abilities;
pub use offload::{Offload, RequestError};
pub use received::{Clock, HashType, Received, Timestamp, Vlan};
pub(crate) use request::Request;
pub(crate) use transmitted::Transmissions;
pub use transmitted::Transmitted;
