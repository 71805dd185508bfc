//! Edits, checked with etherparse, which computes every checksum again.

use etherparse::{PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use super::super::{AddressMap, Vlan};
use super::*;

fn edits(addresses: &[&str], ports: &[&str]) -> Edits {
    Edits {
        addresses: addresses.iter().map(|map| map.parse().unwrap()).collect(),
        ports: ports.iter().map(|map| map.parse().unwrap()).collect(),
        ..Edits::default()
    }
}

fn all() -> Edits {
    edits(
        &["src:10.0.0.0/8=192.168.0.0/16", "10.9.0.1=1.2.3.4", "fd00::/16=2001:db8::/32"],
        &["src:*=5000-5999", "53=8053"],
    )
}

const UDP4: [&str; 2] = ["10.0.0.1", "10.9.0.1"];
const UDP6: [&str; 2] = ["fd00::1", "fd00::2"];

/// A frame of the protocol `udp`, `tcp` or `icmp`.
fn frame(protocol: &str, [from, to]: [&str; 2], tags: usize, payload: &[u8]) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let step = if from.contains(':') {
        let address = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().octets();
        ethernet.ipv6(address(from), address(to), 64)
    } else {
        let address = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
        ethernet.ipv4(address(from), address(to), 64)
    };
    let mut frame = Vec::new();
    match protocol {
        "udp" => step.udp(1234, 53).write(&mut frame, payload).unwrap(),
        "tcp" => step.tcp(1234, 53, 7, 512).write(&mut frame, payload).unwrap(),
        "icmp" if from.contains(':') => {
            step.icmpv6_echo_request(1, 2).write(&mut frame, payload).unwrap();
        }
        _ => step.icmpv4_echo_request(1, 2).write(&mut frame, payload).unwrap(),
    }
    (0..tags).for_each(|id| drop(frame.splice(12..12, [0x81, 0, 0x60, id as u8])));
    frame
}

/// Checks that all checksums are those that etherparse computes.
fn check(frame: &[u8]) {
    let packet = SlicedPacket::from_ethernet(frame).unwrap();
    let v4 = match packet.net.as_ref().unwrap() {
        etherparse::NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.calc_header_checksum(), header.header_checksum, "IPv4");
            Some(header)
        }
        _ => None,
    };
    let v6 = match packet.net.as_ref().unwrap() {
        etherparse::NetSlice::Ipv6(ip) => Some(ip.header().to_header()),
        _ => None,
    };
    let transport = match packet.transport.unwrap() {
        TransportSlice::Igmp(_) => unreachable!("none is made"),
        TransportSlice::Udp(udp) => (udp.to_header().checksum, {
            let header = udp.to_header();
            let four = v4.as_ref().map(|ip| header.calc_checksum_ipv4(ip, udp.payload()).unwrap());
            let six = v6.as_ref().map(|ip| header.calc_checksum_ipv6(ip, udp.payload()).unwrap());
            four.or(six).unwrap()
        }),
        TransportSlice::Tcp(tcp) => (tcp.to_header().checksum, {
            let header = tcp.to_header();
            let four = v4.as_ref().map(|ip| header.calc_checksum_ipv4(ip, tcp.payload()).unwrap());
            let six = v6.as_ref().map(|ip| header.calc_checksum_ipv6(ip, tcp.payload()).unwrap());
            four.or(six).unwrap()
        }),
        TransportSlice::Icmpv4(icmp) => {
            (icmp.checksum(), icmp.header().icmp_type.calc_checksum(icmp.payload()))
        }
        TransportSlice::Icmpv6(icmp) => {
            let ip = v6.as_ref().unwrap();
            let kind = icmp.header().icmp_type;
            (
                icmp.checksum(),
                kind.calc_checksum(ip.source, ip.destination, icmp.payload()).unwrap(),
            )
        }
    };
    assert_eq!(transport.0, transport.1, "transport");
}

#[test]
fn every_checksum_is_right_afterwards() {
    for addresses in [UDP4, UDP6] {
        for protocol in ["udp", "tcp", "icmp"] {
            for tags in 0..3 {
                let mut bytes = frame(protocol, addresses, tags, b"odd");
                check(&bytes);
                let before = bytes.clone();
                assert!(all().apply(&mut bytes) && bytes != before, "{protocol}, {tags} tags");
                check(&bytes);
            }
        }
    }
}

