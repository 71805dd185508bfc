//! Lives of sockets, each ended at another point while packets arrive.
//!
//! Rule: a life keeps no value: when it returns, every frame of the memory must be free.
//! It gets an unused queue, into which another process sends continuously.

use std::panic::resume_unwind;
use std::thread;

use lab::{Host, TwoHosts};
use xsk::{Frame, Interface, Rx, SendError, Socket, Tx, Umem};

use super::{PATIENCE, packet};

/// Where sockets are opened and dropped.
#[derive(Debug)]
pub struct Stage<'a> {
    pub net: &'a TwoHosts,
    /// Memory shared by all lives, so that frames that one loses are missing in the next.
    pub umem: &'a Umem,
    /// Queue of `b`'s eth0; packets arrive there.
    pub queue: u32,
    /// Queue of `a`'s eth0; no other process uses it.
    pub other: u32,
}

pub type Life = fn(&Stage<'_>);

pub const LIVES: [(&str, Life); 13] = [
    ("untouched", untouched),
    ("refused", refused),
    ("frames in hand", frames_in_hand),
    ("sent", sent),
    ("an open batch", open_batch),
    ("packets not taken", packets_not_taken),
    ("half a batch taken", half_a_batch),
    ("packets outlive their socket", packets_outlive),
    ("echoed", echoed),
    ("forwarded to another device", forwarded),
    ("sender ends first", sender_first),
    ("receiver ends first", receiver_first),
    ("a thread panics", panics),
];

impl Stage<'_> {
    fn open_on(&self, host: &Host, queue: u32) -> Socket {
        let opened = host.run(|| {
            let interface = Interface::open("eth0")?;
            interface.socket(queue).umem(self.umem).rings(256).fill(256).batch(8).open()
        });
        opened.unwrap().unwrap_or_else(|error| panic!("queue {queue}: {error}"))
    }

    pub fn open(&self) -> Socket {
        self.open_on(&self.net.b, self.queue)
    }
}

fn untouched(stage: &Stage<'_>) {
    stage.open();
}

/// A bind that fails releases everything.
fn refused(stage: &Stage<'_>) {
    let opened = stage.net.b.run(|| Interface::open("eth0")?.socket(77).umem(stage.umem).open());
    opened.unwrap().unwrap_err();
    let _first = stage.open();
    let taken = stage.net.b.run(|| {
        let interface = Interface::open("eth0")?;
        interface.socket(stage.queue).umem(stage.umem).patience(std::time::Duration::ZERO).open()
    });
    taken.unwrap().unwrap_err();
}

fn frames_in_hand(stage: &Stage<'_>) {
    let mut socket = stage.open();
    let mut frames: Vec<Frame> = (0..50).map(|_| socket.tx().alloc().unwrap()).collect();
    frames.extend((0..50).map(|_| stage.umem.alloc().unwrap()));
    drop(socket);
    for frame in &mut frames {
        assert!(frame.write(&packet(100)), "a frame outlives its socket");
    }
}

fn sent(stage: &Stage<'_>) {
    let mut socket = stage.open();
    send(socket.tx(), 200);
}

fn open_batch(stage: &Stage<'_>) {
    let mut socket = stage.open();
    let mut batch = socket.tx().batch(64);
    for _ in 0..10 {
        batch.send(&packet(60)).unwrap();
    }
}

fn packets_not_taken(stage: &Stage<'_>) {
    let mut socket = stage.open();
    arrived(socket.rx());
}

fn half_a_batch(stage: &Stage<'_>) {
    let mut socket = stage.open();
    arrived(socket.rx());
    let mut batch = socket.rx().batch(64);
    assert!(batch.next().is_some());
    let taken = batch.next();
    drop(batch);
    drop(socket);
    drop(taken);
}

fn packets_outlive(stage: &Stage<'_>) {
    let mut socket = stage.open();
    let frames = take(socket.rx(), 100);
    drop(socket);
    assert!(frames.iter().all(|frame| frame[12..14] == packet(60)[12..14]), "nobody wrote there");
}

fn echoed(stage: &Stage<'_>) {
    let mut socket = stage.open();
    let (tx, rx) = socket.halves();
    for frame in take(rx, 100) {
        push(tx, frame);
    }
}

/// From `b` to `a`'s device with the same memory, without a copy.
fn forwarded(stage: &Stage<'_>) {
    let (mut from, mut to) = (stage.open(), stage.open_on(&stage.net.a, stage.other));
    for frame in take(from.rx(), 100) {
        push(to.tx(), frame);
    }
    drop(from);
    send(to.tx(), 10);
}

fn sender_first(stage: &Stage<'_>) {
    let (mut tx, mut rx) = stage.open().split();
    send(&mut tx, 100);
    thread::spawn(move || drop(tx)).join().unwrap();
    drop(take(&mut rx, 10));
}

fn receiver_first(stage: &Stage<'_>) {
    let (mut tx, mut rx) = stage.open().split();
    let frames = take(&mut rx, 10);
    drop(rx);
    frames.into_iter().for_each(|frame| push(&mut tx, frame));
    send(&mut tx, 100);
}

fn panics(stage: &Stage<'_>) {
    let mut socket = stage.open();
    let thread = thread::spawn(move || {
        arrived(socket.rx());
        let _in_hand = socket.rx().batch(8).next();
        let mut batch = socket.tx().batch(64);
        batch.send(&packet(60)).unwrap();
        // As a panic, and without its words in the output.
        resume_unwind(Box::new("in the middle"));
    });
    assert!(thread.join().is_err());
}

/// Sends as fast as it goes; what finds no room is tried again.
fn send(tx: &mut Tx, count: usize) {
    for _ in 0..count {
        loop {
            match tx.send(&packet(60)) {
                Ok(()) => break,
                Err(SendError::Full) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn push(tx: &mut Tx, frame: Frame) {
    let mut frame = Some(frame);
    while let Some(next) = frame.take() {
        match tx.push(next) {
            Err(rejected) if matches!(rejected.why, SendError::Full) => {
                frame = Some(rejected.frame);
            }
            Err(rejected) => panic!("{}", rejected.why),
            Ok(()) => {}
        }
    }
}

/// At least two packets are there.
fn arrived(rx: &mut Rx) {
    drop(take(rx, 20));
    assert!(rx.wait(PATIENCE).unwrap(), "packets arrive");
}

fn take(rx: &mut Rx, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < count {
        assert!(rx.wait(PATIENCE).unwrap(), "packets arrive");
        frames.extend(rx.batch(count - frames.len()));
    }
    frames
}
