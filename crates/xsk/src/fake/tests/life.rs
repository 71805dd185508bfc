//! Sockets that are dropped at every point of their life: every frame is returned, and the kernel's
//! socket is closed after its rings are unmapped.

use std::mem;

use super::*;
use crate::sync::Ordering;
use crate::{Socket, Umem};

/// What is done before the drop; the returned frames are held during it.
type Act = fn(&mut Tx, &mut Rx, &Kernel) -> Vec<Frame>;

const POINTS: &[(&str, Act)] = &[
    ("just opened", |_, _, _| Vec::new()),
    ("packets received and not looked at", |_, _, kernel| {
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        Vec::new()
    }),
    ("frames held", |_, rx, kernel| {
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        receive_all(rx)
    }),
    ("half of a batch taken", |_, rx, kernel| {
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        rx.batch(16).take(4).collect()
    }),
    ("a batch forgotten", |_, rx, kernel| {
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        let mut batch = rx.batch(16);
        let frames = batch.by_ref().take(4).collect();
        mem::forget(batch);
        frames
    }),
    ("a packet in parts held", |_, rx, kernel| {
        assert!(kernel.state().receive(&[&[1; 100], &[2; 100], &[3; 5]]));
        receive_all(rx)
    }),
    ("frames taken to be sent", |tx, _, _| (0..20).map_while(|_| tx.alloc()).collect()),
    ("packets that wait for a batch", |tx, _, _| {
        mem::forget(tx.batch(8));
        (0..3).for_each(|tag| tx.send(&[tag; 60]).unwrap());
        Vec::new()
    }),
    ("packets that the kernel has", |tx, _, kernel| {
        kernel.state().answer = Answer::Later;
        (0..9).for_each(|tag| tx.send(&[tag; 60]).unwrap());
        Vec::new()
    }),
    ("packets sent and not taken back", |tx, _, kernel| {
        (0..9).for_each(|tag| tx.send(&[tag; 60]).unwrap());
        kernel.state().transmit(32);
        Vec::new()
    }),
    ("packets forwarded, some on their way", |tx, rx, kernel| {
        kernel.state().answer = Answer::Transmit(2);
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        receive_all(rx).into_iter().for_each(|frame| tx.push(frame).unwrap());
        kernel.state().answer = Answer::Later;
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        let mut held = receive_all(rx);
        tx.push(held.pop().unwrap()).unwrap();
        held
    }),
    ("frames given back to the caches", |tx, rx, kernel| {
        (0..9).for_each(|tag| arrive(kernel, tag, 60));
        for (at, frame) in receive_all(rx).into_iter().enumerate() {
            if at % 2 == 0 { tx.recycle(frame) } else { rx.recycle(frame) }
        }
        Vec::new()
    }),
    ("the kernel broken", |tx, _, kernel| {
        kernel.state().answer = Answer::Fail(100);
        (0..3).for_each(|tag| drop(tx.send(&[tag; 60])));
        Vec::new()
    }),
];

/// The order of the drops.
type Drops = fn(Socket, Vec<Frame>, &Kernel);

const ORDERS: &[(&str, Drops)] = &[
    ("frames, socket", |socket, frames, _| {
        drop(frames);
        drop(socket);
    }),
    ("socket, frames", |socket, frames, _| {
        drop(socket);
        drop(frames);
    }),
    ("rx, frames, tx", |socket, frames, kernel| {
        let (tx, rx) = socket.split();
        drop(rx);
        drop(frames);
        assert!(!kernel.state().is_closed, "the other half has it");
        drop(tx);
    }),
    ("tx, rx, frames", |socket, frames, kernel| {
        let (tx, rx) = socket.split();
        drop(tx);
        assert!(!kernel.state().is_closed, "the other half has it");
        drop(rx);
        drop(frames);
    }),
];

