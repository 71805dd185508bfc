//! `xway-packet`: addresses, prefixes, protocol numbers, checksums, a parser that walks over the
//! headers of a frame, a dissection of a frame into named fields, and quantities such as rates.
//!
//! Rule: text is parsed once, here, into types that only hold valid values. A walk accepts any
//! bytes, and [`Limits`] bounds each of its loops. Not here: rules made of these values, building
//! frames.
//!
//! The feature `serde` lets addresses and prefixes be serialized as text. ARCHITECTURE.md shows the
//! place of the crate in the workspace.
//!
//! ```
//! use packet::{EtherType, IpPacket, IpProtocol, Limits, Mac, Prefix};
//!
//! let gateway: Mac = "02:00:5e:10:00:01".parse()?;
//! let network: Prefix = "10.1.0.0/16".parse()?;
//! assert!(network.contains([10, 1, 2, 3].into()));
//!
//! let mut frame = [gateway.0, gateway.0].concat();
//! frame.extend(EtherType::IPV4.0.to_be_bytes());
//! frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 2, 3, 10, 1, 2, 4]);
//! frame.extend([0, 53, 0, 53, 0, 8, 0, 0]);
//! let ip = IpPacket::find(&frame, Limits::default()).unwrap();
//! assert_eq!((ip.protocol, ip.transport), (IpProtocol::UDP, 34));
//! # Ok::<(), packet::ParseError>(())
//! ```
#![forbid(unsafe_code)]

mod address_prefix;
pub mod checksum;
pub mod dissect;
mod error;
mod ether_type;
pub mod header_len;
mod hex;
mod ip_protocol;
mod mac;
mod port;
mod prefix;
pub mod quantity;
mod siphash;
pub mod tcp_flag;
mod vlan_tag;
mod walk;

pub use address_prefix::AddressPrefix;
pub use error::ParseError;
pub use ether_type::EtherType;
pub use hex::hex;
pub use ip_protocol::IpProtocol;
pub use mac::Mac;
pub use port::Port;
pub use prefix::{Prefix, mask4, mask6, network_contains};
pub use siphash::{SipHash, siphash};
pub use vlan_tag::VlanTag;
pub use walk::{Fragment, Header, Invalid, IpPacket, Layer, Limits, Walk};

/// The big-endian 16-bit word at `at`; `None` unless both bytes are there.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
