//! What is known of a packet, or asked for it, beside its bytes.
//!
//! Both stand in the frame, right in front of the packet: what the redirect program says of a
//! received one ([`Received`]), and what the device is asked to do with one to be sent
//! ([`Offload`]). Rule: memory in front of a packet holds whatever was there before, so nothing
//! in it is believed unless this crate knows who wrote it. Not here: how the program learns it
//! (`bpf/redirect`), which driver can do what ([`device`](crate::device)).

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