#[test]
fn every_frame_is_returned_wherever_a_socket_ends() {
    for (point, act) in POINTS {
        for (order, drops) in ORDERS {
            let (umem, mut socket, kernel) = World::default().open();
            let (tx, rx) = socket.halves();
            let frames = act(tx, rx, &kernel);
            let audit = umem.audit();
            let sum = audit.free + audit.held + audit.receiving + audit.transmitting;
            assert_eq!(sum, audit.total, "{point}: {audit:?}");
            drops(socket, frames, &kernel);
            let audit = umem.audit();
            assert!(audit.is_all_free(), "{point}; {order}: {audit:?}");
            let state = kernel.state();
            assert!(state.is_closed && !state.was_mapped, "{point}; {order}");
            assert_eq!(state.refused, 0, "{point}");
        }
    }
}

/// Consecutive sockets with the same umem, each dropped at a different point.
#[test]
fn memory_serves_one_socket_after_the_other() {
    let world = World::default();
    let (umem, heap) = world.memory.clone().build_on_heap().unwrap();
    for (point, act) in POINTS.iter().cycle().take(5 * POINTS.len()) {
        let (mut socket, kernel) = world.open_on(&umem, &heap);
        let (tx, rx) = socket.halves();
        drop(act(tx, rx, &kernel));
        drop(socket);
        assert!(umem.audit().is_all_free(), "{point}");
    }
}

/// Frames of one socket are sent by another one; either may be closed first.
#[test]
fn sockets_that_share_memory_end_in_any_order() {
    for ends_first in 0..2 {
        let world = World { answer: Answer::Later, ..World::default() };
        let (umem, heap) = world.memory.clone().build_on_heap().unwrap();
        let (left, left_kernel) = world.open_on(&umem, &heap);
        let (right, right_kernel) = world.open_on(&umem, &heap);
        let ((left_tx, mut left_rx), (mut right_tx, right_rx)) = (left.split(), right.split());
        (0..9).for_each(|tag| arrive(&left_kernel, tag, 60));
        receive_all(&mut left_rx).into_iter().for_each(|frame| right_tx.push(frame).unwrap());
        let halves = [(left_tx, left_rx), (right_tx, right_rx)];
        let mut halves = halves.into_iter();
        if ends_first == 0 {
            drop(halves.next());
            assert_eq!(right_kernel.state().transmit(32), 9, "the frames are still on their way");
        } else {
            drop(halves.next_back());
            arrive(&left_kernel, 1, 60);
        }
        drop(halves);
        assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
    }
}

/// A program that answers single packets is not delayed by the fill ring, and a flood does not
/// empty it.
#[test]
fn few_frames_go_back_with_the_next_batch_and_many_at_once() {
    let world = World { memory: Umem::builder().frames(256), fill: 64, ..World::default() };
    let (umem, socket, kernel) = world.open();
    let (tx, mut rx) = socket.split();
    // The number of frames that the kernel may take.
    let given = || kernel.state().fill.memory().producer().load(Ordering::Acquire);
    let start = given();
    for tag in 0..4 {
        arrive(&kernel, tag, 60);
    }
    assert_eq!(rx.for_each(64, |_| ()), 4);
    assert_eq!(given(), start, "a few wait");
    assert_eq!(rx.for_each(64, |_| ()), 0);
    assert_eq!(given(), start + 4, "they are returned before the next wait");
    for tag in 0..16 {
        arrive(&kernel, tag, 60);
    }
    assert_eq!(rx.for_each(64, |_| ()), 16);
    assert_eq!(given(), start + 20, "many are returned immediately");
    drop((tx, rx));
    assert_eq!(umem.audit().free, 256);
}

/// A packet that arrives before the next batch begins must find a frame.
#[test]
fn where_the_kernel_has_few_frames_each_goes_back_at_once() {
    let world = World { memory: Umem::builder().frames(8), fill: 64, ..World::default() };
    let (_umem, socket, kernel) = world.open();
    let (_tx, mut rx) = socket.split();
    let given = || kernel.state().fill.memory().producer().load(Ordering::Acquire);
    for taken in 1..20 {
        let before = given();
        arrive(&kernel, taken, 60);
        assert_eq!((rx.for_each(64, |_| ()), given()), (1, before.wrapping_add(1)), "{taken}");
    }
}
