//! A hostile kernel: whatever it writes into the rings, no frame has two owners, nothing panics,
//! and a counter records it.

use sys::net::xsk::{DESCRIPTOR_CONTINUES, RING_NEED_WAKEUP};

use super::*;
use crate::Umem;
use crate::limits::{FRAGMENTS, TRANSMIT_PARTS};
use crate::ring::Descriptor;
use crate::sync::Ordering;

fn descriptor(address: u64, len: u32, options: u32) -> Descriptor {
    Descriptor { address, len, options }
}

fn show(kernel: &Kernel, descriptors: &[Descriptor]) {
    let mut state = kernel.state();
    for descriptor in descriptors {
        assert!(state.rx.put(*descriptor), "the ring has room");
    }
    state.rx.publish();
}

fn assert_all_is_returned(umem: &Umem, tx: Tx, rx: Rx) {
    let audit = umem.audit();
    assert_eq!(audit.free + audit.held + audit.receiving + audit.transmitting, audit.total);
    drop((tx, rx));
    assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
}

#[test]
fn descriptors_that_name_no_data_of_ours_are_counted() {
    let last = 63 * 2048;
    // All 64 chunks belong to the umem, and the kernel owns 16 of them: `given` is one, and `ours`
    // is not. Address, length, and the number of packets that are received.
    let table: &[(&str, u64, u32, usize)] = &[
        ("behind the memory", 64 * 2048, 60, 0),
        ("far behind the memory", u64::MAX, 60, 0),
        ("at the sign", 1 << 63, 60, 0),
        ("in the upper bits", 1 << 48, 60, 0),
        ("a frame that the kernel does not have", last, 60, 0),
        ("longer than the chunk", 256, 2048 - 256 + 1, 0),
        ("so long that it wraps", 256, u32::MAX, 0),
        ("at the chunk's last byte, too long", 2047, 2, 0),
        ("at the chunk's last byte", 2047, 1, 1),
        ("the whole chunk", 0, 2048, 1),
        ("no bytes", 256, 0, 1),
        ("right", 256, 60, 1),
    ];
    for (name, address, len, packets) in table {
        let (umem, socket, kernel) = World::default().open();
        let (tx, mut rx) = socket.split();
        let given = kernel.state().fill.peek(1).at(0);
        let address = if *address < 2048 { given + address } else { *address };
        show(&kernel, &[descriptor(address, *len, 0)]);
        let frames = receive_all(&mut rx);
        assert_eq!(frames.len(), *packets, "{name}");
        assert_eq!(rx.counters().invalid, 1 - *packets as u64, "{name}");
        drop(frames);
        assert_all_is_returned(&umem, tx, rx);
    }
}

#[test]
fn a_descriptor_that_comes_twice_gives_one_frame() {
    let (umem, socket, kernel) = World::default().open();
    let (tx, mut rx) = socket.split();
    let given = kernel.state().fill.peek(1).at(0) + 256;
    show(&kernel, &[descriptor(given, 60, 0); 5]);
    let frames = receive_all(&mut rx);
    assert_eq!((frames.len(), rx.counters().invalid), (1, 4));
    // Also if it comes again later, while the program owns the frame.
    show(&kernel, &[descriptor(given + 100, 60, 0); 5]);
    assert_eq!(receive_all(&mut rx).len(), 0);
    drop(frames);
    assert_all_is_returned(&umem, tx, rx);
}

/// What a batch took remains taken if the batch is leaked: otherwise the frame could be returned to
/// the kernel and received again from the same descriptor.
#[test]
fn a_forgotten_batch_leaves_no_descriptor_to_be_taken_again() {
    let (umem, socket, kernel) = World::default().open();
    let (tx, mut rx) = socket.split();
    (0..3).for_each(|tag| arrive(&kernel, tag, 60));
    for _ in 0..10 {
        let mut batch = rx.batch(16);
        let frame = batch.next();
        std::mem::forget(batch);
        frame.into_iter().for_each(|frame| rx.recycle(frame));
    }
    arrive(&kernel, 3, 60);
    let tags: Vec<u8> = receive_all(&mut rx).iter().map(|frame| frame[0]).collect();
    assert_eq!((tags, rx.counters().invalid), (vec![3], 0));
    assert_eq!(rx.counters().received, 4);
    assert_all_is_returned(&umem, tx, rx);
}

