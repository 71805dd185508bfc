//! The sink on the kernel: held to its model frame by frame, and as a judge of devices that lose,
//! double, disorder and corrupt frames on purpose.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use kernel::{KernelRuntime, Mode, TestRun};
use lab::frame::{Flow, TcpFlags};
use lab::{Capture, LinkOptions, Router, TwoHosts};
use spec::{Input, Map, Verdict};
use traffic::sink::program::{Maps, PROGRAM, PROGRAM_FRAGS, prepare};
use traffic::sink::{
    Clocks, FrameAction, Reason, Sink, SinkConfig, SinkReport, StreamReport, Tracker, Via,
};
use traffic::{Expect, Kind, Stamp};
use xway_tests::bpf::{Arm, Judge};
use xway_tests::random::Random;
use xway_tests::sink::device::{Device, EACH, Fault};
use xway_tests::sink::{
    between, end, ended, flow, generate, stamp, start, streams, summary, udp, until,
};
use xway_tests::stories;

stories! {
    frames_are_judged_as_by_the_model
    jumbo_frames_are_judged_as_by_the_model
    what_is_sent_back_is_whole
}

fn config() -> SinkConfig {
    SinkConfig { clocks: Clocks::Ignored, ..SinkConfig::new("eth0") }
}

fn report<R: Arm>(judge: &Judge<R>, config: &SinkConfig) -> SinkReport
where
    R::Map: Map,
{
    let maps = Maps::find(|name| Ok::<_, Infallible>(judge.map(name))).unwrap();
    maps.report(config).unwrap()
}

/// A frame of any kind that is verified, with a payload of up to `most` bytes.
fn any_frame(random: &mut Random, most: usize, stamp: &Stamp) -> Vec<u8> {
    let payload = [&vec![7; random.below(most)], &stamp.bytes()[..]].concat();
    let mut flow = flow(random.below(2) == 1);
    for _ in 0..random.below(3) {
        flow = flow.vlan(5);
    }
    match random.below(3) {
        0 => flow.udp(&payload),
        1 => flow.tcp(TcpFlags { ack: true, ..TcpFlags::default() }, 9, &payload),
        _ => flow.ping(1, 2, &payload),
    }
    .unwrap()
}

fn any_stamp(random: &mut Random) -> Stamp {
    let kind = match random.below(20) {
        0 => Kind::End,
        1 => Kind::Reflected(Expect::Pass),
        2..4 => Kind::Data(Expect::Drop),
        _ => Kind::Data(Expect::Pass),
    };
    let number = match random.below(12) {
        0 => random.below(1 << 32) as u32,
        1 => (1 << 18) + random.below(64) as u32,
        2 => u32::MAX - random.below(32) as u32,
        _ => random.below(64) as u32,
    };
    let (stream, source) = (random.below(5) as u16, random.below(3) as u8);
    Stamp { stream, source, number, time_ns: 0, kind }
}

fn judged_alike<R: Arm>(program: &'static str, frames: usize, most: usize) {
    let config = SinkConfig { streams: 4, sources: 8, ..config() };
    let mut judge = Judge::<R>::load_only(&prepare(&config).unwrap(), program);
    let mut tracker = Tracker::new(&config);
    let mut random = Random::new(0x0051_4e4b);
    for _ in 0..frames {
        let stamp = any_stamp(&mut random);
        let mut frame = any_frame(&mut random, most, &stamp);
        if random.below(4) == 0 {
            // Not in the addresses' type and lengths of a frame in several buffers.
            let from = if most > 1500 { 60 } else { 0 };
            let at =
                from.min(frame.len() - 1) + random.below(frame.len() - from.min(frame.len() - 1));
            frame[at] ^= 1 << random.below(8);
        }
        let judgement = judge.judge(&frame, 0);
        let reason = tracker.judge(&frame, 0, 0);
        assert_eq!(judgement.reason, reason.label(), "{stamp:?} {frame:02x?}");
        let verdict = if reason == Reason::Foreign { Verdict::Pass } else { Verdict::Drop };
        assert_eq!((judgement.verdict, judgement.packet), (verdict, frame), "{reason:?}");
    }
    let found = report(&judge, &config);
    assert_eq!(found, tracker.report(), "{}", summary(&found));
    let sum = |of: fn(&StreamReport) -> u64| found.streams.iter().map(of).sum::<u64>();
    let (corrupted, late) = (sum(|stream| stream.corrupted), sum(|stream| stream.late));
    assert!(
        corrupted > 0 && late > 0 && found.beyond > 0 && found.damaged > 0,
        "{}",
        summary(&found)
    );
}

