//! `Answer`: one segment with some defects, and its bytes for a given endpoint.

use std::net::{IpAddr, SocketAddr};

use packet::{IpProtocol, Mac};

use super::{Case, State};
use crate::random::Random;
use crate::segment::checksum;

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;
const URG: u8 = 32;

/// An endpoint as its peer knows it.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The endpoint's, then its peer's.
    pub macs: [Mac; 2],
    pub peer: SocketAddr,
    pub own: SocketAddr,
    /// The first sequence number of the endpoint that is not acknowledged.
    pub una: u32,
    /// The peer's next sequence number.
    pub next: u32,
    /// The peer's last timestamp, and the endpoint's.
    pub stamp: u32,
    pub echo: u32,
}

/// What is wrong with the frame that carries a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Right,
    OtherMac(&'static str),
    Tagged,
    WrongIpChecksum,
    WrongChecksum,
    /// The sum of the pseudo header alone, as a veth carries it.
    PartialChecksum,
    /// Options of an IPv4 header, or IPv6 destination options.
    IpOptions([u8; 4]),
    Fragment(u16),
    /// Bytes by which the length in the IP header exceeds the packet.
    Length(i16),
    /// Bytes of the frame.
    Cut(usize),
    DataOffset(u8),
    OtherSource,
    OtherPort,
    Version(u8),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub flags: u8,
    /// From the next sequence number.
    pub sequence: i64,
    /// From the first sequence number that is not acknowledged.
    pub acknowledges: i64,
    pub window: u16,
    pub length: usize,
    /// How far the timestamp is from the last one, and its echo from the endpoint's.
    pub stamp: Option<(i64, i64)>,
    /// Starts and ends, from the first that is not acknowledged.
    pub blocks: Vec<(i64, i64)>,
    /// Other options.
    pub options: Vec<u8>,
    pub carrier: Carrier,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            flags: ACK,
            sequence: 0,
            acknowledges: 0,
            window: 0xffff,
            length: 0,
            stamp: None,
            blocks: Vec::new(),
            options: Vec::new(),
            carrier: Carrier::Right,
        }
    }
}

impl Answer {
    /// The segment that the endpoint waits for, with up to three changes.
    pub fn new(random: &mut Random, case: &Case) -> Self {
        let mut this = Self::expected(case);
        for _ in 0..random.below(4) {
            this.change(random, case);
        }
        this
    }

    /// The answer that opens the connection, or acknowledges all that is outstanding.
    pub fn expected(case: &Case) -> Self {
        let mut this = Self { acknowledges: case.outstanding().into(), ..Self::default() };
        this.stamp = case.has_timestamps.then_some((1, 0));
        if case.state == State::SynSent {
            this.flags = SYN | ACK;
            this.options = vec![2, 4, 5, 0xb4];
            if case.may_sack {
                this.options.extend([1, 1, 4, 2]);
            }
        }
        this
    }

    fn change(&mut self, random: &mut Random, case: &Case) {
        let most = i64::from(case.outstanding());
        match random.below(10) {
            0 | 1 => self.flags = *random.one(&FLAGS),
            2 => self.sequence = *random.one(&SEQUENCES),
            3 => {
                let near = [most - 1, most, most + 1, most / 2];
                self.acknowledges = *random.one(&[&ACKNOWLEDGEMENTS[..], &near].concat());
            }
            4 => self.window = *random.one(&[0, 1, 1000, 0xffff]),
            5 => self.length = *random.one(&[1, 8, 100, 1400]),
            6 => {
                let (value, echo) = (*random.one(&STAMPS), *random.one(&ECHOES));
                self.stamp = random.one(&[None, Some((value, echo))]).to_owned();
            }
            7 => self.blocks = blocks(random, most),
            8 => self.options = random.one::<&[u8]>(&OPTIONS).to_vec(),
            _ => self.carrier = *random.one(&CARRIERS),
        }
    }

    /// The frame that brings it to an endpoint.
    pub fn frame(&self, side: &Side) -> Vec<u8> {
        let mut side = *side;
        match self.carrier {
            Carrier::OtherMac(mac) => side.macs[0] = mac.parse().expect("an address"),
            Carrier::OtherSource => side.peer.set_ip(beside(side.peer.ip())),
            Carrier::OtherPort => side.peer.set_port(side.peer.port() ^ 1),
            _ => {}
        }
        let segment = self.segment(&side);
        let mut frame = [side.macs[0].0, side.macs[1].0].concat();
        if self.carrier == Carrier::Tagged {
            frame.extend([0x81, 0, 0, 5]);
        }
        frame.extend(self.packet(&side, &segment));
        if let Carrier::Cut(length) = self.carrier {
            frame.truncate(length);
        }
        frame
    }

