//! The packets of checks: IP with TCP, UDP or an echo request, built and read.
//!
//! Rule: what is read comes from the network. Whatever is not a whole packet of a kind that a check
//! expects is none; lengths are checked before bytes are used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::{IpProtocol, checksum, word};

/// The two addresses of a check, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// This host.
    pub own: IpAddr,
    /// The service.
    pub service: IpAddr,
}

/// A packet that may belong to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'p> {
    pub from: IpAddr,
    pub to: IpAddr,
    pub kind: Kind<'p>,
}

/// What is in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'p> {
    Tcp(Segment<'p>),
    Udp {
        source: u16,
        dest: u16,
        payload: &'p [u8],
    },
    Reply {
        identifier: u16,
        sequence: u16,
        payload: &'p [u8],
    },
    /// An ICMP error reports that a packet cannot be delivered, which had these addresses, this
    /// protocol, and these first four or eight bytes of the transport.
    Unreachable {
        from: IpAddr,
        to: IpAddr,
        protocol: u8,
        transport: &'p [u8],
    },
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'p> {
    pub source: u16,
    pub dest: u16,
    pub sequence: u32,
    pub acknowledged: u32,
    pub flags: u8,
    pub payload: &'p [u8],
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

impl<'p> Received<'p> {
    /// Reads an IP packet.
    #[must_use]
    pub fn read(packet: &'p [u8]) -> Option<Self> {
        let (from, to, protocol, transport) = read_ip(packet, true)?;
        let kind = match IpProtocol(protocol) {
            IpProtocol::TCP => Kind::Tcp(Segment::read(transport)?),
            IpProtocol::UDP => Kind::Udp {
                source: word(transport, 0)?,
                dest: word(transport, 2)?,
                payload: transport.get(8..usize::from(word(transport, 4)?))?,
            },
            IpProtocol::ICMP | IpProtocol::ICMPV6 => read_icmp(transport, from.is_ipv6())?,
            _ => return None,
        };
        Some(Self { from, to, kind })
    }

    /// By which its check is known: protocol, and own port or identifier.
    #[must_use]
    pub fn key(&self) -> Option<(IpProtocol, u16)> {
        match self.kind {
            Kind::Tcp(segment) => Some((IpProtocol::TCP, segment.dest)),
            Kind::Udp { dest, .. } => Some((IpProtocol::UDP, dest)),
            Kind::Reply { identifier, .. } => Some((IpProtocol::ICMP, identifier)),
            Kind::Unreachable { protocol, transport, .. } => match IpProtocol(protocol) {
                IpProtocol::ICMP | IpProtocol::ICMPV6 => {
                    Some((IpProtocol::ICMP, word(transport, 4)?))
                }
                protocol => Some((protocol, word(transport, 0)?)),
            },
        }
    }
}

impl<'p> Segment<'p> {
    fn read(bytes: &'p [u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let header = usize::from(*bytes.get(12)? >> 4) * 4;
        if header < 20 {
            return None;
        }
        Some(Self {
            source: word(bytes, 0)?,
            dest: word(bytes, 2)?,
            sequence: number(4)?,
            acknowledged: number(8)?,
            flags: *bytes.get(13)?,
            payload: bytes.get(header..)?,
        })
    }

    /// The whole packet.
    #[must_use]
    pub fn packet(&self, ends: Ends) -> Vec<u8> {
        let options: &[u8] = if self.flags & SYN == 0 { &[] } else { &MSS };
        let mut bytes = [self.source.to_be_bytes(), self.dest.to_be_bytes()].concat();
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledged.to_be_bytes());
        bytes.extend([(((20 + options.len()) / 4) << 4) as u8, self.flags]);
        bytes.extend(WINDOW.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.extend(self.payload);
        ip(ends, IpProtocol::TCP, bytes, 16)
    }
}

/// A UDP datagram.
#[must_use]
pub fn datagram(ends: Ends, source: u16, dest: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut bytes = [source.to_be_bytes(), dest.to_be_bytes(), length.to_be_bytes()].concat();
    bytes.extend([0; 2]);
    bytes.extend(payload);
    ip(ends, IpProtocol::UDP, bytes, 6)
}

/// An echo request.
#[must_use]
pub fn echo(ends: Ends, identifier: u16, sequence: u16, payload: &[u8]) -> Vec<u8> {
    let (kind, protocol) = match ends.own {
        IpAddr::V4(_) => (8, IpProtocol::ICMP),
        IpAddr::V6(_) => (128, IpProtocol::ICMPV6),
    };
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend(identifier.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(payload);
    ip(ends, protocol, bytes, 2)
}

/// Adds the IP header to a transport, whose checksum is at this offset.
fn ip(ends: Ends, protocol: IpProtocol, mut transport: Vec<u8>, at: usize) -> Vec<u8> {
    let (mut packet, addresses) = match (ends.own, ends.service) {
        (IpAddr::V4(own), IpAddr::V4(service)) => {
            let addresses = [own.octets(), service.octets()].concat();
            let mut ip = vec![0x45, 0];
            ip.extend(((20 + transport.len()) as u16).to_be_bytes());
            ip.extend([0, 0, 0x40, 0, TTL, protocol.0, 0, 0]);
            ip.extend(&addresses);
            let sum = !checksum::fold(checksum::sum(&ip));
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            (ip, addresses)
        }
        (own, service) => {
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            let addresses = [octets(own), octets(service)].concat();
            let mut ip = vec![0x60, 0, 0, 0];
            ip.extend((transport.len() as u16).to_be_bytes());
            ip.extend([protocol.0, TTL]);
            ip.extend(&addresses);
            (ip, addresses)
        }
    };
    // ICMP has no pseudo header.
    let pseudo = match protocol {
        IpProtocol::ICMP => 0,
        _ => checksum::pseudo_header(&addresses, protocol, transport.len()),
    };
    let sum = !checksum::fold(pseudo + checksum::sum(&transport));
    let sum = if sum == 0 && protocol == IpProtocol::UDP { u16::MAX } else { sum };
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    packet.extend(transport);
    packet
}

/// Addresses, protocol and transport of a packet that is not a fragment and has no extension
/// headers; one that is quoted may be cut.
fn read_ip(packet: &[u8], is_whole: bool) -> Option<(IpAddr, IpAddr, u8, &[u8])> {
    let (header, total, protocol) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            if header < 20 || word(packet, 6)? & 0x3fff != 0 {
                return None;
            }
            (header, usize::from(word(packet, 2)?), *packet.get(9)?)
        }
        6 => (40, 40 + usize::from(word(packet, 4)?), *packet.get(6)?),
        _ => return None,
    };
    let (from, to) = if header == 40 && packet[0] >> 4 == 6 {
        let address = |at: usize| packet.get(at..)?.first_chunk::<16>().copied();
        (Ipv6Addr::from(address(8)?).into(), Ipv6Addr::from(address(24)?).into())
    } else {
        let address = |at: usize| packet.get(at..)?.first_chunk::<4>().copied();
        (Ipv4Addr::from(address(12)?).into(), Ipv4Addr::from(address(16)?).into())
    };
    let end = if is_whole { total } else { total.min(packet.len()) };
    Some((from, to, protocol, packet.get(header..end)?))
}

fn read_icmp(bytes: &[u8], is_ipv6: bool) -> Option<Kind<'_>> {
    let (kind, code) = (*bytes.first()?, *bytes.get(1)?);
    let (reply, unreachable, too_big) =
        if is_ipv6 { (129, 1, None) } else { (0, 3, Some(FRAGMENTATION_NEEDED)) };
    if kind == reply {
        let (identifier, sequence) = (word(bytes, 4)?, word(bytes, 6)?);
        return Some(Kind::Reply { identifier, sequence, payload: bytes.get(8..)? });
    }
    if kind != unreachable || Some(code) == too_big {
        return None;
    }
    let (from, to, protocol, transport) = read_ip(bytes.get(8..)?, false)?;
    Some(Kind::Unreachable { from, to, protocol, transport: transport.get(..8)? })
}

/// ICMP code of "fragmentation needed", which is not about whether a host answers.
const FRAGMENTATION_NEEDED: u8 = 4;
const TTL: u8 = 64;
/// Window of bytes, without scaling: enough for the first line of a response.
const WINDOW: u16 = 4096;
/// The option "maximum segment size", 1220: fits into any path of IPv6.
const MSS: [u8; 4] = [2, 4, 4, 196];
