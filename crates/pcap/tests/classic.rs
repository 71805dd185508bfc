//! pcap files made by hand: what each header means, and what is refused.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod made;

use made::{Big, Bytes, Field, Little, ORDERS, Order, U16, U32, bytes, pcap};
use pcap::{Error, Format, Interface, LinkType, MAX_PACKET, Packet, Reader};

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;

fn record(order: Order, head: [u32; 4], data: &[u8]) -> Vec<u8> {
    let [seconds, fraction, captured, original] = head.map(U32);
    bytes(order, &[seconds, fraction, captured, original, Bytes(data)])
}

/// All packets and how it ended.
fn read(bytes: &[u8]) -> (Vec<Packet>, Option<Error>) {
    let mut packets = Vec::new();
    for packet in Reader::new(bytes).unwrap() {
        match packet {
            Ok(packet) => packets.push(packet),
            Err(error) => return (packets, Some(error)),
        }
    }
    (packets, None)
}

#[test]
fn four_magics_byte_by_byte() {
    let little = [0x01, 0, 0, 0, 0x02, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0xaa, 0xbb, 0xcc];
    let big = [0, 0, 0, 0x01, 0, 0, 0, 0x02, 0, 0, 0, 3, 0, 0, 0, 9, 0xaa, 0xbb, 0xcc];
    let little_rest = [2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 101, 0, 0, 0];
    let big_rest = [0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 101];
    for (magic, rest, record, timestamp_ns) in [
        ([0xd4, 0xc3, 0xb2, 0xa1], little_rest, little, 1_000_002_000),
        ([0x4d, 0x3c, 0xb2, 0xa1], little_rest, little, 1_000_000_002),
        ([0xa1, 0xb2, 0xc3, 0xd4], big_rest, big, 1_000_002_000),
        ([0xa1, 0xb2, 0x3c, 0x4d], big_rest, big, 1_000_000_002),
    ] {
        let file = [&magic[..], &rest, &record, &record].concat();
        let mut reader = Reader::new(&file[..]).unwrap();
        assert_eq!(reader.format(), Format::Pcap);
        let interface =
            Interface { link_type: LinkType::RAW, snaplen: 1024, ..Interface::default() };
        assert_eq!(reader.interfaces(), [interface]);
        assert_eq!(reader.bytes_read(), 24);

        let data = vec![0xaa, 0xbb, 0xcc];
        let expected = Packet { timestamp_ns, original_len: 9, data, ..Packet::default() };
        assert_eq!(reader.next().unwrap().unwrap(), expected, "{magic:02x?}");
        assert_eq!(reader.bytes_read(), 24 + 19);
        assert_eq!(reader.next().unwrap().unwrap(), expected, "{magic:02x?}");
        assert!(reader.next().is_none());
        assert_eq!(reader.bytes_read(), file.len() as u64);
    }
}

#[test]
fn one_packet_is_used_again() {
    let long = record(Little, [1, 2, 5, 5], b"12345");
    let short = record(Little, [3, 4, 2, 2], b"ab");
    let file = [pcap(Little, NANO), long, short].concat();
    let mut reader = Reader::new(&file[..]).unwrap();
    // Whatever was there before is gone.
    let mut packet = Packet { verdict: Some(1), comment: Some("old".into()), ..Packet::default() };
    packet.data = vec![9; 100];
    let place = packet.data.as_ptr();
    assert!(reader.next_into(&mut packet).unwrap());
    assert_eq!((&packet.data[..], packet.verdict, &packet.comment), (&b"12345"[..], None, &None));
    assert!(reader.next_into(&mut packet).unwrap());
    assert_eq!((&packet.data[..], packet.original_len), (&b"ab"[..], 2));
    assert_eq!(packet.data.as_ptr(), place, "the buffer is kept");
    assert!(!reader.next_into(&mut packet).unwrap());
}

#[test]
fn odd_records_are_read() {
    let second = 1_000_000_000;
    for (name, head, data, timestamp_ns, original_len) in [
        ("no data", [0, 0, 0, 0], &b""[..], 0, 0),
        ("cut to nothing", [0, 0, 0, 60], b"", 0, 60),
        ("original of 0", [0, 0, 2, 0], b"ab", 0, 2),
        ("a fraction above a second", [7, 1_000_001, 0, 0], b"", 8 * second + 1000, 0),
        ("latest", [u32::MAX, 0, 0, 0], b"", u64::from(u32::MAX) * second, 0),
    ] {
        for order in ORDERS {
            let file = [pcap(order, MICRO), record(order, head, data)].concat();
            let (packets, error) = read(&file);
            assert!(error.is_none(), "{name}: {error:?}");
            let data = data.to_vec();
            let expected = Packet { timestamp_ns, original_len, data, ..Packet::default() };
            assert_eq!(packets, [expected], "{name}");
        }
    }
}

