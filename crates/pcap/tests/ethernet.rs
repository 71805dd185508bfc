//! Ethernet headers for packets that were captured without one.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use pcap::{Framer, Framing, LinkPolicy, LinkType, Options, Packet, Reader, Unframed, Writer};

const IP: &[u8] = &[0x45, 1, 2, 3];
const IP6: &[u8] = &[0x60, 1, 2, 3];
const MADE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CAPTURED: [u8; 6] = [10, 11, 12, 13, 14, 15];

fn framed(link: u16, packet: &[u8]) -> Result<Vec<u8>, Unframed> {
    let mut out = Vec::new();
    Framing::default().frame(LinkType(link), packet, &mut out).map(|_| out)
}

/// A cooked header, version 1.
fn sll(device: u16, address_len: u16, protocol: u16) -> Vec<u8> {
    let halves = [4, device, address_len, 0x0a0b, 0x0c0d, 0x0e0f, 0, protocol];
    halves.iter().flat_map(|half| half.to_be_bytes()).collect()
}

/// A cooked header, version 2.
fn sll2(device: u16, address_len: u8, protocol: u16) -> Vec<u8> {
    let last = u16::from_be_bytes([4, address_len]);
    let halves = [protocol, 0, 0, 3, device, last, 0x0a0b, 0x0c0d, 0x0e0f, 0];
    halves.iter().flat_map(|half| half.to_be_bytes()).collect()
}

#[test]
fn each_type_gets_its_header() {
    for (label, link, header, payload, source, kind) in [
        ("raw IPv4", 101, vec![], IP, MADE, 0x0800),
        ("raw IPv6", 101, vec![], IP6, MADE, 0x86dd),
        ("BSD's raw", 12, vec![], IP, MADE, 0x0800),
        ("OpenBSD's raw", 14, vec![], IP6, MADE, 0x86dd),
        ("IPv4", 228, vec![], IP, MADE, 0x0800),
        ("IPv6", 229, vec![], IP6, MADE, 0x86dd),
        ("loopback of a little-endian host", 0, vec![2, 0, 0, 0], IP, MADE, 0x0800),
        ("loopback of a big-endian host", 0, vec![0, 0, 0, 2], IP, MADE, 0x0800),
        ("loopback of Linux", 0, vec![10, 0, 0, 0], IP6, MADE, 0x86dd),
        ("loopback of FreeBSD", 0, vec![28, 0, 0, 0], IP6, MADE, 0x86dd),
        ("loopback of macOS", 0, vec![30, 0, 0, 0], IP6, MADE, 0x86dd),
        ("loopback of OpenBSD", 108, vec![0, 0, 0, 24], IP6, MADE, 0x86dd),
        ("cooked ARP", 113, sll(1, 6, 0x0806), IP, CAPTURED, 0x0806),
        ("cooked VLAN", 113, sll(1, 6, 0x8100), IP, CAPTURED, 0x8100),
        ("cooked, tunnel without address", 113, sll(776, 0, 0x0800), IP, MADE, 0x0800),
        ("cooked, address of 4 bytes", 113, sll(778, 4, 0x0800), IP, MADE, 0x0800),
        ("cooked 802.2", 113, sll(1, 6, 4), IP, CAPTURED, 4),
        ("cooked v2", 276, sll2(772, 6, 0x0800), IP, CAPTURED, 0x0800),
        ("cooked v2, no address", 276, sll2(65534, 0, 0x86dd), IP6, MADE, 0x86dd),
    ] {
        let frame = framed(link, &[&header, payload].concat()).unwrap();
        let wanted: [&[u8]; 4] = [&[2, 0, 0, 0, 0, 2], &source, &u16::to_be_bytes(kind), payload];
        assert_eq!(frame, wanted.concat(), "{label}");
        assert!(LinkType(link).gets_header(), "{label}");
    }
    assert_eq!(framed(1, &[7; 3]), Ok(vec![7; 3]), "Ethernet remains as it is");
    assert!(!LinkType::ETHERNET.gets_header());
}

#[test]
fn the_rest_is_refused_with_its_reason() {
    let wireless = Unframed::LinkType(LinkType(105));
    for (label, link, packet, reason) in [
        ("802.11", 105, vec![0; 40], wireless),
        ("PPP", 9, vec![0xff, 3, 0, 0x21, 0x45], Unframed::LinkType(LinkType(9))),
        ("empty", 101, vec![], Unframed::Short),
        ("a family alone", 0, vec![2, 0, 0, 0], Unframed::Short),
        ("half a family", 0, vec![2, 0, 0], Unframed::Short),
        ("not IP", 101, vec![0x35, 0], Unframed::Protocol),
        ("AppleTalk", 0, vec![16, 0, 0, 0, 1], Unframed::Protocol),
        ("half a cooked header", 113, vec![0; 15], Unframed::Short),
        ("a cooked header alone", 113, sll(1, 6, 0x0800), Unframed::Short),
        ("half a cooked header, v2", 276, vec![0; 19], Unframed::Short),
        ("netlink", 113, [sll(824, 0, 0x0800), vec![0]].concat(), Unframed::Protocol),
        ("CAN", 113, [sll(280, 0, 12), vec![0]].concat(), Unframed::Protocol),
        ("802.2 of 1536 bytes", 113, [sll(1, 6, 4), vec![0; 1536]].concat(), Unframed::Protocol),
    ] {
        assert_eq!(framed(link, &packet), Err(reason), "{label}");
    }
    let names = [(105, "802.11 (105)"), (9, "PPP (9)"), (147, "link type 147")];
    names.iter().for_each(|(link, name)| assert_eq!(LinkType(*link).to_string(), *name));
    assert!(wireless.remedy().contains("monitor mode"));
    assert!(Unframed::LinkType(LinkType(9)).remedy().contains("-i any"));
}

#[test]
fn each_interface_has_its_type_and_types_are_counted() {
    let mut writer = Writer::pcapng(Vec::new(), &Options::default()).unwrap();
    let types = [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL];
    let interfaces = types.map(|link| writer.interface("any", link).unwrap());
    let cooked = [sll(1, 6, 0x0800), IP.to_vec()].concat();
    for (interface, data) in [(0, vec![7; 14]), (1, IP.to_vec()), (2, cooked), (1, IP6.to_vec())] {
        let interface = interfaces[interface];
        writer.write(&Packet { interface, data, ..Packet::default() }).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let mut framer = Framer::default();
    let mut strict = Framer::new(LinkPolicy::Strict, Framing::default());
    let (mut found, mut packet) = (Vec::new(), Packet::default());
    while reader.next_into(&mut packet).unwrap() {
        let link = reader.interfaces()[packet.interface].link_type;
        let mut frame = Vec::new();
        let added = framer.frame(link, &packet.data, &mut frame).unwrap();
        found.push((added, frame.len()));
        let refused = strict.frame(link, &packet.data, &mut Vec::new());
        let is_ethernet = link == LinkType::ETHERNET;
        assert_eq!(refused, if is_ethernet { Ok(None) } else { Err(Unframed::Strict(link)) });
    }
    assert_eq!(found, [(None, 14), (Some(1), 18), (Some(1), 18), (Some(2), 18)]);
    let wanted = [(LinkType::RAW, 2), (LinkType::LINUX_SLL, 1)];
    assert_eq!(framer.added(), &wanted.into());
    assert!(strict.added().is_empty());
    let notice = framer.framing().notice(LinkType::RAW);
    assert_eq!(
        notice,
        "raw IP (101) packets get an Ethernet header, to 02:00:00:00:00:02 from 02:00:00:00:00:01"
    );
}
