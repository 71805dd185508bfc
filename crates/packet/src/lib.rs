//! The vocabulary of packets: addresses, prefixes, protocol numbers, checksums, and one walk over
//! the headers of a frame.
//!
//! Rule: text is parsed once, here, into values that can only be right; any bytes can be walked,
//! and every loop over them has a limit that [`Limits`] states. Not here: rules made of these
//! values, building frames, the fields of each header.
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
mod error;
mod ether_type;
mod hex;
mod ip_protocol;
mod mac;
mod prefix;
mod walk;

pub use address_prefix::AddressPrefix;
pub use error::ParseError;
pub use ether_type::EtherType;
pub use hex::hex;
pub use ip_protocol::IpProtocol;
pub use mac::Mac;
pub use prefix::{Prefix, mask4, mask6, network_contains};
pub use walk::{Fragment, Header, Invalid, IpPacket, Layer, Limits, Walk};

/// The big-endian 16-bit word at `at`; `None` unless both bytes are there.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
