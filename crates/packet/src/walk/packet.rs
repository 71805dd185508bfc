//! `IpPacket`: where the outermost IP packet of a frame has its parts.

use std::ops::Range;

use super::{Invalid, Limits, Next, Walk};
use crate::{EtherType, IpProtocol, checksum, word};

/// An IP packet; all offsets count from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket {
    /// Whether it is IPv6 rather than IPv4.
    pub is_ipv6: bool,
    /// Where the IP header begins.
    pub network: usize,
    /// Offset after the last header of IP.
    pub transport: usize,
    /// After the last byte of the packet; padding may follow. Without [`Limits::is_cut`] it is
    /// within the frame and not before `transport`.
    pub end: usize,
    /// Whether the header states the length; otherwise the packet ends with the frame.
    pub is_length_stated: bool,
    /// Protocol of the header at `transport`. In a later fragment, payload begins there.
    pub protocol: IpProtocol,
    /// Position in the original packet; default for a packet that is not a fragment.
    pub fragment: Fragment,
    /// Whether the destination address is the final one, which pseudo headers contain: not when a
    /// routing header lists further hops.
    pub is_destination_final: bool,
}

/// Which part of a packet a fragment is; the default is a whole packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// Offset in the original packet, in bytes.
    pub offset: u16,
    /// Whether further fragments follow (the flag MF).
    pub has_more: bool,
}

impl IpPacket {
    /// Finds the outermost IP packet. Transport headers are not checked.
    ///
    /// # Errors
    /// [`Invalid::NotIp`] for frames of other types; otherwise the error of the walk.
    pub fn find(frame: &[u8], limits: Limits) -> Result<Self, Invalid> {
        let mut walk = Walk::new(frame, limits);
        loop {
            if let Some(packet) = walk.ip_packet() {
                return Ok(packet);
            }
            // Also when the ARP packet is truncated: it is not a malformed IP packet.
            if matches!(walk.next, Next::Type(EtherType::ARP)) {
                return Err(Invalid::NotIp);
            }
            walk.next().ok_or(Invalid::NotIp)??;
        }
    }

    /// Source and destination address, one after the other.
    pub fn addresses(&self) -> Range<usize> {
        let (first, length) = if self.is_ipv6 { (8, 32) } else { (12, 8) };
        self.network + first..self.network + first + length
    }

    /// Offset of the transport's checksum, if the protocol is known to have one.
    pub fn checksum(&self) -> Option<usize> {
        self.protocol.checksum_offset().map(|offset| self.transport + offset)
    }

    /// Where the transport's payload begins, for TCP, UDP and ICMP.
    pub fn payload(&self, frame: &[u8]) -> Option<usize> {
        match self.protocol {
            IpProtocol::UDP | IpProtocol::ICMP | IpProtocol::ICMPV6 => Some(self.transport + 8),
            IpProtocol::TCP => {
                let words = frame.get(self.transport + 12)? >> 4;
                Some(self.transport + usize::from(words) * 4)
            }
            _ => None,
        }
    }

    /// The pseudo header's sum for a transport of `length` bytes, zero for ICMP over IPv4, which
    /// has none; `None` if the frame does not have the addresses.
    pub fn pseudo_header(&self, frame: &[u8], length: usize) -> Option<u64> {
        if self.protocol == IpProtocol::ICMP {
            return Some(0);
        }
        let addresses = frame.get(self.addresses())?;
        Some(checksum::pseudo_header(addresses, self.protocol, length))
    }

    /// Adds what an extension header states about the whole packet.
    pub(super) fn add(&mut self, kind: IpProtocol, extension: &[u8]) {
        match kind {
            IpProtocol::FRAGMENT => {
                let field = word(extension, 2).unwrap_or_default();
                self.fragment.offset |= field & 0xfff8;
                self.fragment.has_more |= field & 1 != 0;
            }
            // The fourth byte counts the segments left.
            IpProtocol::ROUTING => self.is_destination_final &= extension[3] == 0,
            _ => {}
        }
    }
}

impl Fragment {
    pub(super) const fn of_ipv4(field: u16) -> Self {
        Self { offset: (field & 0x1fff) << 3, has_more: field & 0x2000 != 0 }
    }

    /// Whether the packet is a fragment.
    pub const fn is_part(self) -> bool {
        self.has_more || self.is_later()
    }

    /// Whether it is not the first part: the transport header is in another packet.
    pub const fn is_later(self) -> bool {
        self.offset != 0
    }
}
