//! Frames that an attacker would send to a router: each is a usual one with some things wrong, from
//! a seed.
//!
//! Rule: a frame carries its number where no fault reaches it, in the identification of IPv4 or the
//! flow label of IPv6, so that who sees it later knows which one it was.

use lab::frame::{Flow, TcpFlags};
use sys::net::Mac;

use crate::bpf::router::{A, B0, B1, C, from_a};
use crate::random::Random;

/// Numbers that a frame can have.
pub const NUMBERS: u16 = u16::MAX;

/// A frame, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Hostile {
    pub bytes: Vec<u8>,
    pub faults: Vec<&'static str>,
}

/// A fault, and the change that makes it; false where the frame has no such place.
type Fault = (&'static str, fn(&mut Random, &mut Frame));

struct Frame {
    bytes: Vec<u8>,
    is_ipv6: bool,
    /// Of IPv4: written when all else is.
    is_checksum_wrong: bool,
    tags: usize,
    length: Option<usize>,
}

/// The next frame; `number` is not 0.
pub fn frame(random: &mut Random, number: u16) -> Hostile {
    let is_ipv6 = random.below(2) == 0;
    let to = if is_ipv6 { "fd00:0:0:2::2" } else { "10.0.2.2" };
    let bytes = usual(random, &from_a(to, 1 + random.clone().below(60_000) as u16));
    let mut frame = Frame { bytes, is_ipv6, is_checksum_wrong: false, tags: 0, length: None };
    frame.number(number);
    let mut faults = Vec::new();
    let all: Vec<Fault> = if is_ipv6 { [ANY, V6].concat() } else { [ANY, V4].concat() };
    for _ in 0..random.below(3) {
        let (name, change) = *random.one(&all);
        if !faults.contains(&name) {
            change(random, &mut frame);
            faults.push(name);
        }
    }
    Hostile { bytes: frame.finish(), faults }
}

/// The number of a frame, if it is one of these.
pub fn number(bytes: &[u8]) -> Option<u16> {
    let at = match bytes.get(12..14)? {
        [0x08, 0x00] => 18,
        [0x86, 0xdd] => 16,
        _ => return None,
    };
    let number = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes(number.try_into().ok()?)).filter(|number| *number != 0)
}

fn usual(random: &mut Random, flow: &Flow) -> Vec<u8> {
    const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
    let payload = vec![7; random.below(60)];
    let frame = match random.below(3) {
        0 => flow.udp(&payload),
        1 => flow.tcp(ACK, 7, &payload),
        _ => flow.ping(1, 2, &payload),
    };
    frame.expect("a usual frame")
}

impl Frame {
    fn number(&mut self, number: u16) {
        let at = if self.is_ipv6 { 16 } else { 18 };
        self.bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
    }

    fn mac(&mut self, mac: &str) {
        self.bytes[..6].copy_from_slice(&mac.parse::<Mac>().expect("an address").0);
    }

    fn address(&mut self, is_source: bool, address: &str) {
        match address.parse().expect("an address") {
            std::net::IpAddr::V4(ip) => {
                let at = if is_source { 26 } else { 30 };
                self.bytes[at..at + 4].copy_from_slice(&ip.octets());
            }
            std::net::IpAddr::V6(ip) => {
                let at = if is_source { 22 } else { 38 };
                self.bytes[at..at + 16].copy_from_slice(&ip.octets());
            }
        }
    }

    /// Puts a header between IP and what follows it.
    fn insert(&mut self, header: &[u8]) {
        let at = if self.is_ipv6 { 54 } else { 34 };
        self.bytes.splice(at..at, header.iter().copied());
        let field = if self.is_ipv6 { 18 } else { 16 };
        self.add(field, header.len() as u16);
    }

    fn add(&mut self, field: usize, more: u16) {
        let old = u16::from_be_bytes([self.bytes[field], self.bytes[field + 1]]);
        self.bytes[field..field + 2].copy_from_slice(&old.wrapping_add(more).to_be_bytes());
    }

    fn finish(mut self) -> Vec<u8> {
        if !self.is_ipv6 {
            let end = (14 + usize::from(self.bytes[14] & 15) * 4).clamp(34, self.bytes.len() & !1);
            self.bytes[24..26].fill(0);
            let words = self.bytes[14..end].chunks(2);
            let sum: u32 = words.map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            let check = !((folded & 0xffff) + (folded >> 16)) as u16;
            let check = if self.is_checksum_wrong { check ^ 0x0101 } else { check };
            self.bytes[24..26].copy_from_slice(&check.to_be_bytes());
        }
        for tag in 0..self.tags {
            self.bytes.splice(12..12, [0x81, 0, 0, tag as u8 + 1]);
        }
        self.bytes.truncate(self.length.unwrap_or(usize::MAX).max(14));
        self.bytes
    }
}

