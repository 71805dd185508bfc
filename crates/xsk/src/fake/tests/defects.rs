//! Defects that AF_XDP libraries had, each as a test: none of them is here.

use std::thread;
use std::time::{Duration, Instant};

use sys::errno::ENETDOWN;

use super::*;
use crate::SendError;
use crate::Umem;

const EAGAIN_TIMES: usize = 5;
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn drain_does_not_hang_when_the_kernel_was_busy() {
    let (_, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    let (mut tx, _rx) = socket.split();
    send_all(&mut tx, (0..4).map(|tag| vec![tag; 60]));
    for _ in 0..EAGAIN_TIMES {
        tx.flush().unwrap();
        assert_eq!(tx.in_flight(), 4);
    }
    kernel.state().answer = Answer::Transmit(1);
    settle(&mut tx);
    assert_eq!(kernel.state().transmitted, 4);
}

#[test]
fn drain_does_not_wait_for_what_was_not_handed_over() {
    let mut world = World::default();
    world.options.batch = 16;
    let (_, socket, kernel) = world.open();
    let (mut tx, _rx) = socket.split();
    send_all(&mut tx, (0..3).map(|tag| vec![tag; 60]));
    assert_eq!(tx.in_flight(), 3);
    assert_eq!(kernel.state().transmitted, 0);
    settle(&mut tx);
    assert_eq!(kernel.state().transmitted, 3);
}

/// All batch sizes, with few and many frames, and a kernel that accepts few or many packets.
#[test]
fn a_send_loop_never_stalls() {
    for batch in [1, 2, 3, 15, 16] {
        for frames in [18, 19, 24, 64] {
            for budget in [1, 3, 32] {
                let mut world = World { answer: Answer::Transmit(budget), ..World::default() };
                world.options.batch = batch;
                world.memory = Umem::builder().frames(frames);
                let (_, socket, kernel) = world.open();
                let (mut tx, _rx) = socket.split();
                send_all(&mut tx, (0..500).map(|number: u32| number.to_be_bytes().to_vec()));
                settle(&mut tx);
                let state = kernel.state();
                assert_eq!(state.transmitted, 500, "{batch} {frames} {budget}");
                assert_eq!(state.refused, 0);
            }
        }
    }
}

#[test]
fn a_partial_batch_is_sent() {
    let (_, socket, kernel) = World::default().open();
    let (mut tx, _rx) = socket.split();
    let mut batch = tx.batch(16);
    for tag in 0..3 {
        batch.send(&[tag; 60]).unwrap();
    }
    assert_eq!(kernel.state().transmitted, 0, "the batch is not complete");
    drop(batch);
    assert_eq!(kernel.state().transmitted, 3);
    let mut batch = tx.batch(16);
    batch.send(&[3; 60]).unwrap();
    batch.finish().unwrap();
    assert_eq!(kernel.state().transmitted, 4);
    // A guard that is leaked leaves its packets to the drop of the socket.
    let mut batch = tx.batch(16);
    batch.send(&[4; 60]).unwrap();
    std::mem::forget(batch);
    drop(tx);
    assert_eq!(kernel.state().transmitted, 5);
}

#[test]
fn indices_wrap() {
    for start in [u32::MAX, u32::MAX - 1, u32::MAX - 15, u32::MAX - 16, 0, 1 << 31] {
        let (umem, socket, kernel) = World { start, ..World::default() }.open();
        let (mut tx, mut rx) = socket.split();
        for number in 0..100u8 {
            arrive(&kernel, number, 60);
            let frames = receive_all(&mut rx);
            assert_eq!(frames.len(), 1, "packet {number} from {start:#x}");
            assert_eq!(frames[0][..], [number; 60]);
            for frame in frames {
                tx.push(frame).unwrap();
            }
        }
        settle(&mut tx);
        assert_eq!(kernel.state().transmitted, 100);
        drop((tx, rx));
        assert!(umem.audit().is_all_free());
    }
}

#[test]
fn what_cannot_be_sent_is_an_error() {
    let mut world = World::default();
    world.options.is_multi_buffer = false;
    let (_, socket, kernel) = world.open();
    let (mut tx, _rx) = socket.split();
    let room = tx.alloc().unwrap().capacity();
    for len in [room + 1, 4096, 1 << 20] {
        let error = tx.send(&vec![0; len]).unwrap_err();
        assert!(matches!(error, SendError::TooLong { .. }), "{error}");
    }
    let error = tx.send_with(usize::MAX, |_| unreachable!("no space to write")).unwrap_err();
    assert!(matches!(error, SendError::TooLong { .. }), "{error}");
    assert!(matches!(tx.send(&[]).unwrap_err(), SendError::Empty));
    tx.send(&vec![7; room]).unwrap();
    settle(&mut tx);
    let state = kernel.state();
    assert_eq!((state.transmitted, state.refused), (1, 0));
}

#[test]
fn a_frame_outlives_its_socket_and_the_last_handle() {
    let (umem, socket, kernel) = World::default().open();
    arrive(&kernel, 7, 100);
    let (tx, mut rx) = socket.split();
    let mut frames = receive_all(&mut rx);
    drop((tx, rx, umem));
    drop(kernel);
    let mut frame = frames.pop().unwrap();
    assert_eq!(frame[..], [7; 100]);
    frame.fill(8);
    let frame = thread::spawn(move || frame).join().unwrap();
    assert_eq!(frame[..], [8; 100]);
}

#[test]
fn nothing_reaches_out_of_a_frame() {
    let umem = Umem::builder().frames(4).headroom(32).build_on_heap().unwrap().0;
    let mut frame = umem.alloc().unwrap();
    let room = frame.capacity();
    for len in [room + 1, 2048, usize::MAX] {
        assert!(!frame.resize(len), "{len}");
    }
    assert!(frame.resize(100));
    for by in [isize::MIN, isize::MIN + 1, -33, 101, isize::MAX - 1, isize::MAX] {
        assert!(!frame.move_head(by), "{by}");
        assert_eq!((frame.headroom(), frame.len()), (32, 100));
    }
    assert!(frame.move_head(100) && frame.is_empty() && frame.headroom() == 132);
    assert!(frame.move_head(-132) && frame.len() == 132 && frame.headroom() == 0);
    for len in [1, 2048, usize::MAX] {
        assert!(frame.front(len).is_none() && frame.front_mut(len).is_none(), "{len}");
    }
    assert!(!frame.write(&[0; 2049]));
    assert!(frame.write(&[1; 2048]) && frame.tailroom() == 0);
}

#[test]
fn later_is_no_error_when_packets_are_queued() {
    let (_, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    kernel.state().wire = Some(Vec::new());
    let (mut tx, _rx) = socket.split();
    for tag in 0..5 {
        tx.send(&[tag; 60]).unwrap();
    }
    let counters = tx.counters();
    assert_eq!((counters.sent, counters.kicks), (5, counters.kicks_refused));
    kernel.state().answer = Answer::Transmit(32);
    settle(&mut tx);
    let expected: Vec<_> = (0..5).map(|tag| vec![tag; 60]).collect();
    assert_eq!(kernel.state().wire.as_ref(), Some(&expected), "each once, in order");
}

#[test]
fn a_dead_interface_is_an_error_and_then_works_again() {
    let (_, socket, kernel) = World::default().open();
    let (mut tx, _rx) = socket.split();
    kernel.state().answer = Answer::Fail(ENETDOWN);
    let error = tx.send(&[1; 60]).unwrap_err();
    assert!(error.to_string().contains("ENETDOWN"), "{error}");
    kernel.state().answer = Answer::Transmit(32);
    tx.send(&[2; 60]).unwrap();
    settle(&mut tx);
    assert_eq!(kernel.state().transmitted, 2, "what was queued is not lost");
}

/// The fill ring is refilled when frames are released: a program that held all frames and then
/// waits still receives packets.
#[test]
fn a_starved_fill_ring_is_filled_before_waiting() {
    let world = World { memory: Umem::builder().frames(16), ..World::default() };
    let (_, socket, kernel) = world.open();
    let (_tx, mut rx) = socket.split();
    for tag in 0..16 {
        arrive(&kernel, tag, 60);
    }
    let held = receive_all(&mut rx);
    assert_eq!(held.len(), 16);
    assert!(!kernel.state().receive(&[&[0; 60]]), "no frame is left");
    drop(held);
    assert!(!rx.wait(Duration::ZERO).unwrap());
    assert!(kernel.state().receive(&[&[0; 60]]), "frames are with the kernel again");
}

/// The kernel runs in a separate thread, for race detectors (see CONTRIBUTING.md).
#[test]
fn rings_are_read_and_written_by_two_threads() {
    let packets = if cfg!(miri) { 200u32 } else { 2_000 };
    let (umem, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    let (mut tx, mut rx) = socket.split();
    let peer = thread::spawn(move || {
        let (mut number, mut sent) = (0, 0);
        let deadline = Instant::now() + DEADLINE;
        while number < packets || sent < packets {
            assert!(Instant::now() < deadline, "{number} received, {sent} sent");
            thread::yield_now();
            let mut state = kernel.state();
            if number < packets && state.receive(&[&number.to_be_bytes()]) {
                number += 1;
            }
            sent += state.transmit(32);
            assert_eq!(state.refused, 0);
        }
    });
    let mut next = 0u32;
    while next < packets && !peer.is_finished() {
        rx.for_each(8, |frame| {
            assert_eq!(frame[..], next.to_be_bytes());
            next += 1;
        });
        let _ = tx.send(&[1; 60]);
    }
    while !peer.is_finished() {
        let _ = tx.send(&[1; 60]);
    }
    peer.join().unwrap();
    drop((tx, rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}
