//! Ring buffers in both directions and perf buffers, kernel against engine: what programs are
//! answered, and what user space reads.

use std::cell::RefCell;
use std::time::Duration;

use kernel::RingBuffer;
use libbpf_rs::{MapHandle, PerfBufferBuilder, UserRingBuffer};
use spec::asm::{Assembler, Cond, Helper, Reg::*};
use spec::{MapKind, Spec};
use xway_tests::vm_io::{BYTES, Both, Numbers, Writing, map, object, word};

// ---- ring buffers ---------------------------------------------------------------------------

/// Sizes that records are reserved with: constants of the programs, as the verifier wants.
const SIZES: [i32; 8] = [0, 1, 8, 100, 2000, 4087, 4088, 5000];

/// Copies `size` (word 0) bytes out with flags (word 1).
fn output() -> Assembler {
    let mut writing = Writing::begin("output");
    let absent = writing.absent();
    let a = &mut writing.a;
    a.load64(R3, word(0)).jump_if(R3, Cond::Gt, BYTES as i32, absent).load64(R4, word(1));
    a.load_map(R1, "ring").mov(R2, R8).call(Helper::RINGBUF_OUTPUT).store64(word(4), R0);
    writing.end()
}

/// Reserves `size` bytes with flags (word 1), writes the first and the last (word 0), and
/// discards (word 2 is 1) or submits with flags (word 3).
fn reserve(size: i32) -> Assembler {
    let mut writing = Writing::begin(&format!("reserve_{size}"));
    let a = &mut writing.a;
    let (full, discard, done) = (a.label(), a.label(), a.label());
    a.load64(R3, word(1)).mov(R2, size).load_map(R1, "ring").call(Helper::RINGBUF_RESERVE);
    a.jump_if(R0, Cond::Eq, 0, full).store64(word(4), 1).load64(R3, word(0));
    for place in (0..size).filter(|place| *place == 0 || *place == size - 1) {
        a.store8(R0.at(place as i16), R3);
    }
    a.mov(R1, R0).load64(R2, word(3)).load64(R3, word(2)).jump_if(R3, Cond::Ne, 0, discard);
    a.call(Helper::RINGBUF_SUBMIT).jump(done);
    a.bind(discard).call(Helper::RINGBUF_DISCARD).jump(done);
    a.bind(full).store64(word(4), 2).bind(done);
    writing.end()
}

/// Two open records, finished in reverse order.
fn reserve_two() -> Assembler {
    let mut writing = Writing::begin("reserve_two");
    let a = &mut writing.a;
    let (none, one, done) = (a.label(), a.label(), a.label());
    a.mov(R3, 0).mov(R2, 8).load_map(R1, "ring").call(Helper::RINGBUF_RESERVE);
    a.jump_if(R0, Cond::Eq, 0, none).mov(R9, R0).store64(R9.at(0), 1);
    a.mov(R3, 0).mov(R2, 24).load_map(R1, "ring").call(Helper::RINGBUF_RESERVE);
    a.jump_if(R0, Cond::Eq, 0, one).store64(R0.at(16), 2).store64(R0.at(0), 0).store64(R0.at(8), 0);
    a.mov(R1, R0).mov(R2, 0).call(Helper::RINGBUF_SUBMIT);
    a.bind(one).mov(R1, R9).mov(R2, 0).call(Helper::RINGBUF_SUBMIT).jump(done);
    a.bind(none).store64(word(4), 2).bind(done);
    writing.end()
}

/// Through a dynptr of `size` (word 0) with flags (word 1); discards where word 2 is 1.
fn dynptr() -> Assembler {
    let mut writing = Writing::begin("dynptr");
    let a = &mut writing.a;
    let (discard, done) = (a.label(), a.label());
    a.load64(R2, word(0)).load64(R3, word(1)).load_map(R1, "ring").mov(R4, R10).add(R4, -24);
    a.call(Helper::RINGBUF_RESERVE_DYNPTR).store64(word(4), R0);
    a.mov(R1, R10).add(R1, -24).mov(R2, 1).mov(R3, R8).mov(R4, 9).mov(R5, 0);
    a.call(Helper::DYNPTR_WRITE).store64(word(5), R0);
    a.mov(R1, R10).add(R1, -24).mov(R2, 0).load64(R3, word(2)).jump_if(R3, Cond::Ne, 0, discard);
    a.call(Helper::RINGBUF_SUBMIT_DYNPTR).jump(done);
    a.bind(discard).call(Helper::RINGBUF_DISCARD_DYNPTR).bind(done);
    writing.end()
}

fn query() -> Assembler {
    let mut writing = Writing::begin("query");
    writing.a.load64(R2, word(0)).load_map(R1, "ring").call(Helper::RINGBUF_QUERY);
    writing.a.store64(word(4), R0);
    writing.end()
}