#[test]
fn addresses_and_ports_are_mapped_by_side_first_match_first() {
    let mut bytes = frame("udp", UDP4, 0, b"");
    all().apply(&mut bytes);
    assert_eq!(bytes[26..30], [192, 168, 0, 1], "the source, by network");
    assert_eq!(bytes[30..34], [1, 2, 3, 4], "the destination, one to one");
    assert_eq!(bytes[34..36], (5000_u16 + 234).to_be_bytes(), "port 1234, mapped to the range");
    assert_eq!(bytes[36..38], 8053_u16.to_be_bytes());
    let mut bytes = frame("tcp", UDP6, 0, b"");
    all().apply(&mut bytes);
    assert_eq!(bytes[22..28], [0x20, 1, 0xd, 0xb8, 0, 0]);
    assert_eq!(bytes[37], 1);
}

#[test]
fn udp_without_a_checksum_stays_without_and_zero_is_sent_as_ones() {
    let mut bytes = frame("udp", UDP4, 0, b"text");
    bytes[40..42].fill(0);
    all().apply(&mut bytes);
    assert_eq!(bytes[40..42], [0, 0]);
    // A source address that makes the sum zero.
    let mut seen = false;
    for address in 0..=u16::MAX {
        let [high, low] = address.to_be_bytes();
        let to = format!("{}.{}.{high}.{low}", 20, 7);
        let map = AddressMap::new(
            Side::Source,
            ("10.0.0.1".parse().unwrap(), 32),
            (to.parse().unwrap(), 32),
        );
        let mut bytes = frame("udp", UDP4, 0, b"text");
        let edits = Edits { addresses: vec![map.unwrap()], ..Edits::default() };
        edits.apply(&mut bytes);
        assert_ne!(bytes[40..42], [0, 0], "{to}");
        if bytes[40..42] == [0xff, 0xff] {
            check(&bytes);
            seen = true;
        }
    }
    assert!(seen);
}

#[test]
fn fragments_have_headers_to_change_only_at_the_front() {
    let whole = frame("udp", UDP4, 0, &[9; 64]);
    // The first fragment: its checksum covers the whole datagram, and changes in the same way.
    let fragment = |bytes: &mut Vec<u8>, word: u16| {
        bytes[20..22].copy_from_slice(&word.to_be_bytes());
        let ip = etherparse::Ipv4HeaderSlice::from_slice(&bytes[14..34]).unwrap().to_header();
        bytes[24..26].copy_from_slice(&ip.calc_header_checksum().to_be_bytes());
    };
    let (mut first, mut later, mut reference) = (whole.clone(), whole.clone(), whole.clone());
    fragment(&mut first, 0x2000);
    fragment(&mut later, 0x2002);
    all().apply(&mut reference);
    all().apply(&mut first);
    all().apply(&mut later);
    assert_eq!(first[34..42], reference[34..42], "ports and checksum as in the whole");
    assert_eq!(later[34..], whole[34..], "a later fragment has data there");
    assert_eq!(later[26..34], reference[26..34], "and the same addresses");
    for bytes in [first, later] {
        let ip = etherparse::Ipv4HeaderSlice::from_slice(&bytes[14..34]).unwrap().to_header();
        assert_eq!(ip.calc_header_checksum(), ip.header_checksum);
    }
}

#[test]
fn headers_after_extension_headers_are_edited() {
    let plain = frame("udp", UDP6, 0, b"behind");
    // Next header, and the extension header before it: (kind, bytes).
    let with = |kind: u8, extension: &[u8]| {
        let mut bytes = plain.clone();
        let next = std::mem::replace(&mut bytes[20], kind);
        let extension: Vec<u8> = [&[next], extension].concat();
        bytes.splice(54..54, extension);
        bytes
    };
    let pad = [0, 1, 4, 0, 0, 0, 0];
    let segments = |left: u8| [&[2, 4, left, 0, 0, 0, 0][..], &[7; 16]].concat();
    for (label, mut bytes, at, transport) in [
        ("hop by hop", with(0, &pad), 62, true),
        ("destination options", with(60, &pad), 62, true),
        ("arrived by segments", with(43, &segments(0)), 78, true),
        ("first fragment", with(44, &[0, 0, 1, 0, 0, 0, 9]), 62, true),
        ("later fragment", with(44, &[0, 0, 8, 0, 0, 0, 9]), 62, false),
        ("unknown", with(253, &pad), 62, false),
    ] {
        let before = bytes.clone();
        let mut reference = plain.clone();
        all().apply(&mut reference);
        all().apply(&mut bytes);
        assert_eq!(bytes[22..54], reference[22..54], "{label}: addresses");
        let wanted = if transport { &reference[54..] } else { &before[at..] };
        assert_eq!(&bytes[at..], wanted, "{label}");
    }
    // While a routing header has segments left, the checksum covers another destination.
    let mut bytes = with(43, &segments(1));
    let destination = edits(&["dst:fd00::/16=2001:db8::/32"], &[]);
    assert!(destination.apply(&mut bytes));
    assert_eq!(bytes[78..], plain[54..]);
}

