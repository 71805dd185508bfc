//! One walk over the headers of an Ethernet frame: VLAN tags, ARP, IPv4, IPv6 with extension
//! headers, fragments and transports.
//!
//! Rule: with default [`Limits`], [`IpPacket::find`] finds the same packet and errors as
//! `bpf/include/xway/parse.h`. A header is a layer when its fixed part is there and its version is
//! right; lengths that contradict each other are an error after that layer. No walk reads more
//! headers than the limits add up to, and no header is longer than 2048 bytes.
//! Not here: packets inside tunnels, which the filter and the dissector walk by rules of their own.

mod ip;
mod packet;
mod transport;

#[cfg(test)]
mod tests;

use super::{EtherType, IpProtocol, word};

pub use packet::{Fragment, IpPacket};

/// What a walk accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of VLAN tags.
    pub tags: usize,
    /// EtherTypes that are VLAN tags.
    pub tag_types: &'static [EtherType],
    /// Number of IPv6 extension headers.
    pub extensions: usize,
    /// Whether the bytes may be only the beginning of the frame: an IP packet may then end after
    /// them, a length of zero, which segmentation offload writes, ends with them, and headers are
    /// walked to the last byte, whatever length is stated.
    pub is_cut: bool,
}

impl Default for Limits {
    /// Limits of the BPF programs, for whole frames: 4 tags of 802.1Q and 802.1ad, 8 extensions.
    fn default() -> Self {
        let tag_types = &[EtherType::VLAN, EtherType::SERVICE_VLAN];
        Self { tags: 4, tag_types, extensions: 8, is_cut: false }
    }
}

/// A header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub header: Header,
    /// Offset of its first byte in the frame.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
}

/// Kinds of headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Addresses and the first EtherType.
    Ethernet,
    /// One VLAN tag with the EtherType after it.
    Vlan,
    Arp,
    Ipv4,
    Ipv6,
    /// An IPv6 extension header with this number.
    Extension(IpProtocol),
    /// The header after those of IP, of a protocol whose length is known.
    Transport(IpProtocol),
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("the packet ends within a header, or the frame within the packet")]
    Truncated,
    #[error("a header has a wrong version or contradictory lengths")]
    BadHeader,
    #[error("too many VLAN tags")]
    TooManyTags,
    #[error("too many IPv6 extension headers")]
    TooManyExtensions,
    /// Only of [`IpPacket::find`].
    #[error("not an IP packet")]
    NotIp,
}

/// The layers of a frame, outermost first. Ends at the first byte that is payload or unknown; an
/// error is the last item.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    frame: &'a [u8],
    limits: Limits,
    next: Next,
    /// Where the next header begins.
    at: usize,
    /// Where the packet ends that the next header belongs to.
    end: usize,
    tags: usize,
    extensions: usize,
    ip: Option<IpPacket>,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Ethernet,
    Type(EtherType),
    Extension(IpProtocol),
    Transport(IpProtocol),
    Failed(Invalid),
    Payload,
}

impl<'a> Walk<'a> {
    pub fn new(frame: &'a [u8], limits: Limits) -> Self {
        let (next, end) = (Next::Ethernet, frame.len());
        Self { frame, limits, next, at: 0, end, tags: 0, extensions: 0, ip: None }
    }

    /// The IP packet whose headers were walked; `None` before the last of them.
    pub fn ip_packet(&self) -> Option<IpPacket> {
        self.ip.filter(|_| matches!(self.next, Next::Transport(_)))
    }

    fn ethernet(&mut self) -> Result<Layer, Invalid> {
        let header = self.take(14)?;
        self.next = Next::Type(type_at(header, 12));
        Ok(self.layer(Header::Ethernet, header.len()))
    }

    fn vlan(&mut self) -> Result<Layer, Invalid> {
        if self.tags == self.limits.tags {
            return Err(Invalid::TooManyTags);
        }
        let tag = self.take(4)?;
        self.tags += 1;
        self.next = Next::Type(type_at(tag, 2));
        Ok(self.layer(Header::Vlan, tag.len()))
    }

    fn arp(&mut self) -> Result<Layer, Invalid> {
        let fixed = self.take(8)?;
        // Two hardware and two protocol addresses, of the lengths that the header states.
        let addresses = self.take(2 * (usize::from(fixed[4]) + usize::from(fixed[5])))?;
        self.next = Next::Payload;
        Ok(self.layer(Header::Arp, fixed.len() + addresses.len()))
    }

    /// The layer of the `length` bytes that were just taken.
    fn layer(&self, header: Header, length: usize) -> Layer {
        Layer { header, start: self.at - length, end: self.at }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Invalid> {
        let bytes = self.peek(length)?;
        self.at += length;
        Ok(bytes)
    }

    fn peek(&self, length: usize) -> Result<&'a [u8], Invalid> {
        let end = self.at + length;
        self.frame.get(self.at..end).filter(|_| end <= self.end).ok_or(Invalid::Truncated)
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Layer, Invalid>;

    fn next(&mut self) -> Option<Self::Item> {
        let layer = match self.next {
            Next::Ethernet => self.ethernet(),
            Next::Type(kind) if self.limits.tag_types.contains(&kind) => self.vlan(),
            Next::Type(EtherType::ARP) => self.arp(),
            Next::Type(EtherType::IPV4) => self.ipv4(),
            Next::Type(EtherType::IPV6) => self.ipv6(),
            Next::Extension(protocol) => self.extension(protocol),
            Next::Transport(protocol) => self.transport(protocol)?,
            Next::Failed(why) => Err(why),
            Next::Type(_) | Next::Payload => return None,
        };
        if layer.is_err() {
            self.next = Next::Payload;
        }
        Some(layer)
    }
}

fn type_at(header: &[u8], at: usize) -> EtherType {
    EtherType(word(header, at).unwrap_or_default())
}
