//! Damaged pcapng files: each kind of damage is named, with the byte where it is.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod made;

use made::{
    Bytes, END, ORDERS, Order, U16, U32, U64, block, bytes, enhanced, interface, option, section,
    simple,
};
use pcap::{Error, MAX_INTERFACES, MAX_PACKET, Reader};

/// Bytes of `start`: a section header of 28, an interface of 20, a packet of 36.
const AT: u64 = 84;

fn start(order: Order) -> Vec<u8> {
    let file =
        [section(order, &[]), interface(order, 1, 0, &[]), enhanced(order, 0, 1, b"good", &[])]
            .concat();
    assert_eq!(file.len() as u64, AT);
    file
}

/// The error after the good packet, as text.
fn error_after(order: Order, damaged: &[u8]) -> String {
    let file = [start(order), damaged.to_vec(), enhanced(order, 0, 2, b"later", &[])].concat();
    let mut reader = Reader::new(&file[..]).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().data, b"good");
    let error = loop {
        match reader.next().expect("damage is an error") {
            Ok(packet) => assert_ne!(packet.data, b"later"),
            Err(error) => break error,
        }
    };
    assert!(reader.next().is_none(), "nothing follows an error");
    assert!(!matches!(error, Error::Truncated { .. }), "{error}");
    error.to_string()
}

