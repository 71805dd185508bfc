//! Bursts: their packets are the same as those that are sent one by one, and none is lost when a
//! burst ends early.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::*;
use crate::{SendError, Umem};

/// Sends bursts of `size` until `count` packets are accepted, each with its number.
fn burst_all(tx: &mut Tx, count: u32, size: usize) {
    let (mut sent, mut tries) = (0u32, 0);
    while sent < count {
        let most = size.min((count - sent) as usize);
        let mut number = sent;
        let taken = tx.send_burst(most, 60, |bytes| {
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            number += 1;
        });
        let taken = taken.unwrap() as u32;
        assert_eq!(number, sent + taken, "every written packet is sent");
        sent += taken;
        tries = if taken == 0 { tries + 1 } else { 0 };
        assert!(tries < 100, "stalled: {:?}", tx.counters());
    }
}

#[test]
fn bursts_of_any_size_arrive_in_order() {
    for size in [1, 2, 16, 17, 300] {
        for batch in [1, 3, 16, 1000] {
            for (frames, budget) in [(18, 1), (64, 3), (64, 32)] {
                let mut world = World { answer: Answer::Transmit(budget), ..World::default() };
                world.options.batch = batch;
                world.memory = Umem::builder().frames(frames);
                let (umem, socket, kernel) = world.open();
                kernel.state().wire = Some(Vec::new());
                let (mut tx, rx) = socket.split();
                burst_all(&mut tx, 300, size);
                settle(&mut tx);
                let counters = tx.counters();
                assert_eq!((counters.sent, counters.completed, counters.invalid), (300, 300, 0));
                let wire = kernel.state().wire.take().unwrap();
                let numbers = wire.iter().map(|packet| packet.first_chunk().unwrap());
                assert!(numbers.map(|bytes| u32::from_be_bytes(*bytes)).eq(0..300));
                assert!(wire.iter().all(|packet| packet.len() == 60));
                drop((tx, rx));
                assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
            }
        }
    }
}

#[test]
fn a_burst_ends_where_there_is_no_room() {
    let (_, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    let (mut tx, _rx) = socket.split();
    let mut calls = 0;
    assert_eq!(tx.send_burst(40, 60, |_| calls += 1).unwrap(), 16, "one per slot");
    assert_eq!(tx.send_burst(40, 60, |_| calls += 1).unwrap(), 0);
    assert!(calls >= 16, "{calls}");
    assert_eq!((tx.in_flight(), tx.counters().sent), (16, 16));
    kernel.state().answer = Answer::Transmit(32);
    settle(&mut tx);
    assert_eq!(tx.send_burst(0, 60, |_| unreachable!("an empty burst")).unwrap(), 0);
    assert_eq!(kernel.state().transmitted, 16);
}

#[test]
fn a_batch_is_sent_when_it_is_whole() {
    let (_, socket, kernel) = World::default().open();
    let (mut tx, _rx) = socket.split();
    let mut batch = tx.batch(8);
    assert_eq!(batch.send_burst(5, 60, |_| ()).unwrap(), 5);
    assert_eq!(kernel.state().transmitted, 0, "the batch is not complete");
    assert_eq!(batch.send_burst(5, 60, |_| ()).unwrap(), 5);
    assert_eq!(kernel.state().transmitted, 8);
    batch.finish().unwrap();
    assert_eq!(kernel.state().transmitted, 10);
    assert_eq!(tx.send_burst(3, 60, |_| ()).unwrap(), 3);
    assert_eq!(kernel.state().transmitted, 13, "without a batch no packet waits");
}

#[test]
fn what_cannot_be_sent_is_an_error_at_once() {
    let mut world = World::default();
    world.options.is_multi_buffer = false;
    let (umem, socket, _) = world.open();
    let (mut tx, rx) = socket.split();
    let mut burst = |len| tx.send_burst(4, len, |_| ()).unwrap_err();
    assert!(matches!(burst(0), SendError::Empty));
    assert!(matches!(burst(4000), SendError::TooLong { .. }));
    assert!(matches!(burst(usize::MAX), SendError::TooLong { .. }));
    assert_eq!(tx.counters().sent, 0);
    drop((tx, rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn a_dead_interface_is_reported_once() {
    let (_, socket, kernel) = World::default().open();
    let (mut tx, _rx) = socket.split();
    kernel.state().answer = Answer::Fail(100);
    let error = tx.send_burst(4, 60, |_| ()).unwrap_err();
    assert!(error.to_string().contains("ENETDOWN"), "{error}");
    kernel.state().answer = Answer::Transmit(32);
    assert_eq!(tx.send_burst(4, 60, |_| ()).unwrap(), 4);
    settle(&mut tx);
    assert_eq!(kernel.state().transmitted, tx.counters().sent);
}

/// Packets that each need a check are sent like others.
#[test]
fn bursts_obey_the_longest_delay() {
    let (_, socket, kernel) = World::default().open();
    let (mut tx, _rx) = socket.split();
    tx.set_longest_delay(Some(Duration::ZERO));
    let mut batch = tx.batch(16);
    assert_eq!(batch.send_burst(5, 60, |_| ()).unwrap(), 5);
    assert_eq!(kernel.state().transmitted, 5, "none may wait");
    batch.set_longest_delay(None);
    assert_eq!(batch.send_burst(5, 60, |_| ()).unwrap(), 5);
    assert_eq!(kernel.state().transmitted, 5);
    drop(batch);
    assert_eq!(kernel.state().transmitted, 10);
}

#[test]
fn a_panic_loses_no_frame() {
    let (umem, socket, kernel) = World { rings: 64, ..World::default() }.open();
    let (mut tx, rx) = socket.split();
    let mut left = 10;
    let burst = catch_unwind(AssertUnwindSafe(|| {
        tx.send_burst(40, 60, |_| {
            left -= 1;
            assert!(left > 0, "on purpose");
        })
    }));
    assert!(burst.is_err());
    assert_eq!(tx.counters().sent, kernel.state().transmitted);
    assert_eq!(tx.send_burst(10, 60, |_| ()).unwrap(), 10);
    settle(&mut tx);
    assert_eq!(tx.counters().sent, kernel.state().transmitted);
    drop((tx, rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}