#[test]
fn old_versions_have_lengths_in_another_order() {
    for order in ORDERS {
        for (minor, lengths, original_len) in [
            (0, [9, 3], 9),
            (1, [9, 3], 9),
            (2, [9, 3], 9),
            (3, [9, 3], 9),
            (3, [3, 9], 9),
            (3, [3, 3], 3),
            (4, [3, 9], 9),
            // A writer's mistake that newer readers correct: longer than it was.
            (4, [3, 2], 3),
        ] {
            let header = [U32(MICRO), U16(2), U16(minor), U32(0), U32(0), U32(65_535), U32(1)];
            let [first, second] = lengths;
            let file =
                [bytes(order, &header), record(order, [1, 2, first, second], b"abc")].concat();
            let (packets, error) = read(&file);
            assert!(error.is_none(), "2.{minor} {lengths:?}: {error:?}");
            let found = (&packets[0].data[..], packets[0].original_len);
            assert_eq!(found, (&b"abc"[..], original_len), "2.{minor} {lengths:?}");
        }
    }
}

#[test]
fn what_is_no_capture() {
    for (start, words) in [
        (&b""[..], "it has 0 bytes"),
        (&[0xd4, 0xc3, 0xb2], "it has 3 bytes"),
        (b"\x7fELF\x02\x01\x01", "it starts with [7f, 45, 4c, 46]"),
        (&[0x1f, 0x8b, 8, 0], "gunzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
        (b"\xfd7zXZ\0", "unxz"),
        // Half of a section header's kind.
        (&[0x0a, 0x0d, 0x0d], "it has 3 bytes"),
    ] {
        let error = Reader::new(start).unwrap_err();
        assert!(matches!(error, Error::NotCapture { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(words) && text.contains("not a pcap or pcapng capture"), "{text}");
    }
}

#[test]
fn headers_that_are_refused() {
    let header = |magic, major, minor, link| {
        [U32(magic), U16(major), U16(minor), U32(0), U32(0), U32(65_535), U32(link)]
    };
    let cases: [(&str, [Field<'_>; 7], &str); 8] = [
        ("modified", header(0xa1b2_cd34, 2, 4, 1), "\"modified\" pcap file"),
        ("IXIA hardware", header(0x1c00_01ac, 2, 4, 1), "IXIA hardware"),
        ("IXIA software", header(0x1c00_01ab, 2, 4, 1), "IXIA software"),
        ("older", header(MICRO, 1, 2, 1), "byte 4: pcap version 1.2"),
        ("newer", header(MICRO, 2, 5, 1), "byte 4: pcap version 2.5"),
        ("major", header(NANO, 3, 4, 1), "byte 4: pcap version 3.4"),
        ("reserved", header(MICRO, 2, 4, 0x0001_0001), "byte 20: link type 0x00010001 has"),
        ("reserved R", header(MICRO, 2, 4, 0x0800_0001), "byte 20: link type 0x08000001 has"),
    ];
    for (name, fields, words) in cases {
        for order in ORDERS {
            let error = Reader::new(&bytes(order, &fields)[..]).unwrap_err().to_string();
            assert!(error.contains(words), "{name}, {order:?}: {error}");
        }
    }
}

#[test]
fn length_of_the_frame_check_sequence_is_no_link_type() {
    let fields = [U32(MICRO), U16(2), U16(4), U32(0), U32(0), U32(9), U32(0x2400_0001)];
    let file = bytes(Big, &fields);
    let reader = Reader::new(&file[..]).unwrap();
    assert_eq!(reader.interfaces()[0].link_type, LinkType::ETHERNET);
}

#[test]
fn packets_are_bounded() {
    let whole = record(Little, [1, 1, 4, 4], b"good");
    let start = (24 + whole.len()) as u64;
    for (captured, fits) in [(MAX_PACKET as u32, true), (MAX_PACKET as u32 + 1, false)] {
        let big = record(Little, [1, 1, captured, captured], &vec![7; captured as usize]);
        let file = [pcap(Little, MICRO), whole.clone(), big].concat();
        let (packets, error) = read(&file);
        assert_eq!(packets.len(), if fits { 2 } else { 1 });
        assert_eq!(packets[0].data, b"good");
        match error {
            None => assert!(fits),
            Some(Error::TooBig { offset, size, limit, .. }) => {
                assert!(!fits);
                assert_eq!((offset, size, limit), (start, captured.into(), MAX_PACKET as u64));
            }
            Some(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn nothing_follows_an_error() {
    let bad = record(Little, [1, 1, u32::MAX, 4], b"");
    let file = [pcap(Little, MICRO), bad, record(Little, [1, 1, 0, 0], b"")].concat();
    let mut reader = Reader::new(&file[..]).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
    assert!(!reader.next_into(&mut Packet::default()).unwrap());
}
