//! Builds frames with valid checksums, and checks those that arrive.
//!
//! ```
//! use lab::frame::{Flow, Side, check};
//!
//! let client = Side::new("02:78:77:00:00:03", "10.0.0.3", 4000)?;
//! let server = Side::new("02:78:77:00:00:01", "10.0.0.1", 7)?;
//! let frame = Flow::new(client, server).vlan(42).udp(b"hello")?;
//! assert_eq!(check(&frame), Ok(()));
//! # Ok::<(), lab::Error>(())
//! ```
//! Frames have no padding and no frame check sequence.

mod check;

use std::net::IpAddr;

use etherparse::{IpHeaders, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder, TcpHeader};
use etherparse::{PacketBuilderStep, ip_number};
use packet::{EtherType, IpPacket, Limits, Mac};

pub use crate::frame_error::FrameError;
pub use check::{ChecksumError, check};

use crate::error::Result;

/// One side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Ethernet address.
    pub mac: Mac,
    /// IPv4 or IPv6 address.
    pub ip: IpAddr,
    /// TCP or UDP port; not used for ICMP.
    pub port: u16,
}

/// Packets from one side to the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The side that sends.
    pub source: Side,
    /// The side that receives.
    pub destination: Side,
    /// VLAN tags, outermost first.
    pub tags: Vec<Tag>,
    /// Time to live or hop limit.
    pub ttl: u8,
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// 0x8100, or 0x88a8 for a provider's outer tag.
    pub ether_type: u16,
    /// Priority, drop bit and VLAN id.
    pub control: u16,
}

/// Which TCP flags a segment has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// Synchronize sequence numbers.
    pub syn: bool,
    /// The acknowledgment number is valid.
    pub ack: bool,
    /// The sender has no more data.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
}

impl Side {
    /// Parses a MAC address such as `02:78:77:00:00:03` and an IP address.
    ///
    /// # Errors
    /// [`FrameError::Mac`] or [`FrameError::Address`].
    pub fn new(mac: &str, ip: &str, port: u16) -> Result<Self> {
        let mac = mac.parse().map_err(FrameError::Mac)?;
        let ip = ip.parse().map_err(|_| FrameError::Address { text: ip.to_owned() })?;
        Ok(Self { mac, ip, port })
    }
}

impl Flow {
    /// Creates a flow without VLAN tags and with a TTL of 64.
    pub fn new(source: Side, destination: Side) -> Self {
        Self { source, destination, tags: Vec::new(), ttl: 64 }
    }

    /// Adds an innermost 802.1Q tag.
    #[must_use]
    pub fn vlan(mut self, id: u16) -> Self {
        self.tags.push(Tag { ether_type: EtherType::VLAN.0, control: id });
        self
    }

    /// Sets the time to live or hop limit.
    #[must_use]
    pub fn ttl(mut self, ttl: u8) -> Self {
        self.ttl = ttl;
        self
    }