#[test]
fn all_option_bits_but_one_are_nothing() {
    let (umem, socket, kernel) = World::default().open();
    let (tx, mut rx) = socket.split();
    for bit in (0..32).filter(|bit| 1 << bit != DESCRIPTOR_CONTINUES) {
        let given = kernel.state().empty_frame().unwrap();
        show(&kernel, &[descriptor(given + 256, 60, 1 << bit)]);
        assert_eq!(receive_all(&mut rx).len(), 1, "bit {bit}");
    }
    assert_all_is_returned(&umem, tx, rx);
}

#[test]
fn a_chain_without_an_end_does_not_stop_the_socket() {
    for rings in [2, 16, 64, 128] {
        let mut world = World { rings, fill: 128, ..World::default() };
        world.memory = Umem::builder().frames(512);
        let (umem, socket, kernel) = world.open();
        let (tx, mut rx) = socket.split();
        let fill = |kernel: &Kernel| kernel.state().empty_frame().unwrap() + 256;
        let endless = rings.min(FRAGMENTS as u32);
        for at in 1..=endless {
            assert_eq!(receive_all(&mut rx).len(), 0, "its end may still come");
            assert_eq!(rx.counters().too_long, 0, "after {at}");
            let address = fill(&kernel);
            show(&kernel, &[descriptor(address, 60, DESCRIPTOR_CONTINUES)]);
        }
        assert_eq!(receive_all(&mut rx).len(), 0);
        assert_eq!(rx.counters().too_long, 1, "a ring of {rings}");
        arrive(&kernel, 9, 60);
        assert_eq!(receive_all(&mut rx).len(), 1, "a ring of {rings}");
        assert_all_is_returned(&umem, tx, rx);
    }
}

#[test]
fn a_chain_is_as_long_as_a_packet_may_be() {
    let mut world = World { rings: 128, fill: 128, ..World::default() };
    world.memory = Umem::builder().frames(512);
    for parts in [2, 17, 18, 19, FRAGMENTS, FRAGMENTS + 1] {
        let (umem, socket, kernel) = world.open();
        let (mut tx, mut rx) = socket.split();
        let bytes: Vec<Vec<u8>> = (0..parts).map(|part| vec![part as u8; 10]).collect();
        let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        assert!(kernel.state().receive(&slices));
        arrive(&kernel, 9, 60);
        let mut packets = receive_all(&mut rx);
        if parts <= FRAGMENTS {
            let mut copy = vec![0; 10 * parts];
            assert_eq!(packets[0].copy_to(&mut copy), 10 * parts);
            assert_eq!(copy, bytes.concat());
            kernel.state().wire = Some(Vec::new());
            let sent = tx.push(packets.remove(0));
            assert_eq!(sent.is_ok(), parts <= TRANSMIT_PARTS as usize, "{parts} parts");
            let wire = kernel.state().wire.take().unwrap();
            assert!(wire.iter().all(|packet| *packet == copy));
            assert_eq!(wire.len(), usize::from(sent.is_ok()));
        }
        assert_eq!(packets.len(), 1, "{parts} parts: the next packet");
        assert_eq!(rx.counters().too_long, u64::from(parts > FRAGMENTS));
        drop(packets);
        assert_all_is_returned(&umem, tx, rx);
    }
}

#[test]
fn a_wrong_part_spoils_its_packet_alone() {
    for wrong in 0..3 {
        let (umem, socket, kernel) = World::default().open();
        let (tx, mut rx) = socket.split();
        let parts: Vec<Descriptor> = (0..3)
            .map(|at| {
                let address = kernel.state().empty_frame().unwrap() + 256;
                let len = if at == wrong { 5000 } else { 60 };
                descriptor(address, len, if at < 2 { DESCRIPTOR_CONTINUES } else { 0 })
            })
            .collect();
        show(&kernel, &parts);
        arrive(&kernel, 9, 60);
        let frames = receive_all(&mut rx);
        assert_eq!((frames.len(), rx.counters().invalid), (1, 1), "part {wrong} is wrong");
        assert_eq!(frames[0][..], [9; 60]);
        drop(frames);
        assert_all_is_returned(&umem, tx, rx);
    }
}

