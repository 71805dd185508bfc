//! Packets of every size over a link, in one frame and in chains, from all kinds of memory.

use std::time::Duration;

use lab::{LinkOptions, TwoHosts};
use xsk::umem::HugePages;
use xsk::{ConfigError, Frame, Interface, SendError, Tx, Umem};
use xway_tests::xsk::exchange::{End, arrivals, bytes, exchange, link, memory, packet, set_mtu};

/// The kernel's own bytes before a received packet.
const KERNEL: usize = 256;
/// What Linux 6.18 wants of a frame besides the headroom.
const LEAST: u32 = 704;
/// An Ethernet header and a VLAN tag.
const HEADERS: usize = 18;

#[test]
fn every_size_arrives_as_it_was_sent() {
    let net = link(9000);
    for (size, headroom) in [
        (2048, 0),
        (2048, 1),
        (2048, 2048 - LEAST),
        (4096, 0),
        (4096, 1000),
        (4096, 4096 - LEAST),
        (2050, 0),
        (3000, 0),
        (3000, 77),
        (3000, 3000 - LEAST),
        (4094, 3),
    ] {
        let mut a = End::new(&net.a, memory(size, headroom), true);
        let mut b = End::new(&net.b, memory(size, headroom), true);
        let room = (size - headroom) as usize;
        assert_eq!(a.umem.transmit_room() as usize, room);
        assert_eq!(b.umem.receive_room() as usize, room - KERNEL);
        let edges = [room - KERNEL, room, 2 * (room - KERNEL), 2 * room, 3 * room];
        let around = edges.iter().flat_map(|edge| [edge - 1, *edge, edge + 1]);
        let common = [14, 15, 60, 1514, 1518, 3000, 9014, 9000 + HEADERS];
        for (seed, len) in around.chain(common).enumerate() {
            let (sent, parts) = (packet(len, seed), len.div_ceil(room - KERNEL));
            let fits = len.div_ceil(room) <= 18 && parts <= 64;
            if !(14..=9000 + HEADERS).contains(&len) || !fits {
                continue;
            }
            let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.send(&sent).unwrap());
            let name = format!("{len} bytes, frames of {size} with {headroom} in front");
            assert!(came == [(sent, parts)], "{name}: {} came", came.len());
        }
        a.close();
        b.close();
    }
}

/// What veth does with them: nothing below an Ethernet header arrives.
#[test]
fn shorter_than_a_header_is_sent_and_lost() {
    let net = link(1500);
    let mut a = End::new(&net.a, memory(2048, 0), false);
    let mut b = End::new(&net.b, memory(2048, 0), false);
    for len in 1..14 {
        let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.send(&packet(len, len)).unwrap());
        assert!(came.is_empty(), "{len} bytes: {came:?}");
    }
    a.close();
    b.close();
}

#[test]
fn as_long_as_the_longest_mtu() {
    let net = link(65_535);
    let mut a = End::new(&net.a, memory(4096, 0), true);
    let mut b = End::new(&net.b, memory(2048, 0), true);
    for len in [65_535 + 14, 65_535 + HEADERS] {
        let sent = packet(len, 1);
        let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.send(&sent).unwrap());
        assert!(came == [(sent, len.div_ceil(1792))], "{len} bytes: {} came", came.len());
    }
    a.close();
    b.close();
}

/// Each part somewhere else in its frame.
fn chain(tx: &mut Tx, sent: &[u8], parts: usize) -> Frame {
    let mut rest = sent;
    let mut frames = (0..parts).map(|number| {
        let len = if number + 1 == parts { rest.len() } else { rest.len() / (parts - number) };
        let mut frame = tx.alloc().unwrap();
        assert!(frame.resize(100) && frame.move_head(number as isize * 3));
        let (now, later) = rest.split_at(len);
        rest = later;
        assert!(frame.write(now));
        frame
    });
    let mut first = frames.next().unwrap();
    frames.for_each(|frame| first.append(frame).unwrap());
    first
}

