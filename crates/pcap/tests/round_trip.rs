//! What is written is read again; the bytes are fixed; what a format cannot hold is refused.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io;

use pcap::{
    Error, Format, LinkType, MAX_INTERFACES, MAX_PACKET, Options, Packet, Reader, Resolution,
    Writer,
};
use proptest::collection::vec;
use proptest::prelude::*;

const LINK_TYPES: [LinkType; 3] = [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL];

fn pcapng(packets: &[Packet]) -> Vec<u8> {
    let mut writer = Writer::pcapng(Vec::new(), &Options::default()).unwrap();
    for (index, link_type) in LINK_TYPES.into_iter().enumerate() {
        assert_eq!(writer.interface(&format!("veth{index}"), link_type).unwrap(), index);
    }
    finish(writer, packets)
}

fn finish(mut writer: Writer<Vec<u8>>, packets: &[Packet]) -> Vec<u8> {
    for packet in packets {
        writer.write(packet).unwrap();
    }
    let len = writer.bytes_written();
    let bytes = writer.finish().unwrap();
    assert_eq!(bytes.len() as u64, len);
    bytes
}

fn read(bytes: &[u8]) -> Vec<Packet> {
    Reader::new(bytes).unwrap().map(Result::unwrap).collect()
}

prop_compose! {
    fn packet()(
        timestamp_ns in any::<u64>(),
        interface in 0..LINK_TYPES.len(),
        cut in 0u32..3,
        data in vec(any::<u8>(), 0..200),
        (verdict, id, dropped) in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
        (queue, flags) in any::<(Option<u32>, Option<u32>)>(),
        comment in proptest::option::of("[^\0]{0,20}"),
    ) -> Packet {
        let original_len = data.len() as u32 + cut;
        Packet {
            timestamp_ns, interface, original_len, data, verdict, queue, id, flags, dropped, comment
        }
    }
}

proptest! {
    #[test]
    fn pcapng_keeps_all(packets in vec(packet(), 0..20)) {
        let bytes = pcapng(&packets);
        prop_assert_eq!(&read(&bytes), &packets);
        prop_assert_eq!(pcapng(&packets), bytes, "the same bytes each time");
    }

    #[test]
    fn pcap_keeps_times_lengths_and_data(packets in vec(packet(), 0..20), nano in any::<bool>()) {
        let resolution = if nano { Resolution::Nano } else { Resolution::Micro };
        let unit_ns = if nano { 1 } else { 1000 };
        let packets: Vec<_> = packets
            .into_iter()
            .map(|packet| Packet {
                timestamp_ns: packet.timestamp_ns % (1_000_000_000 << 32),
                interface: 0,
                ..packet
            })
            .collect();
        let writer = Writer::pcap(Vec::new(), LinkType::RAW, resolution).unwrap();
        let bytes = finish(writer, &packets);
        let expected: Vec<_> = packets
            .into_iter()
            .map(|Packet { timestamp_ns, original_len, data, .. }| Packet {
                timestamp_ns: timestamp_ns / unit_ns * unit_ns,
                original_len,
                data,
                ..Packet::default()
            })
            .collect();
        prop_assert_eq!(read(&bytes), expected);
    }
}

#[test]
fn interfaces_come_back() {
    let bytes = pcapng(&[]);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert!(reader.next().is_none());
    let found: Vec<_> =
        reader.interfaces().iter().map(|i| (i.name.as_deref(), i.link_type)).collect();
    assert_eq!(
        found,
        [
            (Some("veth0"), LinkType::ETHERNET),
            (Some("veth1"), LinkType::RAW),
            (Some("veth2"), LinkType::LINUX_SLL),
        ]
    );
    let writer = Writer::pcap(Vec::new(), LinkType::IPV6, Resolution::Micro).unwrap();
    let bytes = writer.finish().unwrap();
    let reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.format(), Format::Pcap);
    assert_eq!(reader.interfaces()[0].link_type, LinkType::IPV6);
}

#[test]
fn pcapng_byte_by_byte() {
    let options = Options { application: Some("xway".into()), ..Options::default() };
    let mut writer = Writer::pcapng(Vec::new(), &options).unwrap();
    let interface = writer.interface("br0", LinkType::ETHERNET).unwrap();
    let packet = Packet {
        timestamp_ns: (3 << 32) + 1,
        interface,
        data: vec![0xaa; 5],
        original_len: 60,
        verdict: Some(2),
        queue: Some(7),
        id: Some(9),
        flags: Some(Packet::INBOUND),
        dropped: Some(4),
        comment: Some("hi".into()),
    };
    let plain = Packet { data: vec![0xbb; 4], ..Packet::default() };
    writer.write(&packet).unwrap();
    writer.write(&plain).unwrap();
    #[rustfmt::skip]
    let expected = [
        0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        4, 0, 4, 0, b'x', b'w', b'a', b'y', 0, 0, 0, 0, 40, 0, 0, 0,

        1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        2, 0, 3, 0, b'b', b'r', b'0', 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,

        6, 0, 0, 0, 108, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 60, 0, 0, 0,
        0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0, 0, 0,
        1, 0, 2, 0, b'h', b'i', 0, 0, 2, 0, 4, 0, 1, 0, 0, 0,
        4, 0, 8, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 9, 0, 0, 0, 0, 0, 0, 0,
        6, 0, 4, 0, 7, 0, 0, 0, 7, 0, 9, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 108, 0, 0, 0,

        6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0,
        0xbb, 0xbb, 0xbb, 0xbb, 36, 0, 0, 0,
    ];
    assert_eq!(writer.finish().unwrap(), expected);
}

