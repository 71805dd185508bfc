//! Packets inside of packets, with the headers that `bpf/filter/inner.h` reads; some of them are
//! not what they state.

use super::Place;
use super::frame::{tag, write_checksum};
use crate::random::Random;

/// A frame with a packet inside nested tunnels of the given depth; IPv4 checksums are correct.
pub(super) fn around(random: &mut Random, place: &Place, is_ipv6: bool, depth: usize) -> Vec<u8> {
    let is_inner_ipv6 = random.below(2) == 0;
    let inner = match depth {
        0 | 1 => place.usual(random, is_inner_ipv6),
        _ => around(random, place, is_inner_ipv6, depth - 1),
    };
    let kind = [inner[12], inner[13]];
    let packet = &inner[14..];
    if random.below(10) == 0 {
        return beside_ip(random, &inner);
    }
    let (protocol, payload) = match random.below(8) {
        0 | 1 => (if kind == [8, 0] { 4 } else { 41 }, packet.to_vec()),
        2 | 3 => (47, gre(random, &inner)),
        4 => (97, [&[*random.one(&[0x30, 0x30, 0]), 0], &inner[..]].concat()),
        5 => (143, inner.clone()),
        6 => (137, [&labels(random), packet].concat()),
        _ => (17, over_udp(random, &inner)),
    };
    ip(place, is_ipv6, protocol, &payload)
}

/// PPPoE or MPLS straight after Ethernet.
fn beside_ip(random: &mut Random, inner: &[u8]) -> Vec<u8> {
    let packet = &inner[14..];
    let (kind, header) = if random.below(2) == 0 {
        let length = (packet.len() as u16 + 2).to_be_bytes();
        let protocol = if inner[12] == 8 { 0x21 } else { 0x57 };
        let version = *random.one(&[0x11, 0x11, 0x21]);
        ([0x88, 0x64], [&[version, 0, 0, 9], &length[..], &[0, protocol]].concat())
    } else {
        ([0x88, 0x47], labels(random))
    };
    [&inner[..12], &kind, &header, packet].concat()
}

fn labels(random: &mut Random) -> Vec<u8> {
    let count = *random.one(&[1, 2, 8, 9]);
    (1..=count).flat_map(|label| [0, 1, u8::from(label == count), 64]).collect()
}

fn gre(random: &mut Random, inner: &[u8]) -> Vec<u8> {
    let flags = *random.one(&[0_u16, 0, 0x2000, 0xb000, 0x8000, 0x4000, 1, 0x0101]);
    let is_bridged = random.below(3) == 0;
    let kind = if is_bridged { [0x65, 0x58] } else { [inner[12], inner[13]] };
    let kind = if random.below(12) == 0 { [0x88, 0xbe] } else { kind };
    let mut header = [flags.to_be_bytes(), kind].concat();
    header.resize(4 + (flags & 0xb000).count_ones() as usize * 4, 0);
    header.extend(if is_bridged { inner } else { &inner[14..] });
    header
}

/// VXLAN or Geneve, with a tag in the inner frame now and then.
fn over_udp(random: &mut Random, inner: &[u8]) -> Vec<u8> {
    let mut inner = inner.to_vec();
    if random.below(3) == 0 {
        inner.splice(12..12, tag(random));
    }
    let port = *random.one(&[4789_u16, 8472, 6081]);
    let mut bytes = [&[0x30, 0x39], &port.to_be_bytes()[..], &[0; 4]].concat();
    if port == 6081 {
        let words = *random.one(&[0_u8, 0, 1, 63]);
        bytes.extend([words, 0, 0x65, 0x58, 0, 0, 1, 0]);
        bytes.resize(bytes.len() + usize::from(words) * 4, 0);
    } else {
        bytes.extend([*random.one(&[8, 8, 0, 12]), 0, 0, 0, 0, 0, 1, 0]);
    }
    bytes.extend(inner);
    let length = (bytes.len() as u16).to_be_bytes();
    bytes[4..6].copy_from_slice(&length);
    bytes
}

/// A frame from the sender to the receiver around a payload.
fn ip(place: &Place, is_ipv6: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = place.usual(&mut Random::new(1), is_ipv6);
    if is_ipv6 {
        frame.truncate(54);
        frame[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        frame[20] = protocol;
    } else {
        frame.truncate(34);
        frame[16..18].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
        frame[23] = protocol;
        write_checksum(&mut frame, 0);
    }
    frame.extend(payload);
    frame
}