#[test]
fn chains_of_all_lengths_arrive_whole() {
    let net = link(9000);
    for size in [2048, 3000] {
        let mut a = End::new(&net.a, memory(size, 0), true);
        let mut b = End::new(&net.b, memory(size, 0), true);
        for parts in 1..=18 {
            let lens = [parts * 14, 1514, 9018];
            for len in lens.into_iter().filter(|len| len / parts < 1900) {
                let sent = packet(len, parts);
                let came = arrivals(&mut a.tx, &mut b.rx, |tx| {
                    let frame = chain(tx, &sent, parts);
                    assert_eq!((frame.packet_len(), frame.fragments().count()), (len, parts));
                    tx.push(frame).unwrap();
                });
                let parts_came = len.div_ceil(size as usize - KERNEL);
                assert!(came == [(sent, parts_came)], "{len} bytes in {parts} parts of {size}");
            }
        }
        let frame = chain(&mut a.tx, &packet(1514, 0), 19);
        let rejected = a.tx.push(frame).unwrap_err();
        assert!(matches!(rejected.why, SendError::TooManyParts { parts: 19, most: 18 }));
        assert_eq!(rejected.frame.packet_len(), 1514, "handed back as it was");
        drop(rejected);
        a.close();
        b.close();
    }
}

#[test]
fn what_came_in_several_frames_goes_back_in_them() {
    let net = link(9000);
    for (size, headroom) in [(2048, 0), (2048, 100), (4096, 0), (3000, 0), (3000, 99)] {
        let mut a = End::new(&net.a, memory(size, headroom), true);
        let mut b = End::new(&net.b, memory(size, headroom), true);
        for len in [15, 60, 1514, 1792, 1793, 3000, 9018] {
            let sent = packet(len, len);
            let mut forwarded = Vec::new();
            let send = |tx: &mut Tx| tx.send(&sent).unwrap();
            exchange(&mut a.tx, &mut b.rx, send, |mut frame| {
                assert!(frame.write_at(len - 1, &[0xee]), "the last byte, wherever it is");
                forwarded.push(frame);
            });
            let came = arrivals(&mut b.tx, &mut a.rx, |tx| {
                forwarded.into_iter().for_each(|frame| tx.push(frame).unwrap());
            });
            let mut answer = sent.clone();
            *answer.last_mut().unwrap() = 0xee;
            let came: Vec<_> = came.into_iter().map(|(bytes, _)| bytes).collect();
            assert!(came == [answer], "{len} bytes, frames of {size}, {headroom} in front");
        }
        a.close();
        b.close();
    }
}

/// The head of a received packet moves anywhere in its frame, and the packet can still be sent.
#[test]
fn a_header_is_put_and_removed() {
    let net = link(1500);
    for (size, headroom) in [(2048, 0), (3000, 0), (3000, 33)] {
        let mut a = End::new(&net.a, memory(size, headroom), false);
        let mut b = End::new(&net.b, memory(size, headroom), false);
        for by in [-(KERNEL as isize) - headroom as isize, -14, -1, 1, 40] {
            let inner = packet(100, 3);
            let mut moved = None;
            let send = |tx: &mut Tx| tx.send(&inner).unwrap();
            exchange(&mut a.tx, &mut b.rx, send, |mut frame| {
                assert_eq!(frame.headroom(), KERNEL + headroom as usize);
                assert!(!frame.move_head(-(frame.headroom() as isize) - 1), "no byte more");
                assert!(frame.move_head(by));
                let header = packet(14, 0);
                frame[..14].copy_from_slice(&header);
                moved = Some(frame);
            });
            let moved = moved.unwrap();
            let expected = bytes(&moved);
            assert_eq!(expected.len() as isize, 100 - by);
            let came = arrivals(&mut b.tx, &mut a.rx, |tx| tx.push(moved).unwrap());
            assert_eq!(came, [(expected, 1)], "moved by {by}");
        }
        a.close();
        b.close();
    }
}

