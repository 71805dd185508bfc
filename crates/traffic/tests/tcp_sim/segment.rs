//! `Segment`: an Ethernet frame with TCP in IPv4 or IPv6, parsed strictly and rendered.

use std::net::IpAddr;

use super::options::Options;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    pub mac: [u8; 6],
    pub ip: IpAddr,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: Endpoint,
    pub to: Endpoint,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Options,
    pub payload: Vec<u8>,
}

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;

impl Segment {
    /// Parses a frame; the error describes what is wrong with it.
    pub fn parse(frame: &[u8]) -> Result<Self, String> {
        let (ips, tcp) = match frame.get(12..14).ok_or("no Ethernet header")? {
            [0x08, 0x00] => ipv4(&frame[14..])?,
            [0x86, 0xdd] => ipv6(&frame[14..])?,
            other => return Err(format!("EtherType {other:02x?}")),
        };
        let behind = &frame[tcp.end..];
        if !behind.is_empty() && (frame.len() > 60 || behind.iter().any(|byte| *byte != 0)) {
            return Err(format!("{} bytes after the packet", behind.len()));
        }
        let tcp = &frame[tcp.start..tcp.end];
        if tcp.len() < 20 {
            return Err(format!("{} bytes of TCP", tcp.len()));
        }
        let header = usize::from(tcp[12] >> 4) * 4;
        if header < 20 || header > tcp.len() || tcp[12] & 0x0f != 0 || half(tcp, 18) != 0 {
            return Err(format!("header of {header} bytes, or reserved bits or urgent pointer"));
        }
        let sum = pseudo(&ips, tcp.len()) + sum(tcp);
        if fold(sum) != 0xffff {
            return Err(format!("TCP checksum {:04x} is wrong", half(tcp, 16)));
        }
        let mac = |at: usize| frame[at..at + 6].try_into().unwrap();
        Ok(Self {
            from: Endpoint { mac: mac(6), ip: ips[0], port: half(tcp, 0) },
            to: Endpoint { mac: mac(0), ip: ips[1], port: half(tcp, 2) },
            seq: word(tcp, 4),
            ack: word(tcp, 8),
            flags: tcp[13],
            window: half(tcp, 14),
            options: Options::parse(&tcp[20..header])?,
            payload: tcp[header..].to_vec(),
        })
    }

    pub fn frame(&self) -> Vec<u8> {
        let options = self.options.bytes();
        let header = 20 + options.len();
        let mut tcp = Vec::with_capacity(header + self.payload.len());
        tcp.extend(self.from.port.to_be_bytes());
        tcp.extend(self.to.port.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([(header as u8 / 4) << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(&self.payload);
        let check = !fold(pseudo(&[self.from.ip, self.to.ip], tcp.len()) + sum(&tcp));
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        [&self.to.mac[..], &self.from.mac, &self.network(tcp.len()), &tcp].concat()
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Length in the sequence space.
    pub fn length(&self) -> u32 {
        self.payload.len() as u32 + u32::from(self.has(SYN)) + u32::from(self.has(FIN))
    }

    /// EtherType and network header of a packet with `tcp` bytes of TCP.
    fn network(&self, tcp: usize) -> Vec<u8> {
        match (self.from.ip, self.to.ip) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut header = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
                header[2..4].copy_from_slice(&(tcp as u16 + 20).to_be_bytes());
                header.extend(from.octets());
                header.extend(to.octets());
                let check = !fold(sum(&header));
                header[10..12].copy_from_slice(&check.to_be_bytes());
                [&[0x08, 0x00], &header[..]].concat()
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut header = vec![0x86, 0xdd, 0x60, 0, 0, 0];
                header.extend((tcp as u16).to_be_bytes());
                header.extend([6, 64]);
                header.extend(from.octets());
                header.extend(to.octets());
                header
            }
            ends => panic!("{ends:?} are not of one family"),
        }
    }
}

/// Addresses of a packet, and the range of its TCP segment in the frame.
type Packet = ([IpAddr; 2], std::ops::Range<usize>);

fn ipv4(packet: &[u8]) -> Result<Packet, String> {
    let header = packet.get(..20).ok_or("a truncated IPv4 header")?;
    let total = usize::from(half(header, 2));
    if header[0] != 0x45 || total > packet.len() || total < 20 {
        return Err(format!("IPv4 {:02x}, total length {total} of {}", header[0], packet.len()));
    }
    if half(header, 6) & 0x3fff != 0 || header[8] == 0 || header[9] != 6 {
        return Err(format!("a fragment, TTL 0, or not TCP: {header:02x?}"));
    }
    if fold(sum(header)) != 0xffff {
        return Err(format!("IPv4 checksum {:04x} is wrong", half(header, 10)));
    }
    let ip = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&header[at..at + 4]).unwrap());
    Ok(([ip(12), ip(16)], 14 + 20..14 + total))
}

fn ipv6(packet: &[u8]) -> Result<Packet, String> {
    let header = packet.get(..40).ok_or("a truncated IPv6 header")?;
    let length = usize::from(half(header, 4));
    if header[0] >> 4 != 6 || 40 + length > packet.len() {
        return Err(format!("IPv6 {:02x}, payload {length} of {}", header[0], packet.len()));
    }
    if header[6] != 6 || header[7] == 0 {
        return Err(format!("not TCP, or hop limit 0: {header:02x?}"));
    }
    let ip = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&header[at..at + 16]).unwrap());
    Ok(([ip(8), ip(24)], 14 + 40..14 + 40 + length))
}

fn pseudo(ips: &[IpAddr; 2], length: usize) -> u64 {
    let of = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => sum(&ip.octets()),
        IpAddr::V6(ip) => sum(&ip.octets()),
    };
    of(&ips[0]) + of(&ips[1]) + 6 + length as u64
}

fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>() + last
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(from: &str, to: &str) -> Segment {
        let end = |ip: &str, port| Endpoint { mac: [2; 6], ip: ip.parse().unwrap(), port };
        Segment {
            from: end(from, 1),
            to: end(to, 2),
            seq: 7,
            ack: 9,
            flags: ACK | PSH,
            window: 100,
            options: Options { time: Some((1, 2)), ..Options::default() },
            payload: vec![5; 33],
        }
    }

    #[test]
    fn what_is_written_is_read_and_another_library_agrees() {
        for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let segment = segment(from, to);
            let frame = segment.frame();
            assert_eq!(Segment::parse(&frame), Ok(segment));
            let sliced = etherparse::PacketHeaders::from_ethernet_slice(&frame).unwrap();
            let tcp = sliced.transport.unwrap().tcp().unwrap();
            let net = sliced.net.unwrap();
            let payload = sliced.payload.slice();
            let check = match &net {
                etherparse::NetHeaders::Ipv4(ip, _) => tcp.calc_checksum_ipv4(ip, payload),
                etherparse::NetHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(ip, payload),
                other => panic!("{other:?}"),
            };
            assert_eq!(check.unwrap(), tcp.checksum);
        }
    }

    #[test]
    fn any_bit_that_is_turned_is_seen_or_read() {
        for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let good = segment(from, to);
            let frame = good.frame();
            for bit in 0..frame.len() * 8 {
                let mut bytes = frame.clone();
                bytes[bit / 8] ^= 0x80 >> (bit % 8);
                // MAC addresses, traffic class, flow label and hop limit are not covered by a
                // checksum.
                assert_ne!(
                    Segment::parse(&bytes).ok().filter(|_| bit >= 14 * 8
                        && !(from.contains(':') && matches!(bit / 8, 14..=17 | 21))),
                    Some(good.clone()),
                    "bit {bit}"
                );
            }
        }
    }
}
