//! A frame while faults are put into it.

use std::net::IpAddr;

use packet::{Mac, checksum};

use super::Place;
use crate::random::Random;

/// What is changed, and what is written when all changes are made.
pub(super) struct Frame {
    pub bytes: Vec<u8>,
    pub place: &'static Place,
    pub is_ipv6: bool,
    /// Whether the checksum of the IPv4 header is wrong.
    pub is_checksum_wrong: bool,
    /// EtherType and control information, the outermost first.
    pub tags: Vec<[u8; 4]>,
    pub length: Option<usize>,
    /// Where the transport header is.
    pub transport: usize,
}

/// The name of a fault, and the change that makes it.
pub(super) type Fault = (&'static str, fn(&mut Random, &mut Frame));

impl Frame {
    /// A frame whose IP header, if it has one, has no options.
    pub fn new(place: &'static Place, bytes: Vec<u8>) -> Self {
        let is_ipv6 = bytes[12..14] == [0x86, 0xdd];
        let transport = if is_ipv6 { 54 } else { 34 };
        let (is_checksum_wrong, tags, length) = (false, Vec::new(), None);
        Self { bytes, place, is_ipv6, is_checksum_wrong, tags, length, transport }
    }

    pub fn is_ip(&self) -> bool {
        self.is_ipv6 || self.bytes[12..14] == [8, 0]
    }

    pub fn number(&mut self, number: u16) {
        if self.is_ip() {
            let at = if self.is_ipv6 { 16 } else { 18 };
            self.bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
        }
    }

    pub fn mac(&mut self, is_source: bool, mac: &str) {
        let at = if is_source { 6 } else { 0 };
        let mac = mac.parse::<Mac>().expect("an address");
        self.bytes[at..at + 6].copy_from_slice(&mac.0);
    }

    pub fn address(&mut self, is_source: bool, address: &str) {
        match address.parse().expect("an address") {
            IpAddr::V4(ip) => {
                let at = if is_source { 26 } else { 30 };
                self.bytes[at..at + 4].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                let at = if is_source { 22 } else { 38 };
                self.bytes[at..at + 16].copy_from_slice(&ip.octets());
            }
        }
    }

    /// The protocol that the IP header names.
    pub fn protocol(&mut self) -> &mut u8 {
        &mut self.bytes[if self.is_ipv6 { 20 } else { 23 }]
    }

    /// Puts a header between the IP header and what follows it.
    pub fn insert(&mut self, header: &[u8]) {
        let at = if self.is_ipv6 { 54 } else { 34 };
        self.bytes.splice(at..at, header.iter().copied());
        self.transport += header.len();
        self.lengthen(header.len() as u16);
    }

    /// Adds to the length that the IP header states.
    pub fn lengthen(&mut self, more: u16) {
        let field = if self.is_ipv6 { 18 } else { 16 };
        let old = u16::from_be_bytes([self.bytes[field], self.bytes[field + 1]]);
        self.bytes[field..field + 2].copy_from_slice(&old.wrapping_add(more).to_be_bytes());
    }

    /// Adds an extension header of IPv6 before the others.
    pub fn extend(&mut self, kind: u8, mut header: Vec<u8>) {
        header[0] = *self.protocol();
        self.insert(&header);
        *self.protocol() = kind;
    }

    pub fn finish(mut self) -> Vec<u8> {
        if self.bytes[12..14] == [8, 0] {
            write_checksum(&mut self.bytes, if self.is_checksum_wrong { 0x0101 } else { 0 });
        }
        let tags = self.tags.concat();
        self.bytes.splice(12..12, tags);
        self.bytes.truncate(self.length.unwrap_or(usize::MAX).max(14));
        self.bytes
    }
}

/// Writes the checksum of an IPv4 header after an Ethernet header, with these bits wrong.
pub(super) fn write_checksum(bytes: &mut [u8], wrong: u16) {
    let end = (14 + usize::from(bytes[14] & 15) * 4).clamp(34, bytes.len() & !1);
    bytes[24..26].fill(0);
    let check = !checksum::fold(checksum::sum(&bytes[14..end]));
    bytes[24..26].copy_from_slice(&(check ^ wrong).to_be_bytes());
}

/// EtherType, then priority and VLAN number: those of no VLAN and of all are among them.
pub(super) fn tag(random: &mut Random) -> [u8; 4] {
    let kind: u16 = *random.one(&[0x8100, 0x8100, 0x88a8]);
    let vlan = *random.one(&[0_u16, 0x2000, 5, 6, 7, 0xe007, 4095]);
    let ([a, b], [c, d]) = (kind.to_be_bytes(), vlan.to_be_bytes());
    [a, b, c, d]
}
