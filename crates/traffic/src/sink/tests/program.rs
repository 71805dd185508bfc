//! The compiled program on the engine agrees with the tracker in every respect.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use spec::{Input, Map as _, Verdict};
use vm::world::{Clock, World};
use vm::{Machine, Options, Worker};

use super::frames::{Carrier, end, stamp, udp};
use crate::sink::program::{Maps, PROGRAM, PROGRAM_FRAGS, prepare};
use crate::sink::{Clocks, FrameAction, Reason, SinkConfig, SinkReport, Tracker};
use crate::stamp::{Expect, Kind, Stamp};

/// A sink on an engine of two processors.
pub struct Engine {
    pub config: SinkConfig,
    pub machine: Machine,
    workers: Vec<Worker>,
    program: usize,
}

impl Engine {
    pub fn new(config: &SinkConfig) -> Self {
        Self::of(config, PROGRAM)
    }

    pub fn of(config: &SinkConfig, program: &str) -> Self {
        let programs = Some(vec![program.to_owned()]);
        let clock = Clock { start_ns: 0, step_ns: 1, ..Clock::default() };
        let world = World { clock, ..World::default() };
        let options = Options { cpus: 2, programs, world, ..Options::default() };
        let machine = Machine::load(&prepare(config).unwrap(), &options).unwrap();
        let workers = (0..2).map(|cpu| machine.worker(cpu)).collect();
        let program = machine.program(program).unwrap();
        Self { config: config.clone(), machine, workers, program }
    }

    /// Sets a processor's clock to this time, unless it is in the past; returns the time.
    fn clock(&mut self, now_ns: u64, cpu: usize) -> u64 {
        self.workers[cpu].set_clock_ns(now_ns);
        self.workers[cpu].now_ns()
    }

    /// Runs the program; returns its verdict, and the frame afterwards.
    fn run(&mut self, frame: &[u8], cpu: usize) -> (Verdict, Vec<u8>) {
        let worker = &mut self.workers[cpu];
        worker.put(&Input { packet: frame.to_vec(), ..Input::default() }).unwrap();
        let verdict = Verdict::from_code(worker.execute(self.program).unwrap());
        (verdict, worker.packet().into_owned())
    }

    pub fn report(&self) -> SinkReport {
        let maps = self.machine.maps();
        let find = |name: &str| maps.iter().find(|map| map.attributes().name == name).ok_or(());
        Maps::find(|name| find(name).map(|map| &**map)).unwrap().report(&self.config).unwrap()
    }

    /// Number of frames of each reason so far.
    fn reasons(&self) -> Vec<u64> {
        let stats = self.machine.map("xway_stats").unwrap();
        let of = |reason: Reason| {
            let places = (0..5).map(|verdict| reason as u32 * 5 + verdict);
            let values = places.map(|place| stats.lookup(&place.to_le_bytes()).unwrap().unwrap());
            let packets = |value: Vec<u8>| -> u64 {
                value.chunks_exact(16).map(|one| u64::from(one[0]) + 256 * u64::from(one[1])).sum()
            };
            values.map(packets).sum()
        };
        Reason::ALL.map(of).to_vec()
    }
}

/// Judges a frame with the program and with the tracker, which must agree in every respect.
pub fn judge_both(engine: &mut Engine, tracker: &mut Tracker, frame: &[u8], now: u64, cpu: usize) {
    let (before, now) = (engine.reasons(), engine.clock(now, cpu));
    let (verdict, left) = engine.run(frame, cpu);
    let moved = engine.reasons().iter().zip(&before).position(|(now, then)| now != then);
    let reason = tracker.judge(frame, now, cpu);
    let found = moved.map(|index| Reason::ALL[index]);
    assert_eq!(found, Some(reason), "{frame:02x?} {:?}", Stamp::read(frame));
    assert_eq!((verdict, left), expected(engine.config.action, frame, reason), "{reason:?}");
}

/// The expected verdict for a frame, and its bytes afterwards.
fn expected(action: FrameAction, frame: &[u8], reason: Reason) -> (Verdict, Vec<u8>) {
    let whole =
        matches!(reason, Reason::Received | Reason::Duplicated | Reason::Late | Reason::End);
    let comes_back = matches!(
        Stamp::read(frame),
        Some(Ok(Stamp { kind: Kind::Reflected(_) | Kind::ReflectedEnd, .. }))
    );
    match action {
        _ if reason == Reason::Foreign => (Verdict::Pass, frame.to_vec()),
        FrameAction::Drop => (Verdict::Drop, frame.to_vec()),
        FrameAction::Pass => (Verdict::Pass, frame.to_vec()),
        FrameAction::Reflect if whole && !comes_back => {
            let mut back = frame.to_vec();
            let answers = crate::sink::reflect::reflect(&mut back, None);
            (if answers { Verdict::Tx } else { Verdict::Drop }, back)
        }
        FrameAction::Reflect => (Verdict::Drop, frame.to_vec()),
    }
}

#[test]
fn all_carriers_sizes_and_outcomes() {
    for action in [FrameAction::Drop, FrameAction::Pass, FrameAction::Reflect] {
        let config = SinkConfig { action, ..SinkConfig::new("eth0") };
        let (mut engine, mut tracker) = (Engine::new(&config), Tracker::new(&config));
        for (number, carrier) in Carrier::ALL.into_iter().enumerate() {
            for length in [0, 1, 2, 3, 31, 32, 63, 64, 65, 127, 255, 600, 1400] {
                let sent = stamp(number as u16, 3, length as u32);
                let frame = carrier.frame(length, &sent);
                judge_both(&mut engine, &mut tracker, &frame, 1000, 0);
                let mut turned = frame.clone();
                turned[frame.len() / 2] ^= 4;
                judge_both(&mut engine, &mut tracker, &turned, 1000, 1);
            }
            let kind = Kind::Reflected(Expect::Pass);
            let back = carrier.frame(9, &Stamp { kind, ..stamp(number as u16, 4, 0) });
            judge_both(&mut engine, &mut tracker, &back, 1000, 0);
            judge_both(&mut engine, &mut tracker, &end(number as u16, 3, 1401), 1000, 0);
        }
        assert_eq!(engine.report(), tracker.report());
        assert_eq!(engine.report().streams.len(), Carrier::ALL.len());
    }
}