#[test]
fn what_cannot_be_sent_is_refused_and_nothing_is_lost() {
    let net = link(2000);
    set_mtu(&net.a, 1500);
    let mut single = End::new(&net.a, memory(2048, 100), false);
    set_mtu(&net.a, 2000);
    let mut b = End::new(&net.b, memory(4096, 0), true);
    let text = |refused: Result<(), SendError>| refused.unwrap_err().to_string();
    let tx = &mut single.tx;
    for (len, words) in [
        (0, "of 0 bytes"),
        (1949, "room for 1948; use larger frames, or a chain of them with multi-buffer"),
        (9000, "room for 1948"),
    ] {
        let refusal = text(tx.send(&packet(len, 0)));
        assert!(refusal.contains(words), "{len} bytes: {refusal}");
    }
    let frame = chain(tx, &packet(100, 0), 2);
    let refusal = tx.push(frame).unwrap_err();
    assert!(matches!(refusal.why, SendError::Fragmented { parts: 2 }));
    drop(refusal);
    let foreign = Umem::builder().frames(1).build().unwrap();
    let refusal = tx.push(foreign.alloc().unwrap()).unwrap_err();
    assert!(matches!(refusal.why, SendError::Foreign));
    drop(refusal);
    assert!(arrivals(tx, &mut b.rx, |tx| drop(tx.send(&[]))).is_empty());
    single.close();

    let mut chains = End::new(&net.a, memory(2048, 0), true);
    let tx = &mut chains.tx;
    let refusal = text(tx.send(&packet(2000 + HEADERS + 1, 0)));
    assert!(refusal.contains("2019 bytes, and the interface takes 2018"), "{refusal}");
    assert!(tx.alloc_long(2019).is_err());
    let (one, two) = (chain(tx, &packet(2018, 1), 2), chain(tx, &packet(2018, 2), 1));
    let came = arrivals(tx, &mut b.rx, |tx| {
        tx.push(one).unwrap();
        tx.push(two).unwrap();
    });
    assert_eq!(came.len(), 2, "exactly as long as the MTU allows");
    let mut empty_part = chain(tx, &packet(100, 0), 1);
    empty_part.append(tx.alloc().unwrap()).unwrap();
    empty_part.append(chain(tx, &packet(100, 0), 1)).unwrap();
    assert!(matches!(tx.push(empty_part).unwrap_err().why, SendError::Empty));
    assert!(arrivals(tx, &mut b.rx, |_| ()).is_empty());
    chains.close();
    b.close();
}

/// Packets above the MTU are refused: the kernel would drop them without an error.
#[test]
fn the_kernel_loses_packets_over_the_mtu_without_an_error() {
    let net = link(2000);
    let mut a = End::new(&net.a, memory(4096, 0), false);
    let mut b = End::new(&net.b, memory(4096, 0), true);
    for (host, all) in [(&net.a, true), (&net.b, false)] {
        set_mtu(host, 1500);
        let lens = [1518, 1519, 2018];
        let came = arrivals(&mut a.tx, &mut b.rx, |tx| {
            lens.iter().for_each(|len| tx.send(&packet(*len, 0)).unwrap());
        });
        let came: Vec<_> = came.iter().map(|(bytes, _)| bytes.len()).collect();
        let expected = if all { &lens[..] } else { &lens[..1] };
        assert_eq!(came, expected, "with {}'s MTU lowered", host.name());
    }
    a.close();
    b.close();
}

#[test]
fn a_receiver_without_chains_gets_what_fits_and_counts_the_rest() {
    let net = link(9000);
    for (size, headroom) in [(2048, 0), (2048, 700), (4096, 0), (3000, 5)] {
        let mut a = End::new(&net.a, memory(4096, 0), true);
        set_mtu(&net.b, 500);
        let mut b = End::new(&net.b, memory(size, headroom), false);
        set_mtu(&net.b, 9000);
        let room = (size - headroom) as usize - KERNEL;
        let came = arrivals(&mut a.tx, &mut b.rx, |tx| {
            for len in [room, room + 1, 9014, room - 1] {
                tx.send(&packet(len, 0)).unwrap();
            }
        });
        let came: Vec<_> = came.iter().map(|(bytes, _)| bytes.len()).collect();
        assert_eq!(came, [room, room - 1], "frames of {size}, {headroom} in front");
        assert_eq!(b.rx.stats().unwrap().kernel.rx_dropped, 2);
        a.close();
        b.close();
    }
}

/// One part for each available frame, and never half a packet.
#[test]
fn a_receiver_short_of_frames_loses_whole_packets() {
    let net = link(9000);
    let mut a = End::new(&net.a, memory(4096, 0), true);
    let few = memory(2048, 0).frames(10);
    let mut b = End::new(&net.b, few, true);
    let mut held = Vec::new();
    let send = |tx: &mut Tx| (0..4).for_each(|seed| tx.send(&packet(5000, seed)).unwrap());
    exchange(&mut a.tx, &mut b.rx, send, |frame| held.push(frame));
    assert!(!held.is_empty() && held.len() < 4, "{} of 4", held.len());
    for (seed, frame) in held.iter().enumerate() {
        assert!(bytes(frame) == packet(5000, seed), "whole, and in order");
    }
    held.clear();
    // Dropped frames go to the kernel with the next poll of the ring.
    assert!(b.rx.batch(1).next().is_none());
    let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.send(&packet(9018, 9)).unwrap());
    assert!(came == [(packet(9018, 9), 6)]);
    a.close();
    b.close();
}

