//! Packets layer by layer, wrong ones included; checksums are zero.

use std::net::{Ipv4Addr, Ipv6Addr};

pub const IPV4: u16 = 0x0800;
pub const IPV6: u16 = 0x86dd;
pub const ARP: u16 = 0x0806;
pub const VLAN: u16 = 0x8100;
pub const QINQ: u16 = 0x88a8;

pub const HOP_BY_HOP: u8 = 0;
pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
pub const AH: u8 = 51;
pub const ICMPV6: u8 = 58;
pub const NOTHING: u8 = 59;
pub const DESTINATION: u8 = 60;

/// Ethernet with the given tag types, outermost first, filled up to the shortest frame.
pub fn eth(tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = unpadded(tags, ether_type, payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

pub fn unpadded(tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 42]);
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An IPv4 header to be written around a payload.
#[derive(Clone, Debug)]
pub struct V4 {
    pub to: &'static str,
    pub protocol: u8,
    /// A multiple of four.
    pub options: usize,
    /// Offset in eights, and bit 13 for "more".
    pub fragment: u16,
    /// What is added to the right total length.
    pub excess: i32,
    pub version: u8,
    pub ihl: Option<u8>,
}

impl V4 {
    pub fn new(to: &'static str, protocol: u8) -> Self {
        Self { to, protocol, options: 0, fragment: 0, excess: 0, version: 4, ihl: None }
    }

    pub fn wrap(&self, payload: &[u8]) -> Vec<u8> {
        let length = 20 + self.options;
        let total = ((length + payload.len()) as i32 + self.excess) as u16;
        let ihl = self.ihl.unwrap_or((length / 4) as u8);
        let mut packet = vec![self.version << 4 | ihl, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 1]);
        packet.extend(self.fragment.to_be_bytes());
        packet.extend([64, self.protocol, 0, 0, 10, 1, 0, 1]);
        packet.extend(self.to.parse::<Ipv4Addr>().unwrap().octets());
        packet.extend(vec![1; self.options]);
        packet.extend(payload);
        packet
    }
}

/// An IPv6 header; `next` is the protocol of the first header after it.
pub fn v6(to: &str, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    packet.extend(to.parse::<Ipv6Addr>().unwrap().octets());
    packet.extend(payload);
    packet
}

/// An extension header of `kind` with the length byte `length`, and what follows it.
pub fn extension(kind: u8, next: u8, length: u8, payload: &[u8]) -> Vec<u8> {
    let bytes =
        if kind == AH { (usize::from(length) + 2) * 4 } else { (usize::from(length) + 1) * 8 };
    let mut packet = vec![next, length];
    packet.resize(bytes, 0);
    packet.extend(payload);
    packet
}

/// `count` destination options and what follows them.
pub fn extensions(count: usize, next: u8, payload: &[u8]) -> Vec<u8> {
    (0..count).fold(payload.to_vec(), |inner, number| {
        extension(DESTINATION, if number == 0 { next } else { DESTINATION }, 0, &inner)
    })
}

/// A fragment header; `offset` in bytes with bit 0 for "more".
pub fn fragment6(next: u8, offset: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = offset.to_be_bytes();
    [&[next, 255, high, low, 0, 0, 0, 7], payload].concat()
}

/// A UDP header and 18 bytes, so that the frame over IPv4 is 60 bytes long.
pub fn udp(port: u16) -> Vec<u8> {
    let mut datagram = transport(port);
    datagram.extend([0, 26, 0, 0]);
    datagram.resize(26, 0);
    datagram
}

pub fn tcp(port: u16) -> Vec<u8> {
    let mut segment = transport(port);
    segment.resize(12, 0);
    segment.extend([0x50, 0x02]);
    segment.resize(26, 0);
    segment
}

fn transport(port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    vec![0x30, 0x39, high, low]
}

/// Frames without padding that are judged at every length: plain, with tags and options, and with
/// IPv6 extension headers; all are UDP to port 1234 of 10.1.0.2 or 2001:db8::2.
pub fn frames_to_cut() -> [Vec<u8>; 3] {
    let options = V4 { options: 8, ..V4::new("10.1.0.2", UDP) };
    let extended = extension(0, DESTINATION, 2, &extensions(3, UDP, &udp(1234)));
    [
        unpadded(&[], IPV4, &V4::new("10.1.0.2", UDP).wrap(&udp(1234))),
        unpadded(&[QINQ, VLAN], IPV4, &options.wrap(&udp(1234))),
        unpadded(&[VLAN], IPV6, &v6("2001:db8::2", 0, &extended)),
    ]
}