    /// The opposite direction, with the same tags.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { source: self.destination, destination: self.source, ..self.clone() }
    }

    /// Builds a UDP frame.
    ///
    /// # Errors
    /// The addresses belong to different families, or the payload is too long.
    pub fn udp(&self, payload: &[u8]) -> Result<Vec<u8>> {
        let step = self.ip()?.udp(self.source.port, self.destination.port);
        let mut frame = Vec::with_capacity(step.size(payload.len()));
        step.write(&mut frame, payload).map_err(broken)?;
        Ok(self.tagged(frame))
    }

    /// Builds a UDP frame of exactly `length` bytes with a payload of zeros. Over IPv4 it has no
    /// UDP checksum, so that the payload can be changed without updating one.
    pub fn udp_of_length(&self, length: usize) -> Result<Vec<u8>> {
        let headers = self.udp(&[])?.len();
        let too_short = FrameError::TooShort { length };
        let payload = vec![0; length.checked_sub(headers).ok_or(too_short)?];
        let mut frame = self.udp(&payload)?;
        if let Some(ip) = IpPacket::find(&frame, Limits::default()).ok().filter(|ip| !ip.is_ipv6) {
            frame[ip.transport + 6..ip.transport + 8].fill(0);
        }
        Ok(frame)
    }

    /// Builds a TCP segment with the given sequence number; the acknowledgment number is 1.
    pub fn tcp(&self, flags: TcpFlags, sequence: u32, payload: &[u8]) -> Result<Vec<u8>> {
        let mut header = TcpHeader::new(self.source.port, self.destination.port, sequence, 64240);
        (header.syn, header.ack, header.fin, header.rst) =
            (flags.syn, flags.ack, flags.fin, flags.rst);
        header.acknowledgment_number = u32::from(flags.ack);
        let step = self.ip()?.tcp_header(header);
        let mut frame = Vec::with_capacity(step.size(payload.len()));
        step.write(&mut frame, payload).map_err(broken)?;
        Ok(self.tagged(frame))
    }

    /// Builds an echo request, ICMP or ICMPv6 according to the addresses.
    pub fn ping(&self, id: u16, sequence: u16, payload: &[u8]) -> Result<Vec<u8>> {
        let mut frame = Vec::new();
        if self.source.ip.is_ipv4() {
            let step = self.ip()?.icmpv4_echo_request(id, sequence);
            step.write(&mut frame, payload).map_err(broken)?;
        } else {
            let step = self.ip()?.icmpv6_echo_request(id, sequence);
            step.write(&mut frame, payload).map_err(broken)?;
        }
        Ok(self.tagged(frame))
    }

    fn ip(&self) -> Result<PacketBuilderStep<IpHeaders>> {
        let ethernet = PacketBuilder::ethernet2(self.source.mac.0, self.destination.mac.0);
        let header = match (self.source.ip, self.destination.ip) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                // Length, protocol and checksum are filled in when the payload is known.
                let header =
                    Ipv4Header::new(0, self.ttl, ip_number::UDP, from.octets(), to.octets());
                IpHeaders::Ipv4(header.map_err(broken)?, Default::default())
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let header = Ipv6Header {
                    traffic_class: 0,
                    flow_label: Ipv6FlowLabel::ZERO,
                    payload_length: 0,
                    next_header: ip_number::UDP,
                    hop_limit: self.ttl,
                    source: from.octets(),
                    destination: to.octets(),
                };
                IpHeaders::Ipv6(header, Default::default())
            }
            (from, to) => return Err(FrameError::MixedFamilies { from, to }.into()),
        };
        Ok(ethernet.ip(header))
    }

    fn tagged(&self, mut frame: Vec<u8>) -> Vec<u8> {
        let tags = self.tags.iter().flat_map(|tag| {
            let [a, b] = tag.ether_type.to_be_bytes();
            let [c, d] = tag.control.to_be_bytes();
            [a, b, c, d]
        });
        frame.splice(12..12, tags);
        frame
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> FrameError {
    FrameError::Header(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn flow(ipv6: bool) -> Flow {
        let (from, to) = if ipv6 { ("fd00::3", "fd00::1") } else { ("10.0.0.3", "10.0.0.1") };
        let from = Side::new("02:78:77:00:00:03", from, 4000).unwrap();
        Flow::new(from, Side::new("02:78:77:00:00:01", to, 7).unwrap())
    }

    #[test]
    fn frames_of_all_kinds_are_right() {
        let syn = TcpFlags { syn: true, ..TcpFlags::default() };
        for ipv6 in [false, true] {
            for tags in 0..=4 {
                let flow = (0..tags).fold(flow(ipv6), |flow, id| flow.vlan(100 + id));
                for (name, frame) in [
                    ("udp", flow.udp(b"odd").unwrap()),
                    ("tcp", flow.tcp(syn, 7, b"").unwrap()),
                    ("ping", flow.ping(1, 2, b"payload").unwrap()),
                    ("sized", flow.udp_of_length(90).unwrap()),
                ] {
                    assert_eq!(check(&frame), Ok(()), "{name}, ipv6 {ipv6}, {tags} tags");
                }
                assert_eq!(flow.udp_of_length(90).unwrap().len(), 90);
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let mut mixed = flow(false);
        mixed.destination.ip = "fd00::1".parse().unwrap();
        let refused = |result: Result<Vec<u8>>| match result.unwrap_err() {
            Error::Frame(cause) => cause,
            other => panic!("{other}"),
        };
        assert!(matches!(refused(mixed.udp(b"")), FrameError::MixedFamilies { .. }));
        let short = refused(flow(false).udp_of_length(41));
        assert!(matches!(short, FrameError::TooShort { length: 41 }));
        assert_eq!(flow(false).udp_of_length(42).unwrap().len(), 42);
        assert!(Side::new("02:00", "10.0.0.1", 1).is_err());
        assert!(Side::new("02:78:77:00:00:03", "10.0.0", 1).is_err());
    }
}