fn ring_spec() -> Spec {
    let mut programs = vec![output(), reserve_two(), dynptr(), query()];
    programs.extend(SIZES.map(reserve));
    object(vec![map("ring", MapKind::RINGBUF, [0, 0, 4096])], programs)
}

#[test]
fn a_ring_is_filled_and_drained_alike() {
    let mut both = Both::load(&ring_spec());
    let mut reader = RingBuffer::new(both.kernel.object().unwrap().map("ring").unwrap()).unwrap();
    let mut numbers = Numbers(11);
    for _ in 0..3000 {
        let flags = numbers.pick(&[0, 0, 0, 0, 1, 2, 3, 4]);
        let size = numbers.pick(&[0, 1, 8, 9, 500, 1600, 2048]);
        let byte = numbers.below(200);
        let finish = [numbers.below(2), numbers.below(3)];
        let _ = match numbers.below(8) {
            0 => both.run("output", &[size, flags]),
            1 => both.run("dynptr", &[9 + size, flags & 4, finish[0]]),
            2 => both.run("dynptr", &[numbers.pick(&[1 << 24, 1 << 30, 5000]), 0, finish[0]]),
            3 => both.run("reserve_two", &[]),
            4 => both.run("query", &[numbers.below(6)]),
            5 if numbers.below(3) == 0 => {
                drain(&mut both, &mut reader);
                continue;
            }
            _ => {
                let size = numbers.pick(&SIZES);
                both.run(&format!("reserve_{size}"), &[byte, flags & 4, finish[0], finish[1]])
            }
        };
    }
    drain(&mut both, &mut reader);
}

/// Reads both rings and compares what they held.
fn drain(both: &mut Both, reader: &mut RingBuffer) {
    let mut kernel = Vec::new();
    reader.drain(|record| kernel.push(record.to_vec()));
    let ring = both.engine.machine().unwrap().map("ring").unwrap();
    let engine = ring.records().unwrap().records;
    let engine: Vec<_> = engine.into_iter().map(|record| record.bytes).collect();
    let lengths = |records: &[Vec<u8>]| records.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(&engine), lengths(&kernel));
    assert!(engine == kernel, "the same bytes, those that nobody wrote included");
}

#[test]
fn records_that_found_no_room_are_counted() {
    let mut both = Both::load(&ring_spec());
    for _ in 0..5 {
        both.run("output", &[2000, 0]);
    }
    let ring = both.engine.machine().unwrap().map("ring").unwrap();
    let taken = ring.records().unwrap();
    assert_eq!((taken.records.len(), taken.lost), (2, 3));
    assert_eq!(taken.records[1].bytes, (0..2000).map(|place| place as u8).collect::<Vec<_>>());
}

// ---- user ring buffers ----------------------------------------------------------------------

/// Drains with flags (word 0): answers how many, the sum of the samples' first eight bytes, the
/// sum of what reading them answered. A sample that begins with 99 is the last.
fn drain_program() -> Assembler {
    let mut writing = Writing::begin("drain");
    let callback = writing.a.label();
    let a = &mut writing.a;
    a.store64(R10.at(-24), 0).store64(R10.at(-16), 0).load64(R4, word(0));
    a.mov(R3, R10).add(R3, -24).load_function(R2, callback).load_map(R1, "user");
    a.call(Helper::USER_RINGBUF_DRAIN).store64(word(4), R0);
    a.load64(R1, R10.at(-24)).store64(word(5), R1).load64(R1, R10.at(-16)).store64(word(6), R1);
    let mut a = writing.end();
    let more = a.label();
    a.function(callback, "each").mov(R6, R2).store64(R10.at(-8), 0).mov(R3, R1);
    a.mov(R1, R10).add(R1, -8).mov(R2, 8).mov(R4, 0).mov(R5, 0).call(Helper::DYNPTR_READ);
    a.load64(R2, R6.at(8)).add(R2, R0).store64(R6.at(8), R2);
    a.load64(R1, R10.at(-8)).load64(R2, R6.at(0)).add(R2, R1).store64(R6.at(0), R2);
    a.mov(R0, 0).jump_if(R1, Cond::Ne, 99, more).mov(R0, 1).bind(more).exit();
    a
}

