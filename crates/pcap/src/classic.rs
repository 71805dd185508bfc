//! Reading pcap: one header, one interface, then packets one after another.
//!
//! Layout: draft-ietf-opsawg-pcap, sections 4 and 5. Not here: writing (`writer::classic`).
//!
//! ```text
//! header  magic:32 major:16 minor:16 reserved:64 snaplen:32 link:32    (24 bytes)
//! record  seconds:32 fraction:32 captured:32 original:32 data          (16 bytes and data)
//! ```
//!
//! Versions before 2.3 have the two lengths in the other order, and files of version 2.3 have them
//! in either. A packet is never longer than it was, so there the smaller one is what was captured.

use std::io::Read;

use crate::error::{Error, Result};
use crate::interface::{Interface, LinkType};
use crate::limits::MAX_PACKET;
use crate::order::Order;
use crate::packet::Packet;
use crate::source::Source;

pub(crate) const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
pub(crate) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// The version that is written; all minor versions up to it are read.
pub(crate) const VERSION: (u16, u16) = (2, 4);
const HEADER: usize = 24;
const RECORD: usize = 16;
/// Bits of the link field that must be zero: the rest is the link type and the length of the FCS.
const RESERVED: u32 = 0x0bff_0000;

/// Properties of all records, from the file header.
#[derive(Debug)]
pub(crate) struct Classic {
    order: Order,
    fraction_ns: u64,
    lengths: Lengths,
}

/// Which length of a record comes first.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    SmallerIsCaptured,
}

impl Lengths {
    /// What was captured and the original length.
    fn of(self, [first, second]: [u32; 2]) -> (u32, u32) {
        match self {
            Self::CapturedFirst => (first, second),
            Self::OriginalFirst => (second, first),
            Self::SmallerIsCaptured => (first.min(second), first.max(second)),
        }
    }
}

impl Classic {
    /// Reads the header.
    pub fn open<R: Read>(source: &mut Source<R>) -> Result<(Self, Interface)> {
        let start = source.peek(4)?;
        if start.len() < 4 {
            let found = format!("it has {} bytes", start.len());
            return Err(Error::NotCapture { found });
        }
        let magic = [Order::Little, Order::Big].map(|order| order.u32(start, 0));
        let (order, fraction_ns) = match magic {
            [MAGIC_MICRO, _] => (Order::Little, 1000),
            [MAGIC_NANO, _] => (Order::Little, 1),
            [_, MAGIC_MICRO] => (Order::Big, 1000),
            [_, MAGIC_NANO] => (Order::Big, 1),
            _ => return Err(stranger(start, magic)),
        };
        let header = source.whole(HEADER)?;
        let lengths = lengths(order, header)?;
        let interface = interface(order, header)?;
        source.consume(HEADER);
        Ok((Self { order, fraction_ns, lengths }, interface))
    }

    /// Reads the next record into `packet`; `false` at the end of the file.
    pub fn next_into<R: Read>(&self, source: &mut Source<R>, packet: &mut Packet) -> Result<bool> {
        if source.peek(1)?.is_empty() {
            return Ok(false);
        }
        let offset = source.offset();
        let header = source.whole(RECORD)?;
        let (captured, original) = self.lengths.of([8, 12].map(|at| self.order.u32(header, at)));
        if captured as usize > MAX_PACKET {
            let (size, limit) = (captured.into(), MAX_PACKET as u64);
            return Err(Error::TooBig { offset, what: "packet", size, limit });
        }
        let len = RECORD + captured as usize;
        let (header, data) = source.whole(len)?.split_at(RECORD);
        let field = |at| self.order.u32(header, at);
        packet.clear();
        // The fraction may be a second or more: some writers never carried it over.
        packet.timestamp_ns =
            u64::from(field(0)) * 1_000_000_000 + u64::from(field(4)) * self.fraction_ns;
        packet.fill(data, original);
        source.consume(len);
        Ok(true)
    }
}

fn lengths(order: Order, header: &[u8]) -> Result<Lengths> {
    match (order.u16(header, 4), order.u16(header, 6)) {
        VERSION => Ok(Lengths::CapturedFirst),
        (2, 3) => Ok(Lengths::SmallerIsCaptured),
        (2, 0..3) => Ok(Lengths::OriginalFirst),
        (major, minor) => {
            let what = format!("pcap version {major}.{minor}; versions 2.0 to 2.4 are read");
            Err(Error::unsupported(4, what))
        }
    }
}

fn interface(order: Order, header: &[u8]) -> Result<Interface> {
    let link = order.u32(header, 20);
    if link & RESERVED != 0 {
        return Err(Error::damaged(20, format!("link type {link:#010x} has reserved bits")));
    }
    let (link_type, snaplen) = (LinkType(link as u16), order.u32(header, 16));
    Ok(Interface { link_type, snaplen, ..Interface::default() })
}

/// Describes a file that is not a supported capture.
fn stranger(start: &[u8], magic: [u32; 2]) -> Error {
    let variants = [
        (0xa1b2_cd34, "a \"modified\" pcap file, as patched libpcaps of the 1990s wrote them"),
        (0x1c00_01ac, "a pcap file of an IXIA hardware capture"),
        (0x1c00_01ab, "a pcap file of an IXIA software capture"),
    ];
    if let Some((_, name)) = variants.iter().find(|(number, _)| magic.contains(number)) {
        let what = format!("{name}; convert it with `editcap -F pcapng`");
        return Error::unsupported(0, what);
    }
    let found = match start {
        [0x1f, 0x8b, ..] => "it is compressed; unpack it with `gunzip`".into(),
        [0x28, 0xb5, 0x2f, 0xfd] => "it is compressed; unpack it with `unzstd`".into(),
        [0xfd, b'7', b'z', b'X'] => "it is compressed; unpack it with `unxz`".into(),
        _ => format!("it starts with {start:02x?}"),
    };
    Error::NotCapture { found }
}
