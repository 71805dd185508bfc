//! An audit reports the owner of every frame.

use super::*;
use crate::umem::Audit;

/// There are 64 frames, 16 of which are in the fill ring from the start.
#[test]
fn each_owner_is_reported() {
    let (umem, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    let (mut tx, mut rx) = socket.split();
    let held = |tx: &Tx, rx: &Rx, audit: &Audit| audit.held - tx.cached() - rx.cached();
    let audit = umem.audit();
    assert_eq!((audit.fill, audit.rx, audit.tx, audit.completion), (16, 0, 0, 0));
    assert_eq!(held(&tx, &rx, &audit), 0);

    (0..5).for_each(|tag| arrive(&kernel, tag, 60));
    let audit = umem.audit();
    assert_eq!((audit.fill, audit.rx, audit.receiving), (11, 5, 16), "received");

    let mut frames = receive_all(&mut rx);
    let audit = umem.audit();
    assert_eq!((audit.fill, audit.rx), (16, 0), "taken, and replaced by others");
    assert_eq!(held(&tx, &rx, &audit), 5);

    for _ in 0..4 {
        tx.push(frames.pop().unwrap()).unwrap();
    }
    let audit = umem.audit();
    assert_eq!((audit.tx, audit.completion, held(&tx, &rx, &audit)), (4, 0, 1), "to be sent");

    kernel.state().transmit(3);
    let audit = umem.audit();
    assert_eq!((audit.tx, audit.completion, audit.transmitting), (1, 3, 4), "sent");

    tx.reap();
    let audit = umem.audit();
    assert_eq!((audit.tx, audit.completion, held(&tx, &rx, &audit)), (1, 0, 1), "reclaimed");
    assert_eq!(audit.free + audit.held + audit.receiving + audit.transmitting, audit.total);
    drop((tx, rx, frames));
    let all_free = Audit { total: 64, free: 64, ..Audit::default() };
    assert_eq!(umem.audit(), all_free);
}

/// Frames of closed zero-copy sockets are reclaimed later. They do not keep the umem, and are
/// reclaimed automatically when a program runs short of frames.
#[test]
fn retired_frames_are_reported_and_reclaimed() {
    let world = World::default();
    let (umem, heap) = world.memory.clone().build_on_heap().unwrap();
    let (socket, _kernel) = world.open_on(&umem, &heap);
    socket.assume_zero_copy();
    drop(socket);
    let audit = umem.audit();
    assert_eq!((audit.retired, audit.free, audit.receiving, audit.held), (16, 48, 0, 0));
    let others: Vec<_> = std::iter::from_fn(|| umem.alloc()).collect();
    assert_eq!(others.len(), 48, "none of the retired");
    let deadline = std::time::Instant::now() + 10 * crate::limits::RETIREMENT;
    let late = loop {
        assert!(std::time::Instant::now() < deadline, "retired frames are reclaimed");
        match umem.alloc() {
            Some(frame) => break frame,
            None => std::thread::yield_now(),
        }
    };
    drop((others, late));
    assert!(umem.audit().is_all_free());

    let (socket, _kernel) = world.open_on(&umem, &heap);
    socket.assume_zero_copy();
    drop(socket);
    let memory = std::sync::Arc::downgrade(&heap);
    drop((heap, _kernel, umem));
    assert_eq!(memory.strong_count(), 1, "only the first kernel has it");
}