#[test]
fn records_from_user_space_reach_the_callback() {
    let user = map("user", MapKind::USER_RINGBUF, [0, 0, 4096]);
    let mut both = Both::load(&object(vec![user], vec![drain_program()]));
    let id = both.kernel.object().unwrap().map("user").unwrap().id();
    let handle = MapHandle::from_map_id(id).unwrap();
    let writer = UserRingBuffer::new(&handle).unwrap();
    let ring = both.engine.machine().unwrap().map("user").unwrap();
    let mut numbers = Numbers(5);
    for round in 0..300_u64 {
        for _ in 0..numbers.below(12) {
            let mut sample = vec![0; numbers.pick(&[0, 7, 8, 9, 600])];
            let first = numbers.pick(&[1, 2, 3, round, 99]).to_ne_bytes();
            let len = sample.len().min(8);
            sample[..len].copy_from_slice(&first[..len]);
            let sent = ring.send(&sample).is_ok();
            let reserved = writer.reserve(sample.len());
            assert_eq!(sent, reserved.is_ok(), "round {round}, {} bytes", sample.len());
            if let Ok(mut reserved) = reserved {
                reserved.as_mut().copy_from_slice(&sample);
                writer.submit(reserved).unwrap();
            }
        }
        both.run("drain", &[numbers.pick(&[0, 1, 2, 4])]);
    }
}

// ---- perf buffers ---------------------------------------------------------------------------

/// Sends `size` (word 1) bytes with flags (word 0). Word 2: the index is taken from there (0), or
/// is this processor's (1) or the other's (2).
fn emit() -> Assembler {
    let mut writing = Writing::begin("emit");
    let absent = writing.absent();
    let a = &mut writing.a;
    let (plain, own) = (a.label(), a.label());
    a.load64(R9, word(0)).load64(R1, word(2)).jump_if(R1, Cond::Eq, 0, plain);
    a.call(Helper::GET_SMP_PROCESSOR_ID).load64(R1, word(2)).jump_if(R1, Cond::Eq, 1, own);
    a.xor(R0, 1).bind(own).or(R9, R0).bind(plain);
    a.load64(R5, word(1)).jump_if(R5, Cond::Gt, 512, absent);
    a.mov(R1, R6).load_map(R2, "events").mov(R3, R9).mov(R4, R8);
    a.call(Helper::PERF_EVENT_OUTPUT).store64(word(4), R0);
    writing.end()
}

fn perf_spec() -> Spec {
    object(vec![map("events", MapKind::PERF_EVENT_ARRAY, [4, 4, 3])], vec![emit()])
}

/// Flags, size and index of an output.
fn step(numbers: &mut Numbers) -> [u64; 3] {
    let packet = numbers.pick(&[0, 0, 1, 64, 65, 0xfffff]) << 32;
    let (index, mode) = numbers.pick(&[(CURRENT, 0), (CURRENT, 0), (0, 1), (0, 2), (2, 0), (3, 0)]);
    let stray = numbers.pick(&[0, 0, 0, 0, 0, 1 << 52]);
    [packet | index | stray, numbers.pick(&[0, 1, 4, 13, 512]), mode]
}

#[test]
fn perf_events_without_a_reader() {
    let mut both = Both::load(&perf_spec());
    let mut numbers = Numbers(3);
    for _ in 0..200 {
        let step = step(&mut numbers);
        both.run("emit", &step);
    }
}

#[test]
fn perf_events_are_heard_lost_and_counted_alike() {
    let mut both = Both::load(&perf_spec());
    let id = both.kernel.object().unwrap().map("events").unwrap().id();
    let handle = MapHandle::from_map_id(id).unwrap();
    let (heard, lost) = (RefCell::new(Vec::new()), RefCell::new(0));
    let buffer = PerfBufferBuilder::new(&handle)
        .pages(1)
        .sample_cb(|_, bytes: &[u8]| heard.borrow_mut().push(bytes.to_vec()))
        .lost_cb(|_, count| *lost.borrow_mut() += count)
        .build()
        .unwrap();
    let events = both.engine.machine().unwrap().map("events").unwrap();
    events.open_events(Some(4096)).unwrap();
    let (mut numbers, mut missed) = (Numbers(9), 0);
    for round in 0..61 {
        for _ in 0..numbers.below(120) * u64::from(round < 60) {
            let step = step(&mut numbers);
            both.run("emit", &step);
        }
        if round == 60 {
            // The kernel reports lost records before the next that fits.
            both.run("emit", &[CURRENT, 1, 0]);
        }
        buffer.poll(Duration::ZERO).unwrap();
        buffer.consume().unwrap();
        let engine = events.records().unwrap();
        missed += engine.lost;
        let kernel = std::mem::take(&mut *heard.borrow_mut());
        assert_eq!(engine.records.len(), kernel.len(), "round {round}");
        for (engine, kernel) in engine.records.iter().zip(&kernel) {
            assert_eq!(engine.cpu, Some(0));
            // The kernel pads, so that the length in front and the record fill whole words.
            assert_eq!((engine.bytes.len() + 4).next_multiple_of(8) - 4, kernel.len());
            assert_eq!(engine.bytes, kernel[..engine.bytes.len()]);
        }
    }
    assert_eq!(missed, *lost.borrow());
    assert!(missed > 0, "the buffer was never full");
}

const CURRENT: u64 = 0xffff_ffff;
