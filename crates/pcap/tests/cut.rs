//! Captures cut short at each byte: what is whole is given, then the cut is named as one.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod made;

use std::io::{self, Read};

use made::{Bytes, END, ORDERS, U32, block, bytes, enhanced, interface, option, section, simple};
use pcap::{Error, Packet, Reader};

/// A file in parts that start where something starts: (bytes, packets in it).
type Parts = Vec<(Vec<u8>, usize)>;

fn files() -> Vec<(String, Parts)> {
    let mut files = Vec::new();
    for order in ORDERS {
        let record = |data: &[u8]| {
            let len = U32(data.len() as u32);
            bytes(order, &[U32(1), U32(2), len, len, Bytes(data)])
        };
        let header = (made::pcap(order, 0xa1b2_c3d4), 0);
        let records = [b"first".as_slice(), b"", b"third one"].map(|data| (record(data), 1));
        files.push((format!("pcap {order:?}"), [header].into_iter().chain(records).collect()));

        let options = [option(order, 6, U32(3)), option(order, 1, Bytes(b"note"))].concat();
        let parts = vec![
            (section(order, &option(order, 4, Bytes(b"hand"))), 0),
            (interface(order, 1, 0, &option(order, 2, Bytes(b"eth0"))), 0),
            (enhanced(order, 0, 9, b"first", &[options, END.to_vec()].concat()), 1),
            (block(order, 77, &[1; 40]), 0),
            (simple(order, 3, b"two"), 1),
            (section(order, &[]), 0),
            (interface(order, 1, 0, &[]), 0),
            (enhanced(order, 0, 9, b"third", &[]), 1),
        ];
        files.push((format!("pcapng {order:?}"), parts));
    }
    files
}

/// Gives one byte at a time, and is interrupted before each.
struct Drop<'a>(&'a [u8], bool);

impl Read for Drop<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

/// All packets, and the error at the end.
fn read(input: impl Read) -> (Vec<Packet>, Option<Error>) {
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut packets = Vec::new();
    let mut packet = Packet::default();
    loop {
        match reader.next_into(&mut packet) {
            Ok(true) => packets.push(packet.clone()),
            Ok(false) => return (packets, None),
            Err(error) => return (packets, Some(error)),
        }
    }
}

#[test]
fn at_each_byte() {
    for (name, parts) in files() {
        let file: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let (all, error) = read(&file[..]);
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(all.len(), 3, "{name}");
        for len in 0..file.len() {
            let (packets, error) = read(&file[..len]);
            let (start, whole) = before(&parts, len);
            assert_eq!(packets, all[..whole], "{name} cut at {len}");
            match error {
                None => assert!(len == start && len > 0, "{name} cut at {len}"),
                Some(Error::NotCapture { .. }) => assert!(len < 4, "{name} cut at {len}"),
                Some(Error::Truncated { offset, missing }) => {
                    assert!(len > start, "{name} cut at {len}");
                    assert_eq!(offset, start as u64, "{name} cut at {len}");
                    assert!((1..=(file.len() - len) as u64).contains(&missing), "{missing}");
                }
                Some(error) => panic!("{name} cut at {len}: {error}"),
            }
        }
    }
}

/// Where the part that holds byte `len` starts, and the packets of the parts before it.
fn before(parts: &Parts, len: usize) -> (usize, usize) {
    let (mut start, mut packets) = (0, 0);
    for (bytes, count) in parts {
        if start + bytes.len() > len {
            break;
        }
        start += bytes.len();
        packets += count;
    }
    (start, packets)
}

#[test]
fn in_drops() {
    for (name, parts) in files() {
        let file: Vec<u8> = parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let (packets, error) = read(Drop(&file, false));
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(packets, read(&file[..]).0, "{name}");
    }
}

#[test]
fn a_stream_that_fails() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let (_, parts) = files().remove(0);
    let (packets, error) =
        read([&parts[0].0[..], &parts[1].0, &[0; 3]].concat().as_slice().chain(Broken));
    assert_eq!(packets.len(), 1);
    let error = error.unwrap();
    assert!(matches!(error, Error::Read { offset: 48, .. }), "{error:?}");
    assert_eq!(error.to_string(), "read at byte 48: the disk is gone");
}