fn frames_are_judged_as_by_the_model<R: Arm>() {
    judged_alike::<R>(PROGRAM, 1500, 300);
}

fn jumbo_frames_are_judged_as_by_the_model<R: Arm>() {
    judged_alike::<R>(PROGRAM_FRAGS, 400, 8900);
}

fn what_is_sent_back_is_whole<R: Arm>() {
    for (program, most) in [(PROGRAM, 1400), (PROGRAM_FRAGS, 8900)] {
        let config = SinkConfig { action: FrameAction::Reflect, ..config() };
        let mut judge = Judge::<R>::load_only(&prepare(&config).unwrap(), program);
        // What comes back is whole to a sink that verifies, and is not sent again.
        let mut back = Judge::<R>::load_only(&prepare(&config).unwrap(), program);
        let mut random = Random::new(99);
        for number in 0..60 {
            let frame = any_frame(&mut random, most, &stamp(number));
            let there = judge.judge(&frame, 0);
            assert_eq!((there.verdict, &*there.reason), (Verdict::Tx, "received"));
            assert_eq!((&there.packet[..6], &there.packet[6..12]), (&frame[6..12], &frame[..6]));
            let stamp = Stamp::read(&there.packet).unwrap().unwrap();
            assert_eq!(stamp.kind, Kind::Reflected(Expect::Pass));
            let here = back.judge(&there.packet, 0);
            assert_eq!((here.verdict, &*here.reason), (Verdict::Drop, "received"));
        }
    }
}

/// Two processors in parallel, each with every number: new to exactly one of them.
#[test]
fn processors_share_a_source_without_a_lock() {
    const FRAMES: u32 = 5_000;
    let config = SinkConfig { clocks: Clocks::Shared, ..config() };
    let judge = Judge::<KernelRuntime>::load(&prepare(&config).unwrap(), PROGRAM);
    let cpus = sys::cpu::online().unwrap();
    // How far each has come: neither begins a frame before the other has come to it, too.
    let turns = [AtomicU32::new(0), AtomicU32::new(0)];
    thread::scope(|scope| {
        for place in 0..2 {
            let (program, cpu) = (judge.program(), cpus[place % cpus.len()]);
            let (own, other) = (&turns[place], &turns[1 - place]);
            scope.spawn(move || {
                sys::cpu::set_affinity(&[cpu]).unwrap();
                for number in 0..FRAMES {
                    let packet = udp(&flow(false), 2, &stamp(number));
                    let input = Input { packet, ..Input::default() };
                    own.store(number, Ordering::Release);
                    while other.load(Ordering::Acquire) < number {
                        thread::yield_now();
                    }
                    program.run(&TestRun { input, ..TestRun::default() }).unwrap();
                }
            });
        }
    });
    let found = report(&judge, &config);
    let stream = found.stream(1).unwrap();
    let all = (stream.received, stream.duplicated, stream.lost, stream.late);
    assert_eq!(all, (FRAMES.into(), FRAMES.into(), 0, 0), "{}", summary(&found));
    assert_eq!(stream.latency_ns.count(), u64::from(FRAMES));
}

#[test]
fn each_thousandth_frame_that_a_device_loses_is_missed() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let device = Device::attach(&net.b, Fault::Lose);
    let sink = start(&net.c, &SinkConfig::new("eth0"));
    let sent = generate(&net.a, streams(&net.a, &net.c, &net.b, ""), 100_000, &[]);
    ended(&sink);
    let report = sink.stop().unwrap();
    let cpus = sys::cpu::online().unwrap().len() as u64;
    assert_eq!(device.seen(), 100_000);
    assert_eq!(report.lost(), 100_000 / EACH, "{}", summary(&report));
    for (stream, sent) in report.streams.iter().zip(&sent) {
        assert_eq!(stream.sent, Some(*sent));
        assert_eq!(stream.received + stream.lost, *sent, "the books of stream {}", stream.id);
        assert_eq!((stream.duplicated, stream.reordered, stream.corrupted), (0, 0, 0));
        assert_eq!(stream.latency_ns.count(), stream.received);
        assert!((1..=cpus).contains(&(stream.received - stream.jitter_ns.count())));
    }
    assert_eq!((report.streams.len(), report.damaged, report.beyond), (2, 0, 0));
}

