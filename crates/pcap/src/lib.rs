//! `xway-pcap`: pcap and pcapng captures, read and written as streams, with the pcapng options that
//! XDP captures want (verdict, queue, packet id).
//!
//! Rule: any input yields packets or an [`Error`] with its position, in bounded memory (`limits`),
//! and equal calls write equal bytes. Not here: dissecting packets, opening files, capturing.
//!
//! ```
//! use pcap::{LinkType, Options, Packet, Reader, Writer};
//!
//! let mut writer = Writer::pcapng(Vec::new(), &Options::default())?;
//! let interface = writer.interface("eth0", LinkType::ETHERNET)?;
//! let data = vec![0; 60];
//! writer.write(&Packet { interface, data, verdict: Some(1), ..Packet::default() })?;
//!
//! let bytes = writer.finish()?;
//! for packet in Reader::new(&bytes[..])? {
//!     assert_eq!(packet?.verdict, Some(1));
//! }
//! # Ok::<(), pcap::Error>(())
//! ```
#![forbid(unsafe_code)]

mod classic;
mod error;
mod ethernet;
mod interface;
mod limits;
mod ng;
mod order;
mod packet;
mod reader;
mod source;
mod writer;

pub use error::{Error, Result};
pub use ethernet::{Framer, Framing, LinkPolicy, Unframed};
pub use interface::{Interface, LinkType};
pub use limits::{MAX_INTERFACES, MAX_PACKET};
pub use packet::{Packet, PacketRef};
pub use reader::{Format, Reader};
pub use writer::{Options, Resolution, Writer};