#[test]
fn the_first_bytes_of_long_packets_can_be_had_alone() {
    let net = link(9000);
    let mut a = End::new(&net.a, memory(2048, 0), true);
    let mut b = End::new(&net.b, memory(2048, 0), true);
    a.tx.send(&packet(9014, 4)).unwrap();
    let mut buffer = [0; 2000];
    let mut len = 0;
    // The stack may send something before.
    while len != 9014 {
        assert!(b.rx.wait(Duration::from_secs(10)).unwrap(), "it did not come");
        len = b.rx.try_recv(&mut buffer).unwrap();
    }
    assert!(buffer[..] == packet(9014, 4)[..2000]);
    a.close();
    b.close();
}

#[test]
fn huge_pages_are_used_or_the_reason_is_reported() {
    let net = link(1500);
    let tried = memory(2048, 0).huge_pages(HugePages::Try);
    let umem = tried.clone().build().unwrap();
    match umem.huge_pages_refused() {
        None => assert!(umem.uses_huge_pages()),
        Some(why) => {
            assert!(!umem.uses_huge_pages());
            assert!(why.to_string().contains("nr_hugepages"), "{why}");
            let required = memory(2048, 0).huge_pages(HugePages::Require).build();
            assert_eq!(required.unwrap_err().to_string(), why.to_string());
        }
    }
    let mut a = End::new(&net.a, tried, false);
    let mut b = End::new(&net.b, memory(2048, 0), false);
    let came = arrivals(&mut a.tx, &mut b.rx, |tx| tx.send(&packet(60, 1)).unwrap());
    assert_eq!(came, [(packet(60, 1), 1)]);
    a.close();
    b.close();
}

#[test]
fn sizes_that_no_kernel_takes_are_refused_with_the_ones_it_does() {
    let size = |size| ConfigError::FrameSize { size, page: 4096 };
    let headroom = |headroom, size, max| ConfigError::Headroom { headroom, size, max };
    for (memory, expected) in [
        (memory(2046, 0), size(2046)),
        (memory(4098, 0), size(4098)),
        (memory(3001, 0), ConfigError::OddFrameSize { size: 3001 }),
        (memory(3000, 0).unaligned(false), ConfigError::FrameAlignment { size: 3000, near: 4096 }),
        (memory(2048, 2048 - LEAST + 1), headroom(2048 - LEAST + 1, 2048, 1344)),
        (memory(4096, 4096 - LEAST + 1), headroom(4096 - LEAST + 1, 4096, 3392)),
        (memory(2048, u32::MAX), headroom(u32::MAX, 2048, 1344)),
        (memory(2048, 0).software_checksum(true), ConfigError::ChecksumsWithoutMetadata),
        (memory(2048, 0).frames(0), ConfigError::FrameCount { count: 0 }),
    ] {
        match memory.build().unwrap_err() {
            xsk::Error::Config(error) => assert_eq!(error, expected),
            other => panic!("{other} instead of {expected}"),
        }
    }
}

/// The kernel has one setting for all sockets of a memory: that of the first.
#[test]
fn sockets_that_share_memory_agree_on_chains() {
    let net = TwoHosts::build(&LinkOptions { queues: 3, ..LinkOptions::default() }).unwrap();
    let umem = memory(2048, 0).build().unwrap();
    let open = |queue, multi_buffer| {
        let opened = net.a.run(|| {
            let interface = Interface::builder("eth0").without_steering().open()?;
            let socket = interface.socket(queue).umem(&umem).rings(64).fill(64);
            socket.multi_buffer(multi_buffer).open()
        });
        opened.unwrap()
    };
    let single = open(0, false).unwrap();
    let refusal = open(1, true).unwrap_err();
    assert!(matches!(refusal, xsk::Error::Config(ConfigError::MultiBuffer)), "{refusal}");
    drop(single);
    let _first = open(0, true).unwrap();
    let (mut tx, _rx) = open(1, false).unwrap().split();
    let frame = chain(&mut tx, &packet(100, 0), 2);
    tx.push(frame).unwrap();
}