#[test]
fn completions_that_name_no_frame_on_its_way_are_counted() {
    let (umem, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
    let (mut tx, rx) = socket.split();
    (0..4).for_each(|tag| tx.send(&[tag; 60]).unwrap());
    {
        let mut state = kernel.state();
        let sent = state.tx.available(4);
        assert_eq!(sent, 4);
        let first = state.tx.take().unwrap().address;
        let filled = state.fill.peek(1).at(0);
        for address in [first, first, first + 1, filled, u64::MAX, 1 << 62, 64 * 2048] {
            assert!(state.completion.put(address));
        }
        state.completion.publish();
    }
    // The socket reads at most the number of completions that can be valid.
    for _ in 0..4 {
        tx.reap();
    }
    let counters = tx.counters();
    assert_eq!((counters.completed, counters.invalid, tx.in_flight()), (1, 6, 3));
    assert_all_is_returned(&umem, tx, rx);
}

/// Every index of every ring is changed in every possible way; then the kernel behaves well again.
#[test]
fn indices_that_leave_their_ring_are_counted_and_survived() {
    let moves = [1u32.wrapping_neg(), 17, 18, 1 << 31, (1 << 31) + 1, u32::MAX - 16];
    for by in moves {
        for ring in 0..4 {
            // The kernel sends nothing, which would correct its indices.
            let (umem, socket, kernel) = World { answer: Answer::Later, ..World::default() }.open();
            let (mut tx, mut rx) = socket.split();
            arrive(&kernel, 1, 60);
            move_index(&kernel, ring, by);
            for _ in 0..3 {
                drop(receive_all(&mut rx));
                let _ = tx.send(&[1; 60]);
                tx.reap();
            }
            let faults = (rx.counters().faults, tx.counters().faults);
            // An index that is one lower, after one packet, equals the state before that packet.
            let is_seen = ring >= 2 || by != 1u32.wrapping_neg();
            assert_eq!(faults != (0, 0), is_seen, "ring {ring} by {by:#x}");
            move_index(&kernel, ring, by.wrapping_neg());
            kernel.state().answer = Answer::Transmit(32);
            for tag in 0..40 {
                tx.flush().unwrap();
                tx.reap();
                drop(receive_all(&mut rx));
                arrive(&kernel, tag, 60);
                send_all(&mut tx, [vec![tag; 60]].into_iter());
            }
            settle(&mut tx);
            assert_eq!(rx.counters().invalid + tx.counters().invalid, 0);
            assert_all_is_returned(&umem, tx, rx);
        }
    }
}

/// Changes the kernel's index of a ring, in the order rx, fill, tx, completion.
fn move_index(kernel: &Kernel, ring: u32, by: u32) {
    let mut state = kernel.state();
    let word = match ring {
        0 => state.rx.memory().producer(),
        1 => state.fill.memory().consumer(),
        2 => state.tx.memory().consumer(),
        _ => state.completion.memory().producer(),
    };
    word.fetch_add(by, Ordering::AcqRel);
}

/// Our indices: a value that the kernel writes over them is not read.
#[test]
fn indices_of_ours_that_the_kernel_overwrites_are_ignored() {
    let (umem, socket, kernel) = World::default().open();
    let (mut tx, mut rx) = socket.split();
    for tag in 0..50 {
        arrive(&kernel, tag, 60);
        kernel.state().answer = Answer::Later;
        let before = overwrite(&kernel, [77; 4]);
        for frame in receive_all(&mut rx) {
            assert_eq!(frame[0], tag);
            tx.push(frame).unwrap();
        }
        tx.reap();
        // An index that we did not write meanwhile is corrected.
        let now = overwrite(&kernel, before);
        let ours = std::array::from_fn(|at| if now[at] == 77 { before[at] } else { now[at] });
        overwrite(&kernel, ours);
        kernel.state().answer = Answer::Transmit(32);
        tx.flush().unwrap();
    }
    assert_eq!((rx.counters().received, rx.counters().invalid), (50, 0));
    assert_eq!(kernel.state().transmitted, 50);
    assert_all_is_returned(&umem, tx, rx);
}

/// Overwrites our indices of the rx, fill, tx and completion ring; returns the previous values.
fn overwrite(kernel: &Kernel, words: [u32; 4]) -> [u32; 4] {
    let mut state = kernel.state();
    let put = |word: &crate::sync::AtomicU32, at: usize| word.swap(words[at], Ordering::AcqRel);
    [
        put(state.rx.memory().consumer(), 0),
        put(state.fill.memory().producer(), 1),
        put(state.tx.memory().producer(), 2),
        put(state.completion.memory().consumer(), 3),
    ]
}

#[test]
fn flags_of_all_kinds_only_make_calls() {
    let (umem, socket, kernel) = World::default().open();
    let (mut tx, mut rx) = socket.split();
    for flags in [0, RING_NEED_WAKEUP, u32::MAX, !RING_NEED_WAKEUP] {
        let before = rx.counters().kicks;
        kernel.state().fill.memory().set_flags(flags);
        kernel.state().tx.memory().set_flags(flags);
        arrive(&kernel, 1, 60);
        assert_eq!(receive_all(&mut rx).len(), 1);
        send_all(&mut tx, [vec![1; 60]].into_iter());
        let asks = flags & RING_NEED_WAKEUP != 0;
        assert_eq!(rx.counters().kicks > before, asks, "{flags:#x}");
    }
    assert_all_is_returned(&umem, tx, rx);
}

/// Both sockets of a queue are shown the same frame at the same time, each in its own ring.
#[test]
fn a_frame_shown_to_two_sockets_goes_to_one() {
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    let mut world = World::default();
    world.options.is_shareable = true;
    let (umem, socket, kernel) = world.open();
    let queue = socket.shared_queue().unwrap();
    let (second, (mut second_ring, _)) = world.open_beside(&queue, &kernel);
    let ((tx, mut rx), (second_tx, mut second_rx)) = (socket.split(), second.split());
    let mut twice = 0;
    for _ in 0..rounds {
        let given: Vec<u64> = (0..8).map_while(|_| kernel.state().empty_frame()).collect();
        for address in &given {
            show(&kernel, &[descriptor(address + 256, 60, 0)]);
            assert!(second_ring.put(descriptor(address + 256, 60, 0)));
        }
        second_ring.publish();
        let (mine, others) = std::thread::scope(|scope| {
            let others = scope.spawn(|| receive_all(&mut second_rx));
            (receive_all(&mut rx), others.join().unwrap())
        });
        assert_eq!(mine.len() + others.len(), given.len());
        let both = mine.iter().filter(|frame| others.iter().any(|o| o.number() == frame.number()));
        twice += both.count();
    }
    assert_eq!(twice, 0);
    drop((second_tx, second_rx, queue));
    assert_all_is_returned(&umem, tx, rx);
}

/// Packets that Linux would refuse, keeping their frames, do not reach it.
#[test]
fn what_linux_would_keep_is_not_sent() {
    use crate::SendError;
    let mut world = World { rings: 4, ..World::default() };
    world.memory = Umem::builder().frames(64).transmit_metadata(true).headroom(16);
    let (umem, socket, kernel) = world.open();
    let (mut tx, rx) = socket.split();
    let frame = |len: usize| {
        let mut frame = umem.alloc().unwrap();
        assert!(frame.resize(len));
        frame
    };
    let moved = |by| {
        let mut frame = frame(10);
        assert!(frame.move_head(by));
        frame
    };
    let chain = |parts: Vec<Frame>| {
        let mut parts = parts.into_iter();
        let mut packet = parts.next().unwrap();
        parts.for_each(|part| packet.append(part).unwrap());
        packet
    };
    let needs_headroom = |why: &SendError| matches!(why, SendError::NoHeadroom { needed: 24, .. });
    let is_empty = |why: &SendError| matches!(why, SendError::Empty);
    let has_no_slots = |why: &SendError| matches!(why, SendError::TooManyParts { most: 4, .. });
    type Is<'a> = &'a dyn Fn(&SendError) -> bool;
    let table: Vec<(&str, Frame, Is<'_>)> = vec![
        ("data over the metadata", moved(-17), &needs_headroom),
        ("data at the start", moved(-40), &needs_headroom),
        ("a part over the metadata", chain(vec![frame(9), moved(-17)]), &needs_headroom),
        ("an empty part", chain(vec![frame(9), frame(0), frame(9)]), &is_empty),
        ("an empty first part", chain(vec![frame(0), frame(9)]), &is_empty),
        ("more parts than slots", chain((0..5).map(|_| frame(9)).collect()), &has_no_slots),
    ];
    for (name, frame, is) in table {
        let rejected = tx.push(frame).unwrap_err();
        assert!(is(&rejected.why), "{name}: {}", rejected.why);
    }
    tx.push(moved(-16)).unwrap();
    tx.push(chain((0..4).map(|_| frame(9)).collect())).unwrap();
    settle(&mut tx);
    let state = kernel.state();
    assert_eq!((state.transmitted, state.refused), (2, 0));
    drop(state);
    assert_all_is_returned(&umem, tx, rx);
}
