//! pcapng files made by hand: what blocks and options mean, in both byte orders.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod made;

use made::{
    Big, Bytes, END, Little, ORDERS, Order, U16, U32, U64, block, bytes, enhanced, interface,
    option, section, simple,
};
use pcap::{Format, Interface, LinkType, Packet, Reader};

fn read(file: &[u8]) -> (Vec<Packet>, Vec<Interface>) {
    let mut reader = Reader::new(file).unwrap();
    let packets = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.bytes_read(), file.len() as u64);
    (packets, reader.interfaces().to_vec())
}

fn ethernet() -> Interface {
    Interface { link_type: LinkType::ETHERNET, ..Interface::default() }
}

/// The only packet after one section and one interface with `options`.
fn one(order: Order, options: &[u8], packet: &[u8]) -> Packet {
    let file = [section(order, &[]), interface(order, 1, 0, options), packet.to_vec()].concat();
    let (mut packets, interfaces) = read(&file);
    assert_eq!((packets.len(), interfaces.len()), (1, 1));
    packets.remove(0)
}

#[test]
fn byte_by_byte_little_endian() {
    #[rustfmt::skip]
    let file = [
        // Section: kind, total, byte order, version 1.0, length unknown, total.
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
        // Interface: Ethernet, snaplen 96, if_name "br", if_tsresol 9.
        1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 96, 0, 0, 0,
        2, 0, 2, 0, b'b', b'r', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
        // Packet: interface 0, 2^32 + 5 ns, 3 bytes of 64; XDP_TX on queue 1.
        6, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 64, 0, 0, 0,
        0xaa, 0xbb, 0xcc, 0, 7, 0, 9, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        6, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0,
    ];
    check_bytes(&file);
}

#[test]
fn byte_by_byte_big_endian() {
    #[rustfmt::skip]
    let file = [
        0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 28,
        0, 0, 0, 1, 0, 0, 0, 40, 0, 1, 0, 0, 0, 0, 0, 96,
        0, 2, 0, 2, b'b', b'r', 0, 0, 0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40,
        0, 0, 0, 6, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 64,
        0xaa, 0xbb, 0xcc, 0, 0, 7, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0,
        0, 6, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 64,
    ];
    check_bytes(&file);
}

fn check_bytes(file: &[u8]) {
    let (packets, interfaces) = read(file);
    let name = Some("br".to_owned());
    assert_eq!(interfaces, [Interface { name, snaplen: 96, ..ethernet() }]);
    let expected = Packet {
        timestamp_ns: (1 << 32) + 5,
        original_len: 64,
        data: vec![0xaa, 0xbb, 0xcc],
        verdict: Some(3),
        queue: Some(1),
        ..Packet::default()
    };
    assert_eq!(packets, [expected]);
    assert_eq!(Reader::new(file).unwrap().format(), Format::Pcapng);
}

#[test]
fn options_of_packets() {
    let none = Packet { original_len: 2, data: b"ab".to_vec(), ..Packet::default() };
    let xdp = |order, code| bytes(order, &[Bytes(&[2]), U64(code)]);
    for order in ORDERS {
        let opt = |code, value| option(order, code, value);
        let text = |value: &'static [u8]| opt(1, Bytes(value));
        for (name, options, expected) in [
            ("none", vec![], none.clone()),
            ("the end alone", END.to_vec(), none.clone()),
            ("flags", opt(2, U32(0x8000_0002)), with(|p| p.flags = Some(0x8000_0002))),
            ("drops", opt(4, U64(1 << 40)), with(|p| p.dropped = Some(1 << 40))),
            ("id", opt(5, U64(u64::MAX)), with(|p| p.id = Some(u64::MAX))),
            ("queue", opt(6, U32(31)), with(|p| p.queue = Some(31))),
            ("XDP", opt(7, Bytes(&xdp(order, 4))), with(|p| p.verdict = Some(4))),
            ("TC's verdict", opt(7, Bytes(&[1, 9, 9, 9, 9, 9, 9, 9, 9])), none.clone()),
            ("the hardware's verdict", opt(7, Bytes(&[0, 1])), none.clone()),
            ("comment", text(b"caf\xc3\xa9"), with(|p| p.comment = Some("café".into()))),
            ("empty", text(b""), with(|p| p.comment = Some(String::new()))),
            ("NUL ends", text(b"a\0bc"), with(|p| p.comment = Some("a".into()))),
            ("no UTF-8", text(b"a\xffb"), with(|p| p.comment = Some("a\u{fffd}b".into()))),
            (
                "two comments",
                [text(b"one"), text(b"three")].concat(),
                with(|p| p.comment = Some("one\nthree".into())),
            ),
            (
                "hash, custom and unheard",
                {
                    let custom = opt(2988, Bytes(&[0, 0, 0, 1, 7]));
                    [opt(3, Bytes(&[2, 1, 2, 3, 4])), custom, opt(0x8001, Bytes(b"x"))].concat()
                },
                none.clone(),
            ),
            ("after the end", [END.to_vec(), opt(6, U32(1))].concat(), none.clone()),
            (
                "verdicts of two kinds",
                [opt(7, Bytes(&xdp(order, 1))), opt(7, Bytes(&[0, 5])), END.to_vec()].concat(),
                with(|p| p.verdict = Some(1)),
            ),
        ] {
            let packet = one(order, &[], &enhanced(order, 0, 0, b"ab", &options));
            assert_eq!(packet, expected, "{name}, {order:?}");
        }
    }
}