const ANY: &[Fault] = &[
    ("to another host's MAC", |random, frame| {
        frame.mac(random.text(&[A, B1, C, "02:00:00:00:00:77"]));
    }),
    ("to a group's MAC", |random, frame| {
        frame.mac(random.text(&["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"]));
    }),
    ("from this host's MAC", |_, frame| {
        frame.bytes[6..12].copy_from_slice(&B0.parse::<Mac>().expect("an address").0);
    }),
    ("tags", |random, frame| frame.tags = 1 + random.below(5)),
    ("cut short", |random, frame| frame.length = Some(14 + random.below(80))),
    ("bytes behind the packet", |random, frame| {
        let more = 1 + random.below(64);
        frame.bytes.extend(vec![0xee; more]);
    }),
    ("another transport checksum", |_, frame| {
        if let Some(byte) = frame.bytes.get_mut(if frame.is_ipv6 { 61 } else { 41 }) {
            *byte ^= 0x55;
        }
    }),
    ("another transport protocol", |random, frame| {
        frame.bytes[if frame.is_ipv6 { 20 } else { 23 }] = random.below(256) as u8;
    }),
    ("another version", |random, frame| {
        frame.bytes[14] = frame.bytes[14] & 15 | (random.below(16) as u8) << 4;
    }),
];

const V4: &[Fault] = &[
    ("a wrong IP checksum", |_, frame| frame.is_checksum_wrong = true),
    ("no time to live", |random, frame| frame.bytes[22] = random.below(2) as u8),
    ("a longer total length", |random, frame| frame.add(16, 1 + random.below(100) as u16)),
    ("a shorter total length", |random, frame| {
        frame.add(16, (1 + random.below(100) as u16).wrapping_neg());
    }),
    ("another header length", |random, frame| {
        frame.bytes[14] = frame.bytes[14] & 0xf0 | random.below(16) as u8;
    }),
    ("options", |random, frame| {
        frame.insert(random.one::<[u8; 4]>(&[
            [1, 1, 1, 0],
            [131, 4, 4, 0],
            [7, 200, 4, 0],
            [148, 4, 0, 0],
        ]));
        frame.bytes[14] += 1;
    }),
    ("a fragment", |random, frame| {
        let flags = random.one(&[0x2000_u16, 0x2001, 0x0001, 0x1fff, 0x3fff, 0x8000, 0xc000]);
        frame.bytes[20..22].copy_from_slice(&flags.to_be_bytes());
    }),
    ("a martian source", |random, frame| {
        let sources = ["127.0.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "240.0.0.1", BROADCAST];
        frame.address(true, random.text(&sources));
    }),
    (OWN_SOURCE, |random, frame| {
        frame.address(true, random.text(&["10.0.1.1", "10.0.2.1", "10.0.1.255", "10.0.2.255"]));
    }),
    ("a source elsewhere", |random, frame| {
        frame.address(true, random.text(&["10.0.2.2", "10.0.2.9", "192.0.2.1", "169.254.1.1"]));
    }),
    ("another destination", |random, frame| {
        let own = ["10.0.1.1", "10.0.2.1", "10.0.1.255", "10.0.2.255", "10.0.2.0"];
        let odd = ["127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1"];
        let all = [own, odd].concat();
        frame.address(false, random.text(&all));
    }),
];

const V6: &[Fault] = &[
    ("no hop limit", |random, frame| frame.bytes[21] = random.below(2) as u8),
    ("a longer payload length", |random, frame| frame.add(18, 1 + random.below(100) as u16)),
    ("a shorter payload length", |random, frame| {
        frame.add(18, (1 + random.below(100) as u16).wrapping_neg());
    }),
    ("an extension header", |random, frame| {
        let (next, kind) = (frame.bytes[20], *random.one(&[0_u8, 43, 44, 51, 60]));
        frame.insert(&[next, 0, random.below(256) as u8, random.below(256) as u8, 1, 2, 0, 0]);
        frame.bytes[20] = kind;
    }),
    ("a martian source", |random, frame| {
        let sources = ["::1", "::", "ff02::1", "fe80::2", "::ffff:10.0.1.2", "::10.0.1.2"];
        frame.address(true, random.text(&sources));
    }),
    (OWN_SOURCE, |random, frame| {
        frame.address(true, random.text(&["fd00:0:0:1::1", "fd00:0:0:2::1", "fd00:0:0:1::"]));
    }),
    ("a source elsewhere", |random, frame| {
        frame.address(true, random.text(&["fd00:0:0:2::2", "fd00:0:0:2::9", "2001:db8::1"]));
    }),
    ("another destination", |random, frame| {
        let own = ["fd00:0:0:1::1", "fd00:0:0:2::1", "fd00:0:0:2::", "fd00:0:0:2::99"];
        let odd = ["::1", "::", "ff02::1", "ff0e::1", "fe80::1", "::ffff:10.0.2.2"];
        let all = [&own[..], &odd].concat();
        frame.address(false, random.text(&all));
    }),
];

const BROADCAST: &str = "255.255.255.255";
/// The sender pretends to be this router, or a network.
pub const OWN_SOURCE: &str = "a source that is this router";
