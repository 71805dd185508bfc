//! Layers, limits and errors of a walk, on built and on arbitrary frames.

use etherparse::{PacketBuilder, SlicedPacket};
use proptest::prelude::*;

use super::*;
use crate::checksum;

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn udp4() -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1, 2);
    let mut frame = Vec::new();
    builder.write(&mut frame, b"payload").unwrap();
    frame
}

/// An Ethernet and an IPv6 header, then these bytes with `next` as their number.
fn ipv6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut frame = [&MACS[..], &[0x86, 0xdd, 0x60, 0, 0, 0]].concat();
    frame.extend((rest.len() as u16).to_be_bytes());
    frame.extend([next, 64]);
    frame.extend([0xfd; 32]);
    frame.extend(rest);
    frame
}

fn tagged(kind: u16, count: usize, mut frame: Vec<u8>) -> Vec<u8> {
    let [high, low] = kind.to_be_bytes();
    (0..count).for_each(|_| drop(frame.splice(12..12, [high, low, 0, 5])));
    frame
}

fn headers(frame: &[u8], limits: Limits) -> (Vec<Header>, Option<Invalid>) {
    let mut found = Vec::new();
    for layer in Walk::new(frame, limits) {
        match layer {
            Ok(layer) => found.push(layer.header),
            Err(why) => return (found, Some(why)),
        }
    }
    (found, None)
}

