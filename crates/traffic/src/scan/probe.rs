//! `Probe`: a frame, and where in it each target and its cookie are written.
//!
//! [`Probe::render`] is the model of `bpf/scan/probe.h` in plain Rust.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use packet::{IpPacket, IpProtocol, Limits, checksum};

use super::abi::Layout;
use super::{Cookies, Error};

/// The frame of all probes of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What varies is zero.
    bytes: Vec<u8>,
    /// Offsets of the IP header, and of the end of the packet.
    ip: usize,
    end: usize,
    is_ipv6: bool,
    transport: Transport,
    ports: RangeInclusive<u16>,
}

/// Offsets in the frame of what varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transport {
    protocol: IpProtocol,
    begin: usize,
    source_port: Option<usize>,
    port: Option<usize>,
    cookie: Option<usize>,
    check: usize,
}

impl Probe {
    /// Probes with the bytes of a frame: an IP packet with TCP, UDP, or an echo request. Source
    /// ports are chosen by the cookie.
    ///
    /// # Errors
    /// [`Error::Frame`] for other frames.
    pub fn new(mut bytes: Vec<u8>, ports: RangeInclusive<u16>) -> Result<Self, Error> {
        let packet = IpPacket::find(&bytes, Limits::default())
            .map_err(|_| Error::Frame { reason: "it is not an IP packet" })?;
        if packet.fragment.is_part() || !packet.is_destination_final {
            return Err(Error::Frame { reason: "it is a fragment, or has a routing header" });
        }
        let transport = Transport::of(&packet)
            .filter(|transport| transport.begin + MIN_TRANSPORT <= packet.end)
            .ok_or(Error::Frame { reason: "it has no place for a cookie: use TCP, UDP or echo" })?;
        let (ip, end, is_ipv6) = (packet.network, packet.end, packet.is_ipv6);
        let addresses = packet.addresses();
        let destination = addresses.start + addresses.len() / 2..addresses.end;
        bytes[destination].fill(0);
        if !is_ipv6 {
            bytes[ip + ID4..][..2].fill(0);
            bytes[ip + CHECK4..][..2].fill(0);
        }
        transport.places().for_each(|place| bytes[place].fill(0));
        Ok(Self { bytes, ip, end, is_ipv6, transport, ports })
    }

    /// The frame without targets.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether targets have IPv6 addresses.
    pub const fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// The source address of all probes.
    pub fn source(&self) -> IpAddr {
        match self.is_ipv6 {
            true => self.address::<16>(8).into(),
            false => self.address::<4>(12).into(),
        }
    }

    /// Ports that probes come from.
    pub const fn ports(&self) -> &RangeInclusive<u16> {
        &self.ports
    }

    /// The protocol of the probes.
    pub const fn protocol(&self) -> IpProtocol {
        self.transport.protocol
    }

    fn address<const N: usize>(&self, offset: usize) -> [u8; N] {
        *self.bytes[self.ip + offset..].first_chunk().expect("the IP header has addresses")
    }

    /// The probe for a target.
    ///
    /// # Panics
    /// The target is not of the family of the probe.
    pub fn render(&self, cookies: &Cookies, target: SocketAddr) -> Vec<u8> {
        assert_eq!(target.is_ipv6(), self.is_ipv6, "targets are of the family of the probe");
        let (cookie, mut bytes) = (cookies.of(target), self.bytes.clone());
        match target.ip() {
            IpAddr::V6(address) => put(&mut bytes, self.ip + DEST6, &address.octets()),
            IpAddr::V4(address) => {
                put(&mut bytes, self.ip + DEST4, &address.octets());
                put(&mut bytes, self.ip + ID4, &cookie.identification().to_le_bytes());
                let header = &bytes[self.ip..self.ip + self.ip_len()];
                let check = !checksum::fold(checksum::sum(header));
                put(&mut bytes, self.ip + CHECK4, &check.to_be_bytes());
            }
        }
        let Transport { port, source_port, cookie: place, check, .. } = self.transport;
        if let Some(port) = port {
            put(&mut bytes, port, &target.port().to_be_bytes());
        }
        if let Some(source_port) = source_port {
            let count = u32::from(self.ports.end() - self.ports.start()) + 1;
            let chosen = self.ports.start() + ((u32::from(cookie.port()) * count) >> 16) as u16;
            put(&mut bytes, source_port, &chosen.to_be_bytes());
        }
        if let Some(place) = place {
            put(&mut bytes, place, &cookie.sequence().to_le_bytes());
        }
        let sum = !checksum::fold(self.sum(&bytes));
        let sum = if sum == 0 && self.transport.protocol == IpProtocol::UDP { 0xffff } else { sum };
        put(&mut bytes, check, &sum.to_be_bytes());
        bytes
    }