#[test]
fn pcap_byte_by_byte() {
    let packet = Packet { timestamp_ns: 5_000_001_999, data: vec![1, 2], ..Packet::default() };
    for (resolution, magic, fraction) in [
        (Resolution::Micro, [0xd4, 0xc3, 0xb2, 0xa1], [1, 0, 0, 0]),
        (Resolution::Nano, [0x4d, 0x3c, 0xb2, 0xa1], [0xcf, 7, 0, 0]),
    ] {
        let mut writer = Writer::pcap(Vec::new(), LinkType::ETHERNET, resolution).unwrap();
        writer.write(&packet).unwrap();
        let header = [2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 5, 0, 0, 0];
        let lens = [2, 0, 0, 0, 2, 0, 0, 0, 1, 2];
        let expected = [&magic[..], &header, &fraction, &lens].concat();
        assert_eq!(writer.finish().unwrap(), expected, "{resolution:?}");
    }
}

#[test]
fn what_is_refused_writes_nothing() {
    let good = Packet { data: vec![1; 60], ..Packet::default() };
    let comment = |text: &str| Packet { comment: Some(text.into()), ..good.clone() };
    for (name, packet, words) in [
        ("interface", Packet { interface: 1, ..good.clone() }, "interface 1; 1 exist"),
        ("length", Packet { data: vec![0; MAX_PACKET + 1], ..good.clone() }, "262145 bytes"),
        ("NUL", comment("a\0b"), "NUL"),
        ("comment", comment(&"x".repeat(65_536)), "65536 bytes"),
    ] {
        let mut writer = Writer::pcapng(Vec::new(), &Options::default()).unwrap();
        writer.interface("eth0", LinkType::ETHERNET).unwrap();
        writer.write(&good).unwrap();
        let error = writer.write(&packet).unwrap_err();
        assert!(matches!(&error, Error::Unwritable { what } if what.contains(words)), "{error}");
        writer.write(&good).unwrap();
        let packets = read(&writer.finish().unwrap());
        assert_eq!(packets.len(), 2, "{name}");
    }
}

#[test]
fn what_fits_just_so() {
    let comment = Some("x".repeat(65_535));
    let data = vec![7; MAX_PACKET];
    let original_len = MAX_PACKET as u32;
    let packet = Packet { comment, data, original_len, ..Packet::default() };
    assert_eq!(read(&pcapng(std::slice::from_ref(&packet))), [packet]);
}

#[test]
fn files_that_are_refused() {
    let writer = || Writer::pcapng(Vec::new(), &Options::default()).unwrap();
    let error = writer().interface("eth\0", LinkType::ETHERNET).unwrap_err().to_string();
    assert!(error.contains("NUL"), "{error}");
    let error = writer().interface(&"x".repeat(1025), LinkType::ETHERNET).unwrap_err().to_string();
    assert!(error.contains("1025 bytes"), "{error}");
    let error = writer().write(&Packet::default()).unwrap_err().to_string();
    assert!(error.contains("interface 0; 0 exist"), "{error}");

    let options = Options { os: Some("x".repeat(65_536)), ..Options::default() };
    let error = Writer::pcapng(Vec::new(), &options).unwrap_err().to_string();
    assert!(error.contains("65536 bytes"), "{error}");

    let mut writer = Writer::pcap(Vec::new(), LinkType::ETHERNET, Resolution::Nano).unwrap();
    let error = writer.interface("eth0", LinkType::ETHERNET).unwrap_err().to_string();
    assert!(error.contains("write pcapng"), "{error}");
    let late = Packet { timestamp_ns: 1_000_000_000 << 32, ..Packet::default() };
    let error = writer.write(&late).unwrap_err().to_string();
    assert!(error.contains("after 2106"), "{error}");
    assert_eq!(writer.finish().unwrap().len(), 24);
}

#[test]
fn interfaces_are_bounded() {
    let mut writer = Writer::pcapng(io::sink(), &Options::default()).unwrap();
    for index in 0..MAX_INTERFACES {
        assert_eq!(writer.interface("eth0", LinkType::ETHERNET).unwrap(), index);
    }
    let error = writer.interface("eth0", LinkType::ETHERNET).unwrap_err();
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    let mut room = [0; 64];
    let mut writer = Writer::pcapng(&mut room[..], &Options::default()).unwrap();
    writer.interface("eth0", LinkType::ETHERNET).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
}
