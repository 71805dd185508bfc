//! Random packets, each with a number that its copies, fragments and answers carry.
//!
//! The number is the IPv4 identification or the IPv6 flow label, which routers keep and ICMP
//! errors quote; it is in the payload for echo replies, and in the TCP numbers for resets.

use std::net::IpAddr;

use packet::checksum::{fold, pseudo_header, sum};
use packet::{EtherType, IpProtocol, Mac};

use super::plan::{PORTS, RESOLVED, address, client, marker, neighbor_mac, router_mac};
use super::tables::{Tables, unicast};
use crate::differential::Rng;

/// A frame to the router.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Which packet of its round it is, from 1.
    pub tag: u16,
    pub frame: Vec<u8>,
}

/// Mark of this module's payloads.
pub const MAGIC: [u8; 4] = *b"xwrt";
/// The upper half of TCP sequence and acknowledgment numbers.
pub const TCP_MAGIC: u16 = 0x5857;
/// Tags of markers start here.
pub const FIRST_MARKER: u16 = 0xff00;

impl Packet {
    /// Random frames for a router with these tables, most of them to where its routes lead.
    pub fn random(rng: &mut Rng, tables: &Tables, tag: u16, case: usize) -> Self {
        let draft = Draft::random(rng, tables, tag, case);
        let mut frame = draft.frame();
        disturb(rng, &mut frame, draft.is_ipv6());
        Self { tag, frame }
    }

    /// A packet that leaves through a port in any tables, or that waits for a neighbor.
    pub fn marker(is_ipv6: bool, port: u8) -> Self {
        let tag = FIRST_MARKER + u16::from(port) * 2 + u16::from(is_ipv6);
        let (source, destination) = (marker(is_ipv6, 0), marker(is_ipv6, port));
        let draft = Draft { source, destination, tag, ..Draft::default() };
        Self { tag, frame: draft.frame() }
    }
}