fn table(cases: impl Fn(Order) -> Vec<(u64, &'static str, Vec<u8>)>) {
    for order in ORDERS {
        for (at, words, damaged) in cases(order) {
            let error = error_after(order, &damaged);
            let place = format!("byte {}: ", AT + at);
            assert!(error.starts_with(&place) && error.contains(words), "{order:?}: {error}");
        }
    }
}

#[test]
fn blocks() {
    let unequal = |order, kind, first: u32, last: u32| {
        bytes(order, &[U32(kind), U32(first), U64(0), U32(last)])
    };
    table(|order| {
        let section_of = |magic, major, minor| {
            let body = [U32(magic), U16(major), U16(minor), U64(u64::MAX)];
            block(order, 0x0a0d_0d0a, &bytes(order, &body))
        };
        vec![
            (4, "block of 0 bytes", unequal(order, 99, 0, 20)),
            (4, "block of 8 bytes", unequal(order, 99, 8, 20)),
            (4, "block of 22 bytes", unequal(order, 6, 22, 22)),
            (16, "block of 20 bytes that ends as one of 24", unequal(order, 99, 20, 24)),
            (16, "block of 20 bytes that ends as one of 0", unequal(order, 6, 20, 0)),
            (0, "block of 4294967292 bytes; 16777216 at most", {
                unequal(order, 6, u32::MAX - 3, 20)
            }),
            (8, "section header with byte order", section_of(0x1a2b_3c4e, 1, 0)),
            (12, "pcapng version 2.0", section_of(0x1a2b_3c4d, 2, 0)),
            (12, "pcapng version 1.1", section_of(0x1a2b_3c4d, 1, 1)),
            (0, "section header of 8 bytes; it has 16", {
                block(order, 0x0a0d_0d0a, &bytes(order, &[U32(0x1a2b_3c4d), U32(1)]))
            }),
        ]
    });
}

#[test]
fn fixed_fields() {
    table(|order| {
        let packet = |captured, room: usize| {
            let head = [U32(0), U32(0), U32(0), U32(captured), U32(captured)];
            block(order, 6, &[bytes(order, &head), vec![0; room]].concat())
        };
        vec![
            (0, "interface description of 4 bytes; it has 8", block(order, 1, &[0; 4])),
            (0, "packet block of 16 bytes; it has 20", block(order, 6, &[0; 16])),
            (0, "packet block of 16 bytes; it has 20", block(order, 2, &[0; 16])),
            (0, "simple packet block of 0 bytes; it has 4", block(order, 3, &[])),
            (0, "packet of 5 bytes in a block with room for 4", packet(5, 4)),
            (0, "packet of 1 bytes in a block with room for 0", packet(1, 0)),
            (0, "packet of 9 bytes in a block with room for 4", simple(order, 9, b"four")),
            (0, "packet of 262145 bytes; 262144 at most", packet(262_145, 262_148)),
            (0, "packet of 4294967295 bytes; 262144 at most", packet(u32::MAX, 4)),
            (8, "packet of interface 1, but 1 are described", enhanced(order, 1, 0, b"", &[])),
            (8, "packet of interface 4294967295", enhanced(order, u32::MAX, 0, b"", &[])),
            // Interfaces end with their section.
            (28 + 8, "packet of interface 0, but 0 are described", {
                [section(order, &[]), enhanced(order, 0, 0, b"", &[])].concat()
            }),
            (28, "packet of interface 0, but 0 are described", {
                [section(order, &[]), simple(order, 0, b"")].concat()
            }),
            (12, "timestamp before 1970 or after 2554", enhanced(order, 0, u64::MAX, b"", &[])),
        ]
    });
}

#[test]
fn options() {
    table(|order| {
        let packet = |options: Vec<u8>| enhanced(order, 0, 0, b"data", &options);
        let opt = |code, len: usize| option(order, code, Bytes(&vec![7; len]));
        let beyond = bytes(order, &[U16(1), U16(5), Bytes(b"four")]);
        // Options of a packet with four bytes start at 32, of an interface at 16.
        vec![
            (32, "option that ends beyond its block", packet(beyond.clone())),
            (40, "option that ends beyond its block", packet([opt(1, 4), beyond].concat())),
            (32, "option opt_endofopt of 4 bytes; it has 0", packet(opt(0, 4))),
            (32, "option epb_flags of 2 bytes; it has 4", packet(opt(2, 2))),
            (32, "option epb_flags of 8 bytes; it has 4", packet(opt(2, 8))),
            (32, "option epb_dropcount of 4 bytes; it has 8", packet(opt(4, 4))),
            (32, "option epb_packetid of 0 bytes; it has 8", packet(opt(5, 0))),
            (32, "option epb_queue of 8 bytes; it has 4", packet(opt(6, 8))),
            (40, "option epb_queue of 8 bytes", packet([opt(1, 3), opt(6, 8)].concat())),
            (32, "option epb_verdict without a type", packet(opt(7, 0))),
            (32, "option epb_verdict of XDP of 1 bytes; it has 9", {
                packet(option(order, 7, Bytes(&[2])))
            }),
            (32, "option epb_verdict of XDP of 10 bytes; it has 9", {
                packet(option(order, 7, Bytes(&[2; 10])))
            }),
            (16, "option if_tsresol of 4 bytes; it has 1", interface(order, 1, 0, &opt(9, 4))),
            (16, "option if_tsoffset of 4 bytes; it has 8", interface(order, 1, 0, &opt(14, 4))),
            (16, "name of an interface of 1025 bytes; 1024", interface(order, 1, 0, &opt(2, 1025))),
            (24, "option opt_endofopt of 1 bytes", section(order, &opt(0, 1))),
        ]
    });
}

#[test]
fn times_that_offsets_push_out() {
    for (offset_s, time) in [(-2, 1_000_000), (i64::MIN, 0), (i64::MAX, 0)] {
        let order = Order::Big;
        let options = [option(order, 14, U64(i64::cast_unsigned(offset_s))), END.to_vec()].concat();
        let damaged = [interface(order, 1, 0, &options), enhanced(order, 1, time, b"", &[])];
        let error = error_after(order, &damaged.concat());
        let place = AT + damaged[0].len() as u64 + 12;
        assert!(error.starts_with(&format!("byte {place}: timestamp")), "{error}");
    }
}

#[test]
fn interfaces_are_bounded() {
    let order = Order::Little;
    let more = interface(order, 1, 0, &[]).repeat(MAX_INTERFACES);
    let error = error_after(order, &more);
    assert!(error.contains("more than 65536 interfaces"), "{error}");
}

#[test]
fn the_greatest_packet_is_read() {
    let order = Order::Little;
    let packet = enhanced(order, 0, 1, &vec![9; MAX_PACKET], &option(order, 6, U32(4)));
    let file = [start(order), packet].concat();
    let packet = Reader::new(&file[..]).unwrap().last().unwrap().unwrap();
    assert_eq!((packet.data.len(), packet.queue), (MAX_PACKET, Some(4)));
}