#[test]
fn layers_are_yielded_in_order() {
    let frame = tagged(0x88a8, 1, tagged(0x8100, 1, udp4()));
    let layers: Vec<_> = Walk::new(&frame, Limits::default()).map(Result::unwrap).collect();
    let wanted = [
        (Header::Ethernet, 0, 14),
        (Header::Vlan, 14, 18),
        (Header::Vlan, 18, 22),
        (Header::Ipv4, 22, 42),
        (Header::Transport(IpProtocol::UDP), 42, 50),
    ];
    let layer = |(header, start, end)| Layer { header, start, end };
    assert_eq!(layers, wanted.map(layer));

    let mut arp = [&MACS[..], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
    arp.extend([0; 20]);
    assert_eq!(headers(&arp, Limits::default()), (vec![Header::Ethernet, Header::Arp], None));
    let other = [&MACS[..], &[0x88, 0xb5, 1, 2]].concat();
    assert_eq!(headers(&other, Limits::default()), (vec![Header::Ethernet], None));
    assert_eq!(IpPacket::find(&other, Limits::default()), Err(Invalid::NotIp));
    assert_eq!(IpPacket::find(&arp, Limits::default()), Err(Invalid::NotIp));
}

/// Decision: four tags by default, as in the BPF programs; fewer or more only where asked for.
#[test]
fn tags_are_limited() {
    for tags in 0..7 {
        let frame = tagged(0x8100, tags, udp4());
        for (limit, limits) in [
            (4, Limits::default()),
            (2, Limits { tags: 2, ..Limits::default() }),
            (64, Limits { tags: 64, ..Limits::default() }),
        ] {
            let found = IpPacket::find(&frame, limits);
            match tags <= limit {
                true => assert_eq!(found.unwrap().network, 14 + 4 * tags),
                false => assert_eq!(found, Err(Invalid::TooManyTags), "{tags} of {limit}"),
            }
        }
    }
    let legacy = tagged(0x9100, 1, udp4());
    assert_eq!(IpPacket::find(&legacy, Limits::default()), Err(Invalid::NotIp));
    let limits = Limits { tag_types: &[EtherType::LEGACY_VLAN], ..Limits::default() };
    assert_eq!(IpPacket::find(&legacy, limits).unwrap().network, 18);
}

#[test]
fn a_truncated_arp_packet_is_not_a_malformed_ip_packet() {
    // IPv4 with the EtherType of ARP: the lengths of addresses are those of other fields.
    let mut frame = udp4();
    frame[12..14].copy_from_slice(&[0x08, 0x06]);
    frame[18..20].copy_from_slice(&[0, 0xc1]);
    let limits = Limits::default();
    assert_eq!(headers(&frame, limits), (vec![Header::Ethernet], Some(Invalid::Truncated)));
    assert_eq!(IpPacket::find(&frame, limits), Err(Invalid::NotIp));
}

#[test]
fn extension_headers_are_limited() {
    for count in 0..12 {
        let mut rest: Vec<u8> = (0..count)
            .flat_map(|index| [if index + 1 == count { 17 } else { 60 }, 0, 1, 4, 0, 0, 0, 0])
            .collect();
        rest.extend([0, 1, 0, 2, 0, 8, 0, 0]);
        let frame = ipv6(if count == 0 { 17 } else { 60 }, &rest);
        let found = IpPacket::find(&frame, Limits::default());
        match count <= 8 {
            true => {
                let ip = found.unwrap();
                assert_eq!((ip.protocol, ip.transport), (IpProtocol::UDP, 54 + 8 * count));
            }
            false => assert_eq!(found, Err(Invalid::TooManyExtensions), "{count}"),
        }
    }
}

/// Decision: Linux's rule. Zero is a length unless hop-by-hop options follow.
#[test]
fn an_ipv6_length_of_zero_counts_only_without_hop_by_hop_options() {
    let hop = [17, 0, 1, 4, 0, 0, 0, 0, 0, 1, 0, 2, 0, 8, 0, 0];
    let mut jumbo = ipv6(0, &hop);
    let mut empty = ipv6(17, &hop[8..]);
    for frame in [&mut jumbo, &mut empty] {
        frame[18..20].fill(0);
    }
    let ip = IpPacket::find(&jumbo, Limits::default()).unwrap();
    assert_eq!((ip.transport, ip.end, ip.is_length_stated), (62, 70, false));
    let ip = IpPacket::find(&empty, Limits::default()).unwrap();
    assert_eq!((ip.transport, ip.end, ip.is_length_stated), (54, 54, true));
    assert_eq!(headers(&empty, Limits::default()).1, Some(Invalid::Truncated));
    let ip = IpPacket::find(&empty, Limits { is_cut: true, ..Limits::default() }).unwrap();
    assert_eq!((ip.transport, ip.end, ip.is_length_stated), (54, 62, false));
}

#[test]
fn routing_and_fragment_headers_are_understood() {
    for (next, extension, offset, is_final, layers) in [
        (43, [17, 0, 4, 0, 0, 0, 0, 0], 0, true, 4),
        (43, [17, 0, 4, 1, 0, 0, 0, 0], 0, false, 4),
        (44, [17, 9, 0, 1, 0, 0, 0, 9], 0, true, 4),
        (44, [17, 9, 0, 8, 0, 0, 0, 9], 8, true, 3),
        (135, [59, 0, 0, 0, 0, 0, 0, 0], 0, true, 2),
        (253, [17, 0, 0, 0, 0, 0, 0, 0], 0, true, 2),
    ] {
        let frame = ipv6(next, &[&extension[..], &[0, 1, 0, 2, 0, 8, 0, 0]].concat());
        let ip = IpPacket::find(&frame, Limits::default()).unwrap();
        assert_eq!((ip.fragment.offset, ip.is_destination_final), (offset, is_final), "{next}");
        assert_eq!(headers(&frame, Limits::default()).0.len(), layers, "{next}");
    }
}

#[test]
fn contradictory_and_cut_headers_are_errors() {
    let frame = udp4();
    for (at, value, why) in [
        (14, 0x44, Invalid::BadHeader),
        (14, 0x35, Invalid::BadHeader),
        (17, 15, Invalid::BadHeader),
        (17, 200, Invalid::Truncated),
        (12, 0x09, Invalid::NotIp),
    ] {
        let mut changed = frame.clone();
        changed[at] = value;
        assert_eq!(IpPacket::find(&changed, Limits::default()), Err(why), "byte {at}");
    }
    let mut fragment = frame.clone();
    fragment[21] = 1;
    assert!(IpPacket::find(&fragment, Limits::default()).unwrap().fragment.is_later());
    for length in 0..frame.len() {
        let cut = &frame[..length];
        assert_eq!(IpPacket::find(cut, Limits::default()), Err(Invalid::Truncated), "{length}");
        let found = IpPacket::find(cut, Limits { is_cut: true, ..Limits::default() });
        assert_eq!(
            found.map(|ip| ip.end),
            if length < 34 { Err(Invalid::Truncated) } else { Ok(49) }
        );
    }
}

proptest! {
    /// Any bytes end, and layers neither overlap nor leave the frame.
    #[test]
    fn layers_are_contiguous(
        mut frame in prop::collection::vec(any::<u8>(), 0..200),
        kind in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x0806]),
        is_cut in any::<bool>(),
    ) {
        if let Some(bytes) = frame.get_mut(12..15) {
            bytes[..2].copy_from_slice(&kind.to_be_bytes());
            bytes[2] = if kind == 0x0800 { 0x45 } else { 0x60 };
        }
        let mut at = 0;
        for layer in Walk::new(&frame, Limits { is_cut, ..Limits::default() }) {
            let Ok(layer) = layer else { break };
            prop_assert!(layer.start == at && layer.end > at);
            prop_assert!(layer.end <= frame.len() || layer.header == Header::Ipv4);
            at = layer.end;
        }
    }

    /// A second opinion on frames that are well-formed.
    #[test]
    fn etherparse_finds_the_same_transport(
        tags in 0..3_usize, payload in prop::collection::vec(any::<u8>(), 0..60),
        is_ipv6 in any::<bool>(), is_tcp in any::<bool>(),
    ) {
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = if is_ipv6 {
            ethernet.ipv6([1; 16], [2; 16], 9)
        } else {
            ethernet.ipv4([1; 4], [2; 4], 9)
        };
        let mut frame = Vec::new();
        match is_tcp {
            true => ip.tcp(1, 2, 3, 4).write(&mut frame, &payload).unwrap(),
            false => ip.udp(1, 2).write(&mut frame, &payload).unwrap(),
        }
        let frame = tagged(0x8100, tags, frame);
        let sliced = SlicedPacket::from_ethernet(&frame).unwrap();
        let inner = sliced.net.as_ref().unwrap().ip_payload_ref().unwrap().payload;
        let found = IpPacket::find(&frame, Limits::default()).unwrap();
        prop_assert_eq!(&frame[found.transport..found.end], inner);
        prop_assert_eq!(&frame[found.payload(&frame).unwrap()..], &payload[..]);
        let covered = checksum::sum(inner) + found.pseudo_header(&frame, inner.len()).unwrap();
        prop_assert!(checksum::is_valid(covered));
    }
}