/// Fields of a packet that is to be built.
#[derive(Clone, Debug)]
struct Draft {
    tag: u16,
    source: IpAddr,
    destination: IpAddr,
    tos: u8,
    ttl: u8,
    protocol: IpProtocol,
    ports: [u16; 2],
    payload: usize,
    /// Flags and offset of IPv4, or of a fragment header, as 13 bits of offset and 3 flags.
    fragment: Option<u16>,
    /// Flag "don't fragment" of IPv4.
    keeps_whole: bool,
    /// IPv4 options, or IPv6 extension headers by their protocol.
    options: Vec<u8>,
    extensions: Vec<IpProtocol>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            tag: 0,
            source: marker(false, 0),
            destination: marker(false, 0),
            tos: 0,
            ttl: 64,
            protocol: IpProtocol::UDP,
            ports: [4000, 9],
            payload: 8,
            fragment: None,
            keeps_whole: false,
            options: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl Draft {
    fn random(rng: &mut Rng, tables: &Tables, tag: u16, case: usize) -> Self {
        let is_ipv6 = rng.one_in(2);
        let destination = destination(rng, tables, is_ipv6);
        let mut draft = Self {
            tag,
            source: source(rng, tables, is_ipv6, case),
            destination,
            ttl: if rng.one_in(6) { rng.below(4) as u8 } else { rng.pick(&[4, 63, 64, 255]) },
            protocol: protocol(rng, is_ipv6),
            ports: [port(rng), port(rng)],
            payload: payload(rng),
            keeps_whole: rng.one_in(3),
            ..Self::default()
        };
        if rng.one_in(2) {
            let other = rng.word() as u8;
            draft.tos = rng.pick(&[0x04, 0x08, 0x10, 0x03, 0xb8, other]);
        }
        if rng.one_in(12) {
            let offset = if rng.one_in(2) { 0 } else { 8 * (1 + rng.below(100) as u16) };
            let more = u16::from(rng.one_in(2));
            draft.fragment = Some(offset | more);
        }
        if rng.one_in(12) {
            draft.options = rng.pick(&OPTIONS).to_vec();
            draft.extensions = rng.pick(&EXTENSIONS).to_vec();
        }
        if rng.one_in(6) {
            draft.fit(rng.pick(&LENGTHS) + if rng.one_in(2) { 0 } else { rng.below(42) });
        }
        draft
    }

    /// Makes the packet this long, from its IP header on.
    fn fit(&mut self, length: usize) {
        let without = self.frame().len() - ETHERNET - self.payload;
        self.payload = length.saturating_sub(without).max(6);
    }

    fn is_ipv6(&self) -> bool {
        self.destination.is_ipv6()
    }

    fn frame(&self) -> Vec<u8> {
        let mut frame = [router_mac(0).0, neighbor_mac(0, RESOLVED[0]).0].concat();
        let kind = if self.is_ipv6() { EtherType::IPV6 } else { EtherType::IPV4 };
        frame.extend(kind.0.to_be_bytes());
        frame.extend(if self.is_ipv6() { self.ipv6() } else { self.ipv4() });
        frame
    }

    fn ipv4(&self) -> Vec<u8> {
        let transport = self.transport();
        let header = 20 + self.options.len();
        let (total, fragment) = ((header + transport.len()) as u16, self.fragment.unwrap_or(0));
        let more = (fragment & 1) << 13;
        let flags = more | fragment >> 3 | u16::from(self.keeps_whole) << 14;
        let mut ip = vec![0x40 | (header / 4) as u8, self.tos];
        for word in [total, self.tag, flags] {
            ip.extend(word.to_be_bytes());
        }
        ip.extend([self.ttl, self.protocol.0, 0, 0]);
        ip.extend(self.addresses());
        ip.extend(&self.options);
        let check = !fold(sum(&ip));
        ip[10..12].copy_from_slice(&check.to_be_bytes());
        ip.extend(transport);
        ip
    }

    fn ipv6(&self) -> Vec<u8> {
        let mut chain = self.extensions.clone();
        if self.fragment.is_some() {
            chain.push(IpProtocol(FRAGMENT));
        }
        chain.push(self.protocol);
        let mut rest = Vec::new();
        for (at, kind) in chain[..chain.len() - 1].iter().enumerate() {
            let next = chain[at + 1].0;
            let fragment = self.fragment.unwrap_or(0).to_be_bytes();
            let tag = self.tag.to_be_bytes();
            rest.extend(match kind.0 {
                FRAGMENT => [next, 0, fragment[0], fragment[1], 0, 0, tag[0], tag[1]],
                // Type 0, which is obsolete, with no segments left.
                ROUTING => [next, 0, 0, 0, 0, 0, 0, 0],
                // Six bytes of padding (PadN).
                _ => [next, 0, 1, 4, 0, 0, 0, 0],
            });
        }
        rest.extend(self.transport());
        let first = 6 << 28 | u32::from(self.tos) << 20 | u32::from(self.tag);
        let mut ip = first.to_be_bytes().to_vec();
        ip.extend((rest.len() as u16).to_be_bytes());
        ip.extend([chain[0].0, self.ttl]);
        ip.extend(self.addresses());
        ip.extend(rest);
        ip
    }

    fn addresses(&self) -> Vec<u8> {
        let bytes = |address: IpAddr| match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        [bytes(self.source), bytes(self.destination)].concat()
    }

    /// Header with its checksum, and payload.
    fn transport(&self) -> Vec<u8> {
        let [from, to] = self.ports.map(u16::to_be_bytes);
        let (tag, magic) = (self.tag.to_be_bytes(), TCP_MAGIC.to_be_bytes());
        let number = [magic, tag].concat();
        let length = (8 + self.payload.max(6)) as u16;
        let (mut bytes, check) = match self.protocol {
            IpProtocol::UDP => ([from, to, length.to_be_bytes(), [0, 0]].concat(), Some(6)),
            IpProtocol::TCP => {
                let ends = [from, to].concat();
                // SYN and ACK, so that a reset carries the acknowledgment number.
                let rest = vec![0x50, 0x12, 0xff, 0xff, 0, 0, 0, 0];
                ([ends, number.clone(), number, rest].concat(), Some(16))
            }
            IpProtocol::ICMP => ([[8, 0], [0, 0], from, tag].concat(), Some(2)),
            IpProtocol::ICMPV6 => ([[128, 0], [0, 0], from, tag].concat(), Some(2)),
            _ => (Vec::new(), None),
        };
        bytes.extend(MAGIC);
        bytes.extend(tag);
        bytes.extend((6..self.payload).map(|at| at as u8));
        if let Some(at) = check {
            let pseudo = match self.protocol {
                IpProtocol::ICMP => 0,
                _ => pseudo_header(&self.addresses(), self.protocol, bytes.len()),
            };
            let value = !fold(sum(&bytes) + pseudo);
            bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        }
        bytes
    }
}

fn destination(rng: &mut Rng, tables: &Tables, is_ipv6: bool) -> IpAddr {
    match rng.below(24) {
        0 => special(rng, is_ipv6),
        1 => address(is_ipv6, rng.below(PORTS.into()) as u8, rng.pick(&[1, 2, 77, 255])),
        2 => unicast(rng, is_ipv6),
        _ => within(rng, tables, is_ipv6),
    }
}

fn source(rng: &mut Rng, tables: &Tables, is_ipv6: bool, case: usize) -> IpAddr {
    match rng.below(24) {
        0 => special(rng, is_ipv6),
        1 => address(is_ipv6, rng.below(PORTS.into()) as u8, rng.pick(&[1, 2, 77])),
        2..=5 => unicast(rng, is_ipv6),
        6..=10 => within(rng, tables, is_ipv6),
        _ => client(is_ipv6, case),
    }
}

/// An address of one of the prefixes.
fn within(rng: &mut Rng, tables: &Tables, is_ipv6: bool) -> IpAddr {
    let of_family: Vec<_> =
        tables.prefixes.iter().filter(|(to, _)| to.is_ipv6() == is_ipv6).copied().collect();
    let Some((to, length)) = (!of_family.is_empty()).then(|| rng.pick(&of_family)) else {
        return unicast(rng, is_ipv6);
    };
    let bits =
        if rng.one_in(2) { 0 } else { u128::from(rng.word()) << 64 | u128::from(rng.word()) };
    let random = bits.checked_shr(length.into()).unwrap_or(0);
    match to {
        IpAddr::V4(v4) if length > 0 => (v4.to_bits() ^ (random >> 96) as u32).to_be_bytes().into(),
        IpAddr::V6(v6) if length > 0 => (v6.to_bits() ^ random).to_be_bytes().into(),
        _ => unicast(rng, is_ipv6),
    }
}

/// Martians, broadcast, multicast, link-local and more that no router forwards.
fn special(rng: &mut Rng, is_ipv6: bool) -> IpAddr {
    let text = if is_ipv6 { rng.pick(&SPECIAL6) } else { rng.pick(&SPECIAL4) };
    text.parse().unwrap()
}

fn protocol(rng: &mut Rng, is_ipv6: bool) -> IpProtocol {
    match rng.below(8) {
        0..=2 => IpProtocol::UDP,
        3 | 4 => IpProtocol::TCP,
        5 | 6 if is_ipv6 => IpProtocol::ICMPV6,
        5 | 6 => IpProtocol::ICMP,
        _ => IpProtocol(rng.pick(&[47, 50, 89, 132, 253])),
    }
}

fn port(rng: &mut Rng) -> u16 {
    let other = rng.word() as u16;
    rng.pick(&[7, 53, 443, other])
}

/// Bytes after the transport header: most are few.
fn payload(rng: &mut Rng) -> usize {
    match rng.below(6) {
        0 => rng.below(3300),
        1 => rng.below(1400),
        _ => 6 + rng.below(80),
    }
}

/// Changes what a sender or a wire would do wrong.
fn disturb(rng: &mut Rng, frame: &mut Vec<u8>, is_ipv6: bool) {
    match rng.below(60) {
        0 => frame[14] ^= 0x10,
        1 if !is_ipv6 => frame[24] ^= 1 << rng.below(8),
        2 => frame[if is_ipv6 { 18 } else { 16 }] ^= 1 << rng.below(3),
        3 => frame[if is_ipv6 { 19 } else { 17 }] ^= 1 << rng.below(8),
        4 if !is_ipv6 => frame[14] ^= 1 << rng.below(4),
        5 => frame.truncate(15 + rng.below(frame.len() - 15)),
        14 | 15 => frame.truncate(ETHERNET + rng.below(20)),
        6..=8 => frame.extend((0..1 + rng.below(40)).map(|_| 0)),
        9 => frame[..6].copy_from_slice(&Mac([2, 0, 0, 0, 0, 9]).0),
        10 => frame[..6].fill(0xff),
        11 => frame[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 5]),
        12 => drop(frame.splice(12..12, [0x81, 0, 0, 7])),
        13 => {
            // After the packet's number.
            let at = (20 + rng.below(60)).min(frame.len() - 1);
            frame[at] ^= 1 << rng.below(8);
        }
        _ => {}
    }
}