fn with(change: impl Fn(&mut Packet)) -> Packet {
    let mut packet = Packet { original_len: 2, data: b"ab".to_vec(), ..Packet::default() };
    change(&mut packet);
    packet
}

#[test]
fn times() {
    for order in ORDERS {
        let resolution = |value| option(order, 9, Bytes(&[value]));
        let offset = |seconds: i64| option(order, 14, U64(seconds.cast_unsigned()));
        for (name, options, time, expected_ns) in [
            ("microseconds by default", vec![], 5_000_000_001, 5_000_000_001_000),
            ("milliseconds", resolution(3), 1_700_000_000_123, 1_700_000_000_123_000_000),
            ("nanoseconds", resolution(9), (7 << 32) + 3, (7 << 32) + 3),
            ("1/1024 s", resolution(0x8a), 512, 500_000_000),
            ("offset", [resolution(9), offset(1_700_000_000)].concat(), 9, {
                1_700_000_000_000_000_009
            }),
            ("negative offset", [offset(-2), resolution(0)].concat(), 5, 3_000_000_000),
        ] {
            let packet = one(order, &options, &enhanced(order, 0, time, b"", &[]));
            assert_eq!(packet.timestamp_ns, expected_ns, "{name}, {order:?}");
        }
    }
}

#[test]
fn simple_packets_are_cut_at_the_snaplen() {
    for (snaplen, original, data) in
        [(0, 5, &b"abcde"[..]), (3, 5, b"abc"), (9, 5, b"abcde"), (4, 2, b"ab"), (0, 0, b"")]
    {
        for order in ORDERS {
            let file = [
                section(order, &[]),
                interface(order, 1, snaplen, &[]),
                interface(order, 101, 1, &[]),
                simple(order, original, data),
            ];
            let (packets, _) = read(&file.concat());
            let data = data.to_vec();
            let expected = Packet { original_len: original, data, ..Packet::default() };
            assert_eq!(packets, [expected], "{snaplen} {original} {order:?}");
        }
    }
}

#[test]
fn old_packets() {
    for order in ORDERS {
        for (drops, dropped) in [(0, Some(0)), (3, Some(3)), (0xffff, None)] {
            let head = [U16(0), U16(drops), U32(0), U32(7), U32(2), U32(8), Bytes(b"ab\0\0")];
            let options = [option(order, 2, U32(1)), option(order, 1, Bytes(b"old"))].concat();
            let old = block(order, 2, &[bytes(order, &head), options, END.to_vec()].concat());
            let expected = Packet {
                timestamp_ns: 7000,
                original_len: 8,
                dropped,
                flags: Some(Packet::INBOUND),
                comment: Some("old".into()),
                ..with(|_| ())
            };
            assert_eq!(one(order, &[], &old), expected, "{order:?}");
        }
    }
}

#[test]
fn sections_of_both_orders_and_unknown_blocks() {
    let name = |order, name: &'static [u8]| option(order, 2, Bytes(name));
    let unknown = |order, len: usize| block(order, 0x0000_0bad, &vec![0xee; len]);
    let first = [
        section(Little, &option(Little, 4, Bytes(b"dumpcap"))),
        unknown(Little, 0),
        interface(Little, 1, 0, &name(Little, b"eth0")),
        enhanced(Little, 0, 1, b"0", &[]),
        // Described after the first packet, and before its own.
        interface(Little, 101, 0, &[]),
        enhanced(Little, 1, 2, b"1", &[]),
    ];
    // Longer than any block that is looked into.
    let second = [
        section(Big, &[]),
        unknown(Big, 20 << 20),
        interface(Big, 113, 0, &[name(Big, b"eth9"), option(Big, 9, Bytes(&[9]))].concat()),
        enhanced(Big, 0, 3, b"2", &[]),
        unknown(Big, 4),
    ];
    let third = [section(Big, &[]), section(Little, &[])];
    let (packets, interfaces) = read(&[first.concat(), second.concat(), third.concat()].concat());

    let seen: Vec<_> = packets.iter().map(|p| (p.interface, p.timestamp_ns, &p.data[..])).collect();
    assert_eq!(seen, [(0, 1000, &b"0"[..]), (1, 2000, b"1"), (2, 3, b"2")]);
    let interface = |name: Option<&str>, link_type, section| Interface {
        name: name.map(str::to_owned),
        link_type,
        snaplen: 0,
        section,
    };
    let expected = [
        interface(Some("eth0"), LinkType::ETHERNET, 0),
        interface(None, LinkType::RAW, 0),
        interface(Some("eth9"), LinkType::LINUX_SLL, 1),
    ];
    assert_eq!(interfaces, expected);
}

#[test]
fn a_minor_version_of_2_is_0() {
    let mut file = section(Little, &[]);
    file[14] = 2;
    assert!(read(&file).0.is_empty());
}

#[test]
fn link_types_have_names() {
    for (number, text) in [(1, "Ethernet (1)"), (101, "raw IP (101)"), (147, "link type 147")] {
        assert_eq!(LinkType(number).to_string(), text);
    }
}
