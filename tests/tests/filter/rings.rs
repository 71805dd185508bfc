//! Rings that overrun: each packet that was to be shown is either in the ring or counted as lost,
//! independent of readers and of the number of writing processors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use filter::compile::actions::{CompiledActions, Sizes};
use filter::maps::{self, KEPT, SAMPLES, SEEN, WATCHING};
use filter::runtime::actions;
use filter::runtime::parts::new_name;
use filter::runtime::samples::Sample;
use filter::runtime::tap::{self, TappedPacket};
use filter::{Action, Environment, PROGRAM, abi, compile};
use kernel::{KernelRuntime, LoadOptions, RingBuffer, TestRun};
use spec::{Input, Runtime, Spec, Verdict, compose};
use xway_tests::filter::act::{fill, filter};

const PACKETS: u64 = 4000;
const WRITERS: u64 = 3;

fn start(spec: &Spec) -> KernelRuntime {
    let programs = Some(vec![PROGRAM.to_owned()]);
    let mut runtime = KernelRuntime::new(LoadOptions { programs, ..LoadOptions::default() });
    runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
    runtime
}

fn lost(runtime: &KernelRuntime, event: abi::Event) -> u64 {
    let events = actions::events(runtime.map(maps::EVENTS).unwrap()).unwrap();
    events.iter().find(|(one, _)| *one == event).unwrap().1
}

fn packet() -> Input {
    let mut packet = vec![2; 60];
    packet[12..14].copy_from_slice(&[0x88, 0xcc]);
    Input { packet, ..Input::default() }
}

/// Records read while packets are sent from several threads, and those that were left.
fn overrun(runtime: &KernelRuntime, ring: &str, check: impl Fn(&[u8]) + Sync) -> u64 {
    let program = runtime.object().unwrap().program(PROGRAM).unwrap();
    let run = TestRun { input: packet(), ..TestRun::default() };
    let mut ring = RingBuffer::new(runtime.map(ring).unwrap()).unwrap();
    let sent = AtomicU64::new(0);
    let mut read = 0;
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                for _ in 0..PACKETS {
                    program.run(&run).unwrap();
                    sent.fetch_add(1, Ordering::Release);
                }
            });
        }
        // A slow reader: one read per N packets, so that the ring is full in between.
        let mut next = PACKETS / 4;
        while next < WRITERS * PACKETS {
            if sent.load(Ordering::Acquire) >= next {
                ring.drain(|record| {
                    check(record);
                    read += 1;
                });
                next += PACKETS / 4;
            }
            thread::yield_now();
        }
    });
    ring.drain(|record| {
        check(record);
        read += 1;
    });
    read
}

#[test]
fn samples_are_read_or_lost() {
    let sizes = Sizes { samples: 16_384, sample: 60, ..Sizes::default() };
    let (spec, acts) = filter(&[Action::Sample { one_in: 1 }], sizes);
    let runtime = start(&spec);
    fill(&runtime, &acts);
    let read = overrun(&runtime, SAMPLES, |record| {
        assert_eq!(Sample::parse(record).unwrap().bytes, packet().packet);
    });
    let lost = lost(&runtime, abi::Event::SampleLost);
    // Counts of rules are of each processor, so none is lost either.
    let count = actions::count(runtime.map(maps::COUNTS).unwrap(), 0).unwrap();
    assert_eq!((count.packets, count.taken), (WRITERS * PACKETS, WRITERS * PACKETS));
    assert_eq!(read + lost, count.taken, "{read} read, {lost} lost");
    assert!(read > 0 && lost > 0, "{read} read, {lost} lost: tells nothing");
}

/// Both parts of a filter that is watched, and what fills the maps of each.
fn watched() -> (Spec, [CompiledActions; 2]) {
    let front = compile(&tap::rules(Vec::new()), &Environment::default()).unwrap();
    let (mut drawing, (mut behind, acts)) =
        (front.spec, filter(&[Action::Count], Sizes::default()));
    tap::make_tap(&mut drawing, tap::MAX_BYTES).unwrap();
    tap::make_active_part(&mut behind).unwrap();
    behind.maps.iter_mut().find(|map| map.name == SEEN).unwrap().max_entries = 16_384;
    let link = |spec, go_on| compose::Link { spec, program: PROGRAM, go_on };
    let any = compose::VerdictSet::from_iter(Verdict::ALL);
    let links = [link(&drawing, any), link(&behind, compose::VerdictSet::EMPTY)];
    (compose::chain_of_calls(&links).unwrap(), [front.actions, acts])
}

#[test]
fn watched_packets_are_read_or_lost() {
    let (spec, [drawing, acts]) = watched();
    let runtime = start(&spec);
    fill(&runtime, &acts);
    let map = |name: &str| runtime.map(name);
    drawing.fill(|name| Ok(map(&new_name(name)).unwrap())).unwrap();
    tap::set_sampling(map(&new_name(WATCHING)).unwrap(), 1, u64::MAX).unwrap();
    let read = overrun(&runtime, SEEN, |record| {
        let seen = TappedPacket::parse(record).unwrap();
        assert_eq!((seen.one_in, seen.bytes), (1, &packet().packet[..]));
    });
    let met = tap::counts(map(KEPT).unwrap()).unwrap();
    assert_eq!(met.packets, WRITERS * PACKETS);
    assert_eq!(read + met.lost, met.packets, "{read} read, {met:?}");
    assert!(read > 0 && met.lost > 0, "{read} read, {met:?}: tells nothing");
    // When no process watches any more nothing is sampled, and nothing is counted.
    tap::set_sampling(map(&new_name(WATCHING)).unwrap(), 1, 0).unwrap();
    let program = runtime.object().unwrap().program(PROGRAM).unwrap();
    for _ in 0..3 {
        program.run(&TestRun { input: packet(), ..TestRun::default() }).unwrap();
    }
    let later = tap::counts(map(KEPT).unwrap()).unwrap();
    assert_eq!((later.packets, later.lost), (met.packets + 1, met.lost));
}