#[test]
fn each_thousandth_frame_that_a_device_corrupts_is_found() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let _device = Device::attach(&net.b, Fault::Corrupt);
    let sink = start(&net.c, &SinkConfig::new("eth0"));
    generate(&net.a, streams(&net.a, &net.c, &net.b, ""), 50_000, &[]);
    ended(&sink);
    let report = sink.stop().unwrap();
    let corrupted: u64 = report.streams.iter().map(|stream| stream.corrupted).sum();
    assert_eq!((corrupted, report.lost()), (50_000 / EACH, 50_000 / EACH), "{}", summary(&report));
    assert_eq!(report.received(), 50_000 - 50_000 / EACH);
}

#[test]
fn a_device_that_lets_through_what_it_should_drop_is_wrong() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let _device = Device::attach(&net.b, Fault::Lose);
    let sink = start(&net.c, &SinkConfig::new("eth0"));
    let unwanted = streams(&net.a, &net.c, &net.b, "expect = \"drop\"");
    generate(&net.a, unwanted, 10_000, &[]);
    ended(&sink);
    let report = sink.stop().unwrap();
    assert!(report.streams.iter().all(|stream| stream.expect == Expect::Drop));
    assert_eq!((report.wrong(), report.lost()), (10_000 - 10, 10), "{}", summary(&report));
}

/// What arrives is what was sent, through a device without faults, with any kind of sink.
#[test]
fn all_ways_to_listen_agree() {
    for (via, count) in [
        (Via::Xdp, 50_000),
        (Via::XdpIn(Mode::Native), 50_000),
        (Via::XdpIn(Mode::Generic), 50_000),
        (Via::Stack, 2_000),
    ] {
        let net = Router::build(&LinkOptions::default()).unwrap();
        let _device = Device::attach(&net.b, Fault::None);
        let sink = start(&net.c, &SinkConfig { via, ..SinkConfig::new("eth0") });
        let sent = generate(&net.a, streams(&net.a, &net.c, &net.b, ""), count, &[]);
        ended(&sink);
        let report = until(&sink, "all frames", |report| report.received() == count);
        for (stream, sent) in report.streams.iter().zip(&sent) {
            let books = (stream.received, stream.lost, stream.sent);
            assert_eq!(books, (*sent, 0, Some(*sent)), "{via:?} {}", summary(&report));
            assert_eq!((stream.duplicated, stream.reordered, stream.late), (0, 0, 0));
            assert_eq!(stream.latency_ns.count(), *sent);
        }
        assert_eq!(report.missed, 0, "{via:?}");
        assert_eq!(sink.stop().unwrap().streams, report.streams);
    }
}

/// Doubled, disordered, lost, broken, in this order, seen by both kinds of sink.
#[test]
fn a_bad_path_is_reported_in_every_detail() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let flow = between(&net.a, &net.b);
    let pass = SinkConfig { action: FrameAction::Pass, ..SinkConfig::new("eth0") };
    let sinks = [&pass, &SinkConfig { via: Via::Stack, ..pass.clone() }]
        .map(|config| start(&net.b, config));
    let wire = Capture::open(&net.a, "eth0").unwrap();
    let send = |number| wire.send(&udp(&flow, 20, &stamp(number))).unwrap();
    [0, 1, 1, 4, 3, 2, 1, 6, 8, 7].into_iter().for_each(send);
    let mut broken = udp(&flow, 20, &stamp(9));
    broken[50] ^= 1;
    wire.send(&broken).unwrap();
    wire.send(&flow.udp(b"no stamp at all").unwrap()).unwrap();
    wire.send(&udp(&flow, 20, &end(12))).unwrap();
    for sink in sinks {
        ended(&sink);
        let report = sink.stop().unwrap();
        let stream = report.stream(1).unwrap();
        let counts = (stream.received, stream.lost, stream.sent);
        assert_eq!(counts, (8, 4, Some(12)), "{}", summary(&report));
        let counts = (stream.duplicated, stream.reordered, stream.corrupted, stream.late);
        assert_eq!(counts, (2, 3, 1, 0), "{}", summary(&report));
        assert!(report.foreign >= 1, "and what IPv6 has to say");
    }
}