pub const FRAGMENT: u8 = 44;
const ROUTING: u8 = 43;
/// MTUs of ports and routes, and the largest error of IPv4. Packets are up to an IPv6 header
/// longer, by which routers may be wrong, and a byte.
const LENGTHS: [usize; 8] = [576, 1000, 1280, 1290, 1300, 1400, 1500, 1600];
const ETHERNET: usize = 14;
/// No operation, router alert, record route, timestamp and a strict source route, padded.
const OPTIONS: [&[u8]; 6] = [
    &[1, 1, 1, 0],
    &[148, 4, 0, 0],
    &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    &[68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    &[137, 7, 4, 10, 0, 1, 2, 0],
    &[200, 40, 0, 0],
];
/// Chains of extension headers: hop-by-hop and destination options, routing, in any order.
const EXTENSIONS: [&[IpProtocol]; 5] = [
    &[IpProtocol(0)],
    &[IpProtocol(60)],
    &[IpProtocol(0), IpProtocol(60)],
    &[IpProtocol(ROUTING)],
    &[IpProtocol(60), IpProtocol(0)],
];
const SPECIAL4: [&str; 11] = [
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.9.9.9",
    "224.0.0.5",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "169.254.1.1",
    "10.0.1.255",
    "10.0.0.0",
];
const SPECIAL6: [&str; 10] = [
    "::",
    "::1",
    "::2",
    "::ffff:10.0.0.2",
    "ff02::1",
    "ff05::2",
    "fe80::1",
    "fec0::1",
    "fd00:0:0:1::",
    "100::1",
];
