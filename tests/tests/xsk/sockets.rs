//! Packets from one socket to another over a link of the lab.

use std::time::{Duration, Instant};

use lab::{LinkOptions, TwoHosts};
use xsk::{Interface, Rx, Socket, Umem};

fn socket(interface: &str, umem: &Umem) -> Socket {
    Interface::open(interface).unwrap().socket(0).umem(umem).open().unwrap()
}

/// An Ethernet frame of an ethertype of our own, with a number in it.
fn packet(number: u64) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[14..22].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The numbers of `count` packets of ours.
fn numbers(rx: &mut Rx, count: usize) -> Vec<u64> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut numbers = Vec::new();
    while numbers.len() < count && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        rx.for_each(64, |frame| {
            if frame[12..14] == [0x88, 0xb5] {
                numbers.push(u64::from_be_bytes(frame[14..22].try_into().unwrap()));
            }
        });
    }
    numbers
}

#[test]
fn packets_arrive_in_order_and_every_frame_is_returned() {
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let (left, right) = (Umem::builder().build().unwrap(), Umem::builder().build().unwrap());
    let (mut tx, _rx) = lab.a.run(|| socket("eth0", &left)).unwrap().split();
    let (_tx, mut rx) = lab.b.run(|| socket("eth0", &right)).unwrap().split();
    for start in (0..10_000).step_by(100) {
        let mut batch = tx.batch(32);
        for number in start..start + 100 {
            batch.send(&packet(number)).unwrap();
        }
        batch.finish().unwrap();
        assert_eq!(numbers(&mut rx, 100), (start..start + 100).collect::<Vec<_>>());
    }
    assert_eq!(tx.counters().sent, 10_000);
    assert_eq!(rx.counters().invalid + tx.counters().invalid, 0);
    let audit = left.audit();
    assert_eq!(audit.free + audit.held + audit.receiving + audit.transmitting, audit.total);
    drop((tx, _rx, _tx, rx));
    assert!(left.audit().is_all_free(), "{:?}", left.audit());
    assert!(right.audit().is_all_free(), "{:?}", right.audit());
}

#[test]
fn received_frames_are_sent_on_without_a_copy() {
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let (left, right) = (Umem::builder().build().unwrap(), Umem::builder().build().unwrap());
    let (mut tx, mut rx) = lab.a.run(|| socket("eth0", &left)).unwrap().split();
    let (mut back, mut there) = lab.b.run(|| socket("eth0", &right)).unwrap().split();
    for round in 0..200 {
        tx.send(&packet(round)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut answered = false;
        while !answered && Instant::now() < deadline {
            there.wait(Duration::from_millis(100)).unwrap();
            for mut frame in there.batch(64).filter(|frame| frame[12..14] == [0x88, 0xb5]) {
                frame[21] ^= 0x80;
                back.push(frame).unwrap();
                answered = true;
            }
        }
        assert_eq!(numbers(&mut rx, 1), [round ^ 0x80]);
    }
    drop((tx, rx, back, there));
    assert!(left.audit().is_all_free() && right.audit().is_all_free());
}
