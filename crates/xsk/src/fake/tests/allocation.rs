//! Nothing on a packet's path allocates once a socket is open.

use super::*;
use crate::Umem;
use crate::limits::MAGAZINE;

const ROUNDS: u32 = 200;

/// An action that is repeated.
type Act = fn(&mut Tx, &mut Rx, &Kernel);

const ACTS: &[(&str, Act)] = &[
    ("packets sent one by one", |tx, _, _| {
        (0..40).for_each(|_| tx.send(&[7; 60]).unwrap());
        tx.reap();
    }),
    ("packets sent in batches", |tx, _, _| {
        let mut batch = tx.batch(32);
        (0..40).for_each(|_| batch.send(&[7; 60]).unwrap());
        batch.finish().unwrap();
    }),
    ("more than can be sent", |tx, _, kernel| {
        kernel.state().answer = Answer::Later;
        while tx.send(&[7; 60]).is_ok() {}
        kernel.state().answer = Answer::Transmit(u32::MAX);
        tx.flush().unwrap();
    }),
    ("packets looked at", |_, rx, kernel| {
        (0..40).for_each(|_| assert!(kernel.state().receive(&[&[7; 60]])));
        assert_eq!(rx.for_each(64, |frame| assert_eq!(frame[0], 7)), 40);
    }),
    ("packets copied out", |_, rx, kernel| {
        assert!(kernel.state().receive(&[&[7; 60]]));
        assert_eq!(rx.try_recv(&mut [0; 100]), Some(60));
    }),
    ("packets forwarded", |tx, rx, kernel| {
        (0..40).for_each(|_| assert!(kernel.state().receive(&[&[7; 60]])));
        for frame in rx.batch(64) {
            tx.push(frame).unwrap();
        }
    }),
    ("packets dropped, one by one", |_, rx, kernel| {
        (0..40).for_each(|_| assert!(kernel.state().receive(&[&[7; 60]])));
        rx.batch(64).for_each(drop);
    }),
    ("packets in parts", |tx, rx, kernel| {
        (0..8).for_each(|_| assert!(kernel.state().receive(&[&[7; 60], &[8; 60], &[9; 60]])));
        for frame in rx.batch(64) {
            assert_eq!(frame.packet_len(), 180);
            tx.push(frame).unwrap();
        }
    }),
    ("packets in parts, dropped", |_, rx, kernel| {
        (0..8).for_each(|_| assert!(kernel.state().receive(&[&[7; 60], &[8; 60], &[9; 60]])));
        rx.batch(64).for_each(drop);
    }),
    ("all free frames taken and given back", |tx, _, _| {
        let mut last = tx.alloc().unwrap();
        while let Some(frame) = tx.alloc() {
            if last.append(frame).is_err() {
                break;
            }
        }
        tx.recycle(last);
    }),
    ("nothing to do", |tx, rx, _| {
        rx.batch(64).for_each(drop);
        tx.reap();
        tx.flush().unwrap();
    }),
];

#[test]
fn the_packet_path_does_not_allocate() {
    for shareable in [false, true] {
        for (name, act) in ACTS {
            let answer = Answer::Transmit(u32::MAX);
            let mut world = World { rings: 64, fill: 64, answer, ..World::default() };
            world.memory = Umem::builder().frames(32 * MAGAZINE as u32);
            world.options.is_shareable = shareable;
            let (_, socket, kernel) = world.open();
            let (mut tx, mut rx) = socket.split();
            let measured = allocation_counter::measure(|| {
                (0..ROUNDS).for_each(|_| act(&mut tx, &mut rx, &kernel));
            });
            assert_eq!(measured.count_total, 0, "{name}");
        }
    }
}

#[test]
fn the_measure_counts() {
    assert_eq!(
        allocation_counter::measure(|| drop(std::hint::black_box(vec![7; 9]))).count_total,
        1
    );
}
