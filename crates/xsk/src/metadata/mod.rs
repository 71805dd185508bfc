//! What is known of a packet, or asked for it, beside its bytes.
//!
//! Both stand in the frame, right in front of the packet: what the redirect program says of a
//! received one ([`Received`]), and what the device is asked to do with one to be sent
//! ([`Offload`]). Rule: memory in front of a packet holds whatever was there before, so nothing
//! in it is believed unless this crate knows who wrote it. Not here: how the program learns it
//! (`bpf/redirect`), which driver can do what ([`device`](crate::device)).
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
//! On veth, which copies, Linux 6.18 writes the time (`CLOCK_TAI`) and finishes checksums. With
//! zero copy the device does what it says it can; anything else is refused.

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