    /// Where the program writes what.
    pub(super) fn layout(&self) -> Layout {
        let Transport { port, source_port, cookie, check, protocol, .. } = self.transport;
        let place = |place: Option<usize>| place.unwrap_or(0) as u16;
        let sum = |sum: u64| u32::from(checksum::fold(sum).to_be());
        let header = if self.is_ipv6 { 0 } else { self.ip_len() };
        Layout {
            ip: self.ip as u16,
            port: place(port),
            source_port: place(source_port),
            cookie: place(cookie),
            check: check as u16,
            first_port: *self.ports.start(),
            port_count: u32::from(self.ports.end() - self.ports.start()) + 1,
            is_ipv6: self.is_ipv6.into(),
            has_pseudo: (protocol != IpProtocol::ICMP).into(),
            is_udp: (protocol == IpProtocol::UDP).into(),
            ip_sum: sum(checksum::sum(&self.bytes[self.ip..self.ip + header])),
            sum: sum(self.sum(&self.bytes)),
            frame_bytes: self.bytes.len() as u32,
            ..Layout::default()
        }
    }

    /// The sum that the transport's checksum is made from.
    fn sum(&self, bytes: &[u8]) -> u64 {
        let transport = &bytes[self.transport.begin..self.end];
        let addresses = match self.is_ipv6 {
            true => &bytes[self.ip + 8..self.ip + 40],
            false => &bytes[self.ip + 12..self.ip + 20],
        };
        let protocol = self.transport.protocol;
        let pseudo = match protocol {
            IpProtocol::ICMP => 0,
            _ => checksum::pseudo_header(addresses, protocol, transport.len()),
        };
        checksum::sum(transport) + pseudo
    }

    /// Bytes of the IPv4 header.
    fn ip_len(&self) -> usize {
        usize::from(self.bytes[self.ip] & 0xf) * 4
    }
}

impl Transport {
    /// `None` where no answer returns a cookie.
    fn of(packet: &IpPacket) -> Option<Self> {
        let (begin, protocol) = (packet.transport, packet.protocol);
        let check = packet.checksum()?;
        let (source_port, port) = (Some(begin), Some(begin + 2));
        let of = Self { protocol, begin, source_port, port, cookie: None, check };
        match protocol {
            // The sequence number.
            IpProtocol::TCP => Some(Self { cookie: Some(begin + 4), ..of }),
            IpProtocol::UDP => Some(of),
            // Identification and sequence number of an echo request.
            IpProtocol::ICMP | IpProtocol::ICMPV6 => {
                Some(Self { source_port: None, port: None, cookie: Some(begin + 4), ..of })
            }
            _ => None,
        }
    }

    fn places(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let ports = [self.source_port, self.port].into_iter().flatten().map(|at| at..at + 2);
        let cookie = self.cookie.into_iter().map(|at| at..at + 4);
        ports.chain(cookie).chain(std::iter::once(self.check..self.check + 2))
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

const ID4: usize = 4;
const CHECK4: usize = 10;
const DEST4: usize = 16;
const DEST6: usize = 24;
/// Bytes of a UDP header and of an echo request, the shortest transports.
const MIN_TRANSPORT: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::super::fixture::{FAMILIES, PROTOCOLS, frame};
    use super::*;

    #[test]
    fn probes_are_valid_packets_to_their_target() {
        for is_ipv6 in FAMILIES {
            for protocol in PROTOCOLS {
                let probe = Probe::new(frame(protocol, is_ipv6), 32_768..=60_999).unwrap();
                let cookies = Cookies::new(Key::from_seed(1), probe.source());
                for last in 0..200_u8 {
                    let ip: IpAddr = match is_ipv6 {
                        true => [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, last].into(),
                        false => [192, 0, 2, last].into(),
                    };
                    let target = SocketAddr::new(ip, 443);
                    let frame = probe.render(&cookies, target);
                    let packet = IpPacket::find(&frame, Limits::default()).unwrap();
                    let transport = &frame[packet.transport..packet.end];
                    let pseudo = packet.pseudo_header(&frame, transport.len()).unwrap();
                    assert!(checksum::is_valid(checksum::sum(transport) + pseudo));
                    if !is_ipv6 {
                        assert!(checksum::is_valid(checksum::sum(&frame[14..packet.transport])));
                    }
                    let addresses = &frame[packet.addresses()];
                    let to = &addresses[addresses.len() / 2..];
                    assert_eq!(to.last(), Some(&last));
                    if probe.transport.port.is_some() {
                        let ports = transport.as_chunks().0;
                        let [source, port] = [0, 1].map(|at| u16::from_be_bytes(ports[at]));
                        assert!(port == 443 && (32_768..=60_999).contains(&source), "{source}");
                    }
                }
            }
        }
    }

    #[test]
    fn frames_without_a_place_for_a_cookie() {
        let mut gre = frame(PROTOCOLS[0].clone(), false);
        gre[14 + 9] = 47;
        let mut fragment = frame(PROTOCOLS[0].clone(), false);
        fragment[14 + 6] = 0x20;
        for (frame, reason) in [
            (vec![0; 60], "not an IP packet"),
            (gre, "no place for a cookie"),
            (fragment, "a fragment"),
        ] {
            let error = Probe::new(frame, 1..=2).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