    fn options(&self, side: &Side) -> Vec<u8> {
        let mut options = self.options.clone();
        if let Some((value, echo)) = self.stamp {
            options.extend([1, 1, 8, 10]);
            options.extend(side.stamp.wrapping_add(value as u32).to_be_bytes());
            options.extend(side.echo.wrapping_add(echo as u32).to_be_bytes());
        }
        if !self.blocks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.blocks.len() as u8]);
            for edge in self.blocks.iter().flat_map(|(start, end)| [start, end]) {
                options.extend(side.una.wrapping_add(*edge as u32).to_be_bytes());
            }
        }
        options.resize(options.len().next_multiple_of(4).min(40), 0);
        options
    }

    fn segment(&self, side: &Side) -> Vec<u8> {
        let options = self.options(side);
        let words = match self.carrier {
            Carrier::DataOffset(words) => words,
            _ => 5 + (options.len() / 4) as u8,
        };
        let mut tcp = [side.peer.port().to_be_bytes(), side.own.port().to_be_bytes()].concat();
        tcp.extend(side.next.wrapping_add(self.sequence as u32).to_be_bytes());
        tcp.extend(side.una.wrapping_add(self.acknowledges as u32).to_be_bytes());
        tcp.extend([words << 4, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend(vec![7; self.length]);
        let sum = self.checksum(side, &tcp);
        tcp[16..18].copy_from_slice(&sum);
        tcp
    }

    fn checksum(&self, side: &Side, tcp: &[u8]) -> [u8; 2] {
        let addresses = match (side.peer.ip(), side.own.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => [from.octets(), to.octets()].concat(),
            (IpAddr::V6(from), IpAddr::V6(to)) => [from.octets(), to.octets()].concat(),
            (from, to) => panic!("from {from} to {to}: two families"),
        };
        let pseudo = [&addresses[..], &[0, TCP], &(tcp.len() as u16).to_be_bytes()].concat();
        let right = checksum(&[&pseudo, tcp].concat());
        match self.carrier {
            Carrier::WrongChecksum => right.map(|byte| byte ^ 0x10),
            Carrier::PartialChecksum => checksum(&pseudo).map(|byte| !byte),
            _ => right,
        }
    }

    /// EtherType and IP packet.
    fn packet(&self, side: &Side, tcp: &[u8]) -> Vec<u8> {
        let options = match self.carrier {
            Carrier::IpOptions(options) => options.to_vec(),
            _ => Vec::new(),
        };
        let more = if let Carrier::Length(more) = self.carrier { more } else { 0 };
        match (side.peer.ip(), side.own.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let addresses = [from.octets(), to.octets()].concat();
                self.ipv4(&addresses, &options, more, tcp)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let addresses = [from.octets(), to.octets()].concat();
                self.ipv6(&addresses, &options, more, tcp)
            }
            (from, to) => panic!("from {from} to {to}: two families"),
        }
    }

    fn ipv4(&self, addresses: &[u8], options: &[u8], more: i16, tcp: &[u8]) -> Vec<u8> {
        let header = 20 + options.len();
        let total = ((header + tcp.len()) as u16).wrapping_add_signed(more);
        let version = if let Carrier::Version(version) = self.carrier { version } else { 4 };
        let fragment = if let Carrier::Fragment(field) = self.carrier { field } else { 0 };
        let mut ip = vec![version << 4 | (header / 4) as u8, 0];
        ip.extend(total.to_be_bytes());
        ip.extend([0, 7]);
        ip.extend(fragment.to_be_bytes());
        ip.extend([64, TCP, 0, 0]);
        ip.extend(addresses);
        ip.extend(options);
        let mut sum = checksum(&ip);
        if self.carrier == Carrier::WrongIpChecksum {
            sum[0] ^= 1;
        }
        ip[10..12].copy_from_slice(&sum);
        [&[0x08, 0x00], &ip[..], tcp].concat()
    }

    fn ipv6(&self, addresses: &[u8], options: &[u8], more: i16, tcp: &[u8]) -> Vec<u8> {
        let version = if let Carrier::Version(version) = self.carrier { version } else { 6 };
        let (mut next, mut extension) = (TCP, Vec::new());
        if let [kind, length, rest @ ..] = options {
            next = DESTINATION_OPTIONS;
            extension = vec![TCP, 0, *kind, *length];
            extension.extend(rest);
            extension.extend([0; 2]);
        }
        if let Carrier::Fragment(field) = self.carrier {
            next = FRAGMENT;
            // The same offset and "more" flag as IPv4 writes them.
            let field = field << 3 | field >> 13 & 1;
            extension = [&[TCP, 0], &field.to_be_bytes()[..], &[0, 0, 0, 7]].concat();
        }
        let length = ((extension.len() + tcp.len()) as u16).wrapping_add_signed(more);
        let mut packet = vec![0x86, 0xdd, version << 4, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([next, 64]);
        packet.extend(addresses);
        [&packet[..], &extension, tcp].concat()
    }
}

/// The address after this one.
fn beside(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4((ip.to_bits() + 1).into()),
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() + 1).into()),
    }
}

