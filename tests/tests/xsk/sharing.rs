//! One memory, several sockets: on other queues, other devices, and on the same queue.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, Router, TwoHosts};
use sys::net::xsk::XskSocket;
use xsk::steer::Steering;
use xsk::{Frame, Interface, Rx, Steer, Umem, interface};

const MINE: u16 = 0x88b5;
const OTHER: u16 = 0x88b6;

fn packet(ethertype: u16, number: u8) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
    bytes[14] = number;
    bytes
}

fn is_ours(bytes: &[u8]) -> bool {
    [MINE, OTHER].iter().any(|ours| bytes[12..14] == ours.to_be_bytes())
}

/// Ethertype and number of the next packet of ours.
fn next(rx: &mut Rx) -> Option<(u16, u8)> {
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut found = None;
    while found.is_none() && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        rx.for_each(1, |frame| {
            found = is_ours(frame).then(|| (u16::from_be_bytes([frame[12], frame[13]]), frame[14]));
        });
    }
    found
}

fn steered(rules: &str) -> interface::Builder {
    Interface::builder("eth0").steer(Steer::Rules(vec![rules.parse().unwrap()]))
}

/// A socket that only sends.
fn sender(host: &Host, interface: &str) -> xsk::Tx {
    let open = || {
        let interface = Interface::builder(interface).without_steering().open()?;
        interface.socket(0).open()
    };
    host.run(open).unwrap().unwrap().split().0
}

/// The first packet of ours that either of two sockets has, handed to `handle`.
fn either(queues: &mut [Rx], mut handle: impl FnMut(Frame)) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        for rx in &mut *queues {
            if let Some(frame) = rx.batch(64).find(|frame| is_ours(frame)) {
                return handle(frame);
            }
        }
    }
    panic!("no packet came to either queue");
}

#[test]
fn sockets_on_two_queues_pass_frames_to_each_other() {
    let lab = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let umem = Umem::builder().frames(16_384).build().unwrap();
    let open = |umem: &Umem| {
        let interface = Interface::open("eth0").unwrap();
        [0, 1].map(|queue| interface.socket(queue).umem(umem).open().unwrap().split())
    };
    let [(_tx0, rx0), (mut tx1, rx1)] = lab.b.run(|| open(&umem)).unwrap();
    let far = Umem::builder().frames(16_384).build().unwrap();
    let [(mut tx, far0), (_far, far1)] = lab.a.run(|| open(&far)).unwrap();
    // The sender's CPU chooses the receiver's queue.
    let (mut here, mut there) = ([rx0, rx1], [far0, far1]);
    for number in 0..100 {
        tx.send(&packet(MINE, number)).unwrap();
        either(&mut here, |frame| tx1.push(frame).unwrap());
        either(&mut there, |frame| assert_eq!(frame[14], number));
    }
    drop((here, _tx0, tx1));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn frames_are_forwarded_between_devices_without_a_copy() {
    let lab = Router::build(&LinkOptions::default()).unwrap();
    let umem = Umem::builder().frames(16_384).build().unwrap();
    let open = || {
        ["eth0", "eth1"].map(|name| {
            Interface::open(name).unwrap().socket(0).umem(&umem).open().unwrap().split()
        })
    };
    let [(_, mut left), (mut right, _)] = lab.b.run(open).unwrap();
    let mut tx = sender(&lab.a, "eth0");
    let (_tx, mut rx) =
        lab.c.run(|| Interface::open("eth0")?.socket(0).open()).unwrap().unwrap().split();
    for number in 0..100 {
        tx.send(&packet(MINE, number)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut moved = 0;
        while moved == 0 && Instant::now() < deadline {
            left.wait(Duration::from_millis(100)).unwrap();
            for frame in left.batch(64).filter(|frame| is_ours(frame)) {
                right.push(frame).unwrap();
                moved += 1;
            }
        }
        assert_eq!(next(&mut rx), Some((MINE, number)));
    }
    drop((left, right));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn two_sockets_on_one_queue_have_their_own_packets() {
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let umem = Umem::builder().frames(8192).build().unwrap();
    let open = || {
        let (one, two) = (steered("ethertype 0x88b5").open()?, steered("ethertype 0x88b6").open()?);
        let first = one.socket(0).umem(&umem).shareable(true).open()?;
        let second = two.socket(0).beside(first.shared_queue().unwrap()).open()?;
        Ok::<_, xsk::Error>((first, second))
    };
    let (first, second) = lab.b.run(open).unwrap().unwrap();
    let ((mut tx1, mut rx1), (mut tx2, mut rx2)) = (first.split(), second.split());
    let (mut tx, mut rx) =
        lab.a.run(|| Interface::open("eth0")?.socket(0).open()).unwrap().unwrap().split();
    // More than the fill ring holds, so that frames of one are used by the other.
    for round in 0..6000_u32 {
        let (number, other) = (round as u8, round % 3 == 0);
        let ethertype = if other { OTHER } else { MINE };
        tx.send(&packet(ethertype, number)).unwrap();
        let here = if other { &mut rx2 } else { &mut rx1 };
        assert_eq!(next(here), Some((ethertype, number)), "round {round}");
        let tx = if round % 2 == 0 { &mut tx1 } else { &mut tx2 };
        tx.send(&packet(MINE, number)).unwrap();
        assert_eq!(next(&mut rx), Some((MINE, number)), "round {round}");
    }
    // The first one may go before the second.
    drop((tx1, rx1));
    tx.send(&packet(OTHER, 99)).unwrap();
    assert_eq!(next(&mut rx2), Some((OTHER, 99)));
    drop((tx2, rx2));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn a_thread_without_rights_uses_what_it_was_handed() {
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let (interface, descriptor) = lab
        .b
        .run(|| {
            let socket = XskSocket::open().unwrap();
            (Interface::open("eth0").unwrap(), socket.as_fd().try_clone_to_owned().unwrap())
        })
        .unwrap();
    let map = interface.steering().unwrap().map().try_clone_to_owned().unwrap();
    let slot = interface.steering().unwrap().first_slot();
    let open = move || {
        sys::cap::give_up().unwrap();
        let umem = Umem::builder().frames(512).build()?;
        let refused = Interface::open("eth0").err().map(|error| error.to_string());
        let steering = Steering::from_map(map, slot)?;
        let interface = Interface::builder("eth0").steering(steering).open()?;
        let own = interface.socket(0).umem(&umem).open().err().map(|error| error.to_string());
        let small = interface.socket(0).umem(&umem).rings(128).fill(128);
        let mut rx = small.descriptor(descriptor).open()?.split().1;
        let number = next(&mut rx);
        Ok::<_, xsk::Error>((refused, own, number))
    };
    let thread = lab.b.spawn(open).unwrap();
    let mut tx = sender(&lab.a, "eth0");
    while !thread.is_finished() {
        tx.send(&packet(MINE, 3)).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let (refused, own, number) = thread.join().unwrap().unwrap().unwrap();
    let refused = refused.unwrap();
    assert!(refused.contains("CAP_"), "attaching: {refused}");
    let own = own.unwrap();
    assert!(own.contains("EPERM"), "a socket of its own: {own}");
    assert_eq!(number, Some((MINE, 3)));
}
