//! Sockets opened, killed and opened again under traffic, for as long as one likes.
//!
//! `XWAY_SOAK_SECONDS=600 cargo test -p xway-tests --test xsk soak:: -- --nocapture` runs ten
//! minutes instead of a few seconds, and prints what it did.
#![allow(clippy::print_stderr, reason = "the long run reports to who started it")]

use std::fs;
use std::time::{Duration, Instant};

use lab::{LinkOptions, TwoHosts};
use xsk::Umem;

use xway_tests::xsk::Holder;
use xway_tests::xsk::lives::{LIVES, Stage};

/// What a run has done.
#[derive(Debug, Default)]
struct Tally {
    lives: u32,
    kills: u32,
    links: u32,
    /// From the kill of a receiving process to a socket of this one on its queue, at worst.
    longest_reopening: Duration,
}

#[test]
fn no_frame_is_lost_and_no_queue_remains_busy() {
    let seconds = std::env::var("XWAY_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let (start, length) = (Instant::now(), Duration::from_secs(seconds.unwrap_or(3)));
    let umem = Umem::builder().frames(2048).build().unwrap();
    let (mut tally, mut held) = (Tally::default(), None);
    while tally.links == 0 || start.elapsed() < length {
        pass(&umem, &mut tally, start + length);
        // Whatever is not closed or unmapped adds up.
        let now = (count("/proc/self/fd"), rings());
        assert_eq!(*held.get_or_insert(now), now, "descriptors and mapped rings after {tally:?}");
    }
    eprintln!("{:.1} s: {tally:?}", start.elapsed().as_secs_f64());
}

/// Every life on a link of its own, which is removed while a socket is in use.
fn pass(umem: &Umem, tally: &mut Tally, end: Instant) {
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    for (number, (name, life)) in LIVES.iter().enumerate() {
        if tally.links > 0 && Instant::now() > end {
            break;
        }
        let queue = number as u32 % 2;
        let stage = Stage { net: &net, umem, queue, other: 1 - queue };
        let (sender, receiver) = (hold(&net, queue), receive(&net, queue));
        receiver.kill();
        let start = Instant::now();
        drop(stage.open());
        tally.longest_reopening = tally.longest_reopening.max(start.elapsed());
        life(&stage);
        let audit = umem.audit();
        assert!(audit.is_all_free(), "{name}: {audit:?}");
        sender.kill();
        tally.lives += 1;
        tally.kills += 2;
    }
    removed_in_use(&net, umem);
    tally.links += 1;
}

/// A process that sends out of `a`. The one before was killed while it did.
fn hold(net: &TwoHosts, queue: u32) -> Holder {
    Holder::start(&net.a, &[], &["eth0", &queue.to_string(), "--send", "--bare"])
        .unwrap_or_else(|error| panic!("queue {queue} after a kill: {error}"))
}

/// A process into which the sender's packets go, and which takes none.
fn receive(net: &TwoHosts, queue: u32) -> Holder {
    Holder::start(&net.b, &[], &["eth0", &queue.to_string()])
        .unwrap_or_else(|error| panic!("queue {queue} after a kill: {error}"))
}

fn removed_in_use(net: &TwoHosts, umem: &Umem) {
    let stage = Stage { net, umem, queue: 0, other: 1 };
    let _sender = hold(net, 0);
    let mut socket = stage.open();
    assert!(socket.rx().wait(xway_tests::xsk::PATIENCE).unwrap(), "packets arrive");
    let frame = socket.rx().batch(1).next();
    net.b.netlink().unwrap().delete_link(net.b.ifindex("eth0").unwrap()).unwrap();
    drop(socket);
    drop(frame);
    let audit = umem.audit();
    assert!(audit.is_all_free(), "removed in use: {audit:?}");
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Rings of sockets that this process has mapped.
fn rings() -> usize {
    fs::read_to_string("/proc/self/maps").unwrap().matches("socket:[").count()
}