fn blocks(random: &mut Random, most: i64) -> Vec<(i64, i64)> {
    let edges = [-100, 0, 1, most / 2, most - 1, most, most + 1, 100_000, 1 << 31];
    let count = 1 + random.below(3);
    (0..count).map(|_| (*random.one(&edges), *random.one(&edges))).collect()
}

const TCP: u8 = IpProtocol::TCP.0;
const FRAGMENT: u8 = IpProtocol::FRAGMENT.0;
const DESTINATION_OPTIONS: u8 = IpProtocol::DESTINATION_OPTIONS.0;

const FLAGS: [u8; 16] = [
    0,
    FIN,
    SYN,
    RST,
    RST,
    ACK,
    RST | ACK,
    RST | ACK,
    FIN | ACK,
    FIN | ACK,
    SYN | ACK,
    SYN | FIN,
    SYN | RST | ACK,
    FIN | PSH | URG,
    PSH | ACK,
    0xff,
];
/// Up to the longest payload before the next number, and before and after any window.
const SEQUENCES: [i64; 14] =
    [-1, -2, -8, -100, -1400, -100_000, 1, 2, 100, 1400, 20_000, 20_000_000, 1 << 31, 1 << 30];
const ACKNOWLEDGEMENTS: [i64; 9] = [0, 1, -1, -2, -100, -100_000, 100_000, 1 << 31, 1 << 30];
const STAMPS: [i64; 5] = [0, 1, 1000, -1, -1000];
const ECHOES: [i64; 4] = [0, -100_000, 1 << 30, 1 << 31];
/// Options with lengths that are right, wrong, or longer than the header.
const OPTIONS: [&[u8]; 14] = [
    &[2, 4, 0, 0],
    &[2, 4, 0, 1],
    &[2, 4, 0, 12],
    &[2, 4, 0xff, 0xff],
    &[2, 3, 5, 0],
    &[3, 3, 255, 1],
    &[3, 3, 14, 0],
    &[4, 4, 0, 0],
    &[5, 6, 0, 0, 0, 0, 1, 1],
    &[5, 10, 0, 0],
    &[8, 2, 1, 1],
    &[8, 10, 0, 0],
    &[19, 18, 1, 1],
    &[254, 0, 0, 1],
];
const CARRIERS: [Carrier; 26] = [
    Carrier::OtherMac("02:78:77:00:00:77"),
    Carrier::OtherMac("ff:ff:ff:ff:ff:ff"),
    Carrier::OtherMac("01:00:5e:00:00:01"),
    Carrier::Tagged,
    Carrier::WrongIpChecksum,
    Carrier::WrongChecksum,
    Carrier::WrongChecksum,
    Carrier::PartialChecksum,
    Carrier::IpOptions([1, 1, 1, 0]),
    Carrier::IpOptions([131, 4, 4, 0]),
    Carrier::IpOptions([7, 200, 4, 0]),
    Carrier::IpOptions([0xc1, 0, 0, 0]),
    Carrier::Fragment(0x2000),
    Carrier::Fragment(0x2001),
    Carrier::Fragment(1),
    Carrier::Length(8),
    Carrier::Length(-1),
    Carrier::Length(-20),
    Carrier::Cut(30),
    Carrier::Cut(60),
    Carrier::DataOffset(4),
    Carrier::DataOffset(0),
    Carrier::DataOffset(15),
    Carrier::OtherSource,
    Carrier::OtherPort,
    Carrier::Version(5),
];