#[test]
fn cut_packets_are_changed_as_far_as_they_go() {
    for (protocol, addresses) in [("udp", UDP4), ("tcp", UDP4), ("tcp", UDP6), ("icmp", UDP6)] {
        let whole = frame(protocol, addresses, 1, b"payload");
        let mut reference = whole.clone();
        all().apply(&mut reference);
        for len in 14..whole.len() {
            let mut bytes = whole[..len].to_vec();
            all().apply(&mut bytes);
            assert_eq!(bytes.len(), len);
            let ip = 18 + if addresses == UDP4 { 20 } else { 40 };
            let wanted = if len < ip { &whole } else { &reference };
            // After the addresses, a field is changed only if it is complete.
            let exact = len.min(ip);
            assert_eq!(bytes[..exact], wanted[..exact], "{protocol} cut to {len}");
        }
    }
}

#[test]
fn hardware_addresses_and_tags() {
    let macs = |maps: &[&str]| maps.iter().map(|map| map.parse().unwrap()).collect::<Vec<_>>();
    let plain = frame("udp", UDP4, 0, b"");
    let mut bytes = plain.clone();
    let edits = Edits {
        macs: macs(&["src:02:02:02:02:02:02=02:00:00:00:00:05", "dst:*=02:00:00:00:00:06"]),
        ..Edits::default()
    };
    assert!(edits.apply(&mut bytes));
    assert_eq!(bytes[..12], [2, 0, 0, 0, 0, 6, 2, 0, 0, 0, 0, 5]);

    let tagged = |tags| frame("udp", UDP4, tags, b"");
    let twice = tagged(2);
    for (label, vlan, before, after) in [
        ("set where none is", Vlan::Set(0), plain.clone(), {
            let mut frame = plain.clone();
            frame.splice(12..12, [0x81, 0, 0, 0]);
            frame
        }),
        ("set the outermost", Vlan::Set(0x123), twice.clone(), {
            let mut frame = twice.clone();
            frame[14..16].copy_from_slice(&[0x61, 0x23]);
            frame
        }),
        ("push", Vlan::Push(7), tagged(1), {
            let mut frame = tagged(1);
            frame.splice(12..12, [0x81, 0, 0, 7]);
            frame
        }),
        ("strip two", Vlan::Strip, twice, plain.clone()),
        ("strip none", Vlan::Strip, plain.clone(), plain.clone()),
    ] {
        let mut frame = before.clone();
        let edits = Edits { vlan: Some(vlan), ..Edits::default() };
        assert_eq!(edits.apply(&mut frame), before != after, "{label}");
        assert_eq!(frame, after, "{label}");
    }
}

#[test]
fn text_is_read_and_nonsense_refused() {
    for wrong in ["", "10.0.0.1", "10.0.0.1=fd00::1", "10.0.0.0/33=1.1.1.1", "10.0.0/8=1.1.1.1"] {
        assert!(wrong.parse::<AddressMap>().is_err(), "{wrong}");
    }
    for wrong in ["", "80", "80=", "90-80=1", "80=65536", "from:80=90"] {
        assert!(wrong.parse::<super::super::PortMap>().is_err(), "{wrong}");
    }
    for wrong in ["", "*=*", "02:00:00:00:00:01=", "any=02:00:00:00:00:01"] {
        assert!(wrong.parse::<super::super::MacMap>().is_err(), "{wrong}");
    }
    for wrong in ["", "set", "set:4096", "push:-1", "strip:1", "pop"] {
        assert!(wrong.parse::<Vlan>().is_err(), "{wrong}");
    }
    assert_eq!("set:4095".parse(), Ok(Vlan::Set(4095)));
    assert_eq!("strip".parse(), Ok(Vlan::Strip));
    let all: AddressMap = "0.0.0.0/0=10.0.0.1".parse().unwrap();
    assert_eq!(all.map(Side::Source, &[9, 9, 9, 9]), Some(vec![10, 0, 0, 1]));
}

proptest! {
    #[test]
    fn any_addresses_leave_right_checksums(
        from in any::<u32>(), to in any::<u32>(), length in 0..=32_u8,
        source in any::<u16>(), payload in prop::collection::vec(any::<u8>(), 0..40),
        protocol in prop::sample::select(vec!["udp", "tcp", "icmp"]),
    ) {
        let text = |bits: u32| std::net::Ipv4Addr::from_bits(bits).to_string();
        let addresses = [text(from), text(to)];
        let mut bytes = frame(protocol, [&addresses[0], &addresses[1]], 0, &payload);
        let edits = edits(
            &[&format!("{}/{length}={}/{length}", text(from), text(to))],
            &[&format!("*={source}")],
        );
        edits.apply(&mut bytes);
        check(&bytes);
    }
}