#[test]
fn frames_cut_anywhere_are_judged_alike() {
    let config = SinkConfig { action: FrameAction::Reflect, ..SinkConfig::new("eth0") };
    let (mut engine, mut tracker) = (Engine::new(&config), Tracker::new(&config));
    for carrier in Carrier::ALL {
        let frame = carrier.frame(40, &stamp(1, 0, 5));
        for length in 14..frame.len() {
            judge_both(&mut engine, &mut tracker, &frame[..length], 0, 0);
            // With a stamp at the end of the remaining bytes.
            let cut = [&frame[..length], &stamp(1, 0, length as u32).bytes()].concat();
            judge_both(&mut engine, &mut tracker, &cut, 0, 0);
        }
    }
    assert_eq!(engine.report(), tracker.report());
}

#[test]
fn frames_of_several_buffers() {
    let config = SinkConfig { action: FrameAction::Reflect, ..SinkConfig::new("eth0") };
    let (mut engine, mut tracker) = (Engine::of(&config, PROGRAM_FRAGS), Tracker::new(&config));
    for (number, carrier) in Carrier::ALL.into_iter().enumerate() {
        for length in [0, 40, 3000, 4100, 8001, 8900] {
            let frame = carrier.frame(length, &stamp(number as u16, 0, length as u32));
            judge_both(&mut engine, &mut tracker, &frame, 7, 0);
            for at in (60..frame.len()).step_by(701) {
                let mut turned = frame.clone();
                turned[at] ^= 0x20;
                judge_both(&mut engine, &mut tracker, &turned, 7, 0);
            }
        }
    }
    let report = engine.report();
    assert_eq!(report, tracker.report());
    assert!(report.streams.iter().filter(|stream| stream.corrupted > 20).count() == 8);
}

#[test]
fn clocks_determine_which_times_are_measured() {
    for (clocks, counts) in
        [(Clocks::Shared, [3, 2]), (Clocks::Apart, [1, 2]), (Clocks::Ignored, [0, 0])]
    {
        let config = SinkConfig { clocks, ..SinkConfig::new("eth0") };
        let (mut engine, mut tracker) = (Engine::new(&config), Tracker::new(&config));
        let back = Stamp { kind: Kind::Reflected(Expect::Pass), ..stamp(1, 0, 1) };
        for (sent, now) in [(stamp(1, 0, 0), 100), (back, 300), (stamp(1, 0, 2), 5_000_000)] {
            judge_both(&mut engine, &mut tracker, &udp(&sent), now, 0);
        }
        let stream = engine.report().streams[0].clone();
        assert_eq!([stream.latency_ns.count(), stream.jitter_ns.count()], counts, "{clocks:?}");
        assert_eq!(engine.report(), tracker.report(), "{clocks:?}");
    }
}

#[test]
fn sources_beyond_the_capacity_are_counted_and_others_remain_exact() {
    for (streams, sources) in [(2, 4), (1, 1), (64, 256), (3, 2)] {
        let config = SinkConfig { streams, sources, ..SinkConfig::new("eth0") };
        let (mut engine, mut tracker) = (Engine::new(&config), Tracker::new(&config));
        for round in 0..2 {
            for number in 0..300_u32 {
                let (stream, source) = ((number % 67) as u16 * 11, (number % 5) as u8);
                let frame = udp(&stamp(stream, source, round));
                let now = engine.clock(0, 0);
                let reason = tracker.judge(&frame, now, 0);
                engine.run(&frame, 0);
                assert!(reason != Reason::Beyond || streams < 67);
            }
        }
        let report = engine.report();
        assert_eq!(report, tracker.report(), "{streams} streams, {sources} sources");
        assert!(report.beyond > 0);
    }
}

/// Processors that receive the same frames at the same time: only one of them counts each number.
#[test]
fn processors_share_a_source_without_a_lock() {
    const FRAMES: u32 = 10_000;
    let config = SinkConfig { verify: false, sources: 4, streams: 1, ..SinkConfig::new("eth0") };
    let engine = Engine::new(&config);
    // The progress of each processor: neither begins a frame before the other has reached it.
    let turns = [AtomicU32::new(0), AtomicU32::new(0)];
    thread::scope(|scope| {
        for cpu in 0..2 {
            let (machine, program) = (engine.machine.clone(), engine.program);
            let (own, other) = (&turns[cpu], &turns[1 - cpu]);
            scope.spawn(move || {
                let mut worker = machine.worker(cpu as u32);
                for number in 0..FRAMES {
                    let packet = udp(&stamp(1, 0, number));
                    worker.put(&Input { packet, ..Input::default() }).unwrap();
                    own.store(number, Ordering::Release);
                    while other.load(Ordering::Acquire) < number {
                        thread::yield_now();
                    }
                    worker.execute(program).unwrap();
                }
            });
        }
    });
    let stream = engine.report().streams[0].clone();
    assert_eq!((stream.received, stream.duplicated), (FRAMES.into(), FRAMES.into()));
    assert_eq!((stream.lost, stream.late, stream.sources), (0, 0, 1));
}