#[test]
fn two_processors_receive_one_stream_in_parallel() {
    const COUNT: u64 = 200_000;
    let cpus = sys::cpu::online().unwrap();
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let sink = start(&net.b, &SinkConfig::new("eth0"));
    let cpus: Vec<usize> = cpus.into_iter().take(2).collect();
    let sent = generate(&net.a, streams(&net.a, &net.b, &net.b, ""), COUNT, &cpus);
    ended(&sink);
    let report = until(&sink, "all frames", |report| report.received() == COUNT);
    for (stream, sent) in report.streams.iter().zip(&sent) {
        assert_eq!((stream.received, stream.lost, stream.sent), (*sent, 0, Some(*sent)));
        assert_eq!(stream.sources as usize, cpus.len());
        assert_eq!((stream.duplicated, stream.late, stream.corrupted), (0, 0, 0));
    }
}

/// Round trips between two hosts that are configured to have no common clock.
#[test]
fn reflected_frames_measure_round_trips() {
    for via in [Via::Xdp, Via::Stack] {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        let far = SinkConfig { via, action: FrameAction::Reflect, ..SinkConfig::new("eth0") };
        let far = start(&net.b, &SinkConfig { clocks: Clocks::Apart, ..far });
        let near = SinkConfig { clocks: Clocks::Apart, ..SinkConfig::new("eth0") };
        let near = start(&net.a, &near);
        let wire = Capture::open(&net.a, "eth0").unwrap();
        let flow = between(&net.a, &net.b);
        (0..50).for_each(|number| wire.send(&udp(&flow, 2, &stamp(number))).unwrap());
        wire.send(&udp(&flow, 2, &end(50))).unwrap();
        ended(&far);
        ended(&near);
        let [far, near] = [far, near].map(|sink| sink.stop().unwrap());
        for report in [&far, &near] {
            let stream = report.stream(1).unwrap();
            assert_eq!((stream.received, stream.lost), (50, 0), "{via:?} {}", summary(report));
        }
        assert!(far.streams[0].latency_ns.is_empty());
        assert_eq!(near.streams[0].latency_ns.count(), 50);
        assert!(near.streams[0].latency_ns.max() < Some(2_000_000_000), "{via:?}");
    }
}

#[test]
fn the_mode_fits_the_interface_which_is_left_as_it_was() {
    for (mtu, via, mode) in [
        (1500, Via::Xdp, Some(Mode::Native)),
        (1500, Via::XdpIn(Mode::Generic), Some(Mode::Generic)),
        (9000, Via::Xdp, Some(Mode::Native)),
        (9000, Via::XdpIn(Mode::Generic), Some(Mode::Generic)),
        (9000, Via::Stack, None),
    ] {
        let net = TwoHosts::build(&LinkOptions { mtu, ..LinkOptions::default() }).unwrap();
        let sink = start(&net.b, &SinkConfig { via, ..SinkConfig::new("eth0") });
        assert_eq!(sink.mode(), mode, "{mtu} {via:?}");
        let wire = Capture::open(&net.a, "eth0").unwrap();
        let length = mtu as usize - 28 - Stamp::LEN;
        let send = |flow: &Flow, stamp| wire.send(&udp(flow, length, &stamp)).unwrap();
        let flow = between(&net.a, &net.b);
        (0..20).for_each(|number| send(&flow, stamp(number)));
        send(&flow, end(20));
        ended(&sink);
        let report = until(&sink, "all frames", |report| report.received() == 20);
        assert_eq!(report.streams[0].bytes, 20 * (mtu as u64 + 14), "{mtu} {via:?}");
        assert_eq!(report.streams[0].corrupted, 0, "{mtu} {via:?}");
        drop(sink);
        let after = net.b.netlink().unwrap().link("eth0").unwrap().xdp;
        assert!(after.is_empty(), "{mtu} {via:?}: {after:?}");
    }
}

#[test]
fn an_interface_that_is_taken_keeps_its_program_and_names_it() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let first = start(&net.b, &SinkConfig::new("eth0"));
    let refused = net.b.run(|| Sink::start(&SinkConfig::new("eth0"))).unwrap().unwrap_err();
    assert!(refused.to_string().contains("eth0 already runs"), "{refused}");
    assert!(refused.to_string().contains("`xway_sink`"), "{refused}");
    let missing = net.b.run(|| Sink::start(&SinkConfig::new("nosuch0"))).unwrap().unwrap_err();
    assert!(missing.to_string().contains("nosuch0"), "{missing}");
    let wire = Capture::open(&net.a, "eth0").unwrap();
    wire.send(&udp(&between(&net.a, &net.b), 2, &stamp(0))).unwrap();
    until(&first, "the first sink's frame", |report| report.received() == 1);
}
