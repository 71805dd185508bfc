//! Running programs in the kernel: test runs, live frames, ring buffers, the runtime seam.

use std::time::{Duration, Instant};

use kernel::{Burst, KernelRuntime, LiveRun, RingBuffer, TestRun};
use spec::asm::{Assembler, Cond, Helper, Reg::*};
use spec::{Input, MapKind, ProgramKind, Runtime, Verdict};
use xway_tests::program::{self, constant, counting, frame, load, map, object, seen};

fn on(packet: Vec<u8>) -> TestRun {
    TestRun { input: Input { packet, ..Default::default() }, ..Default::default() }
}

#[test]
fn every_verdict_comes_back() {
    for verdict in Verdict::ALL {
        let object = load(&object(vec![], vec![constant("say", verdict)]));
        let outcome = object.program("say").unwrap().run(&on(frame())).unwrap();
        assert_eq!(outcome.verdict(), verdict);
        assert_eq!(outcome.packet, frame(), "{verdict}: the packet is untouched");
    }
}

#[test]
fn packets_too_short_for_ethernet_are_refused() {
    let object = load(&object(vec![], vec![constant("say", Verdict::Pass)]));
    let error = object.program("say").unwrap().run(&on(vec![0; 13])).unwrap_err();
    assert_eq!(error.errno(), Some(22), "{error}");
    assert!(error.to_string().contains("bpf(PROG_TEST_RUN) \"say\""), "{error}");
}

/// Moves the packet's start by `delta`, negative to grow, and drops when that fails.
fn adjust(helper: Helper, delta: i32) -> Assembler {
    let mut a = Assembler::new("adjust", ProgramKind::XDP);
    let failed = a.label();
    a.mov(R2, delta).call(helper).jump_if(R0, Cond::Ne, 0, failed).verdict(Verdict::Pass);
    a.bind(failed).verdict(Verdict::Drop);
    a
}

#[test]
fn packets_grow_and_shrink_at_both_ends() {
    let table = [
        (Helper::XDP_ADJUST_HEAD, -8, 68, Verdict::Pass),
        (Helper::XDP_ADJUST_HEAD, 14, 46, Verdict::Pass),
        (Helper::XDP_ADJUST_TAIL, -20, 40, Verdict::Pass),
        (Helper::XDP_ADJUST_TAIL, 100, 160, Verdict::Pass),
        (Helper::XDP_ADJUST_HEAD, 59, 60, Verdict::Drop),
    ];
    for (helper, delta, length, verdict) in table {
        let object = load(&object(vec![], vec![adjust(helper, delta)]));
        let outcome = object.program("adjust").unwrap().run(&on(frame())).unwrap();
        assert_eq!(outcome.verdict(), verdict, "{:?} {delta}", helper.name());
        assert_eq!(outcome.packet.len(), length, "{:?} {delta}", helper.name());
    }
}

#[test]
fn metadata_goes_in_and_comes_out() {
    let mut input = Input { packet: frame(), metadata: vec![1, 2, 3, 4], ..Default::default() };
    let object = load(&object(vec![], vec![constant("say", Verdict::Pass)]));
    let run = TestRun { input: input.clone(), ..Default::default() };
    let outcome = object.program("say").unwrap().run(&run).unwrap();
    assert_eq!((outcome.metadata, outcome.packet), (vec![1, 2, 3, 4], frame()));

    input.metadata.clear();
    let grown = load(&program::object(vec![], vec![adjust(Helper::XDP_ADJUST_META, -8)]));
    let run = TestRun { input, ..Default::default() };
    let outcome = grown.program("adjust").unwrap().run(&run).unwrap();
    assert_eq!((outcome.metadata.len(), outcome.packet), (8, frame()));
}

#[test]
fn the_context_names_interface_and_queue() {
    // Answers the interface number as its verdict.
    let mut a = Assembler::new("ingress", ProgramKind::XDP);
    a.load32(R0, R1.at(12)).exit();
    let object = load(&object(vec![], vec![a]));
    let lab = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let ifindex = lab.a.ifindex("eth0").unwrap().0;
    let run = |ingress_ifindex| {
        let input = Input { packet: frame(), ingress_ifindex, ..Default::default() };
        let run = TestRun { input, ..Default::default() };
        lab.a.run(|| object.program("ingress").unwrap().run(&run)).unwrap()
    };
    assert_eq!(run(ifindex).unwrap().code, ifindex);
    assert_eq!(run(9999).unwrap_err().errno(), Some(19), "an interface that is not there");
}

#[test]
fn runs_are_repeated_and_timed() {
    let object = load(&object(vec![seen()], vec![counting("count", Verdict::Pass)]));
    let run = TestRun { repeat: 1000, ..on(frame()) };
    let outcome = object.program("count").unwrap().run(&run).unwrap();
    assert_eq!(outcome.verdict(), Verdict::Pass);
    let seen = object.map("seen").unwrap().lookup_per_cpu(&[0; 4]).unwrap().unwrap();
    assert_eq!(seen.sums(), [1000]);
}

#[test]
fn live_frames_all_go_through_the_program() {
    let object = load(&object(vec![seen()], vec![counting("count", Verdict::Drop)]));
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let ingress_ifindex = net.a.ifindex("eth0").unwrap().0;
    let input = Input { packet: frame(), ingress_ifindex, ..Default::default() };
    let live = LiveRun { input, count: 10_000, batch: 256, cpu: None };
    let burst = net.a.run(|| object.program("count").unwrap().live(&live)).unwrap().unwrap();
    assert_eq!(burst, Burst::Done);
    let seen = object.map("seen").unwrap().lookup_per_cpu(&[0; 4]).unwrap().unwrap();
    assert_eq!(seen.sums(), [10_000]);
}

#[test]
fn a_long_burst_is_cut_by_a_signal() {
    let object = load(&object(vec![seen()], vec![counting("count", Verdict::Drop)]));
    let program = object.program("count").unwrap().duplicate().unwrap();
    let (ready, started) = std::sync::mpsc::channel();
    let burst = std::thread::spawn(move || {
        ready.send(sys::thread::Interruptible::current().unwrap()).unwrap();
        // Bounded: some minutes, if the signal never came.
        let input = Input { packet: frame(), ..Default::default() };
        program.live(&LiveRun { input, count: 1 << 31, ..Default::default() })
    });
    let thread = started.recv().unwrap();
    let sums = || object.map("seen").unwrap().lookup_per_cpu(&[0; 4]).unwrap().unwrap().sums();
    program::wait_for("frames flow", || sums()[0] > 0);
    while !burst.is_finished() {
        let _ = thread.interrupt();
        std::thread::park_timeout(Duration::from_millis(1));
    }
    assert_eq!(burst.join().unwrap().unwrap(), Burst::Interrupted);
}

/// Sends the packet's first eight bytes to the ring, unless its first byte is 0xff.
fn reporter() -> Assembler {
    let mut a = Assembler::new("report", ProgramKind::XDP);
    let (out, discard) = (a.label(), a.label());
    a.packet(R6, R7, R1).need(R6, R7, 14, R2, out);
    a.load_map(R1, "ring").mov(R2, 8).mov(R3, 0).call(Helper::RINGBUF_RESERVE);
    a.jump_if(R0, Cond::Eq, 0, out);
    a.load64(R2, R6.at(0)).store64(R0.at(0), R2).load8(R3, R6.at(0));
    a.mov(R1, R0).mov(R2, 0).jump_if(R3, Cond::Eq, 0xff, discard);
    a.call(Helper::RINGBUF_SUBMIT).verdict(Verdict::Pass);
    a.bind(discard).call(Helper::RINGBUF_DISCARD);
    a.bind(out).verdict(Verdict::Drop);
    a
}

#[test]
fn records_come_out_of_the_ring_in_order() {
    let spec = object(vec![map("ring", MapKind::RINGBUF, [0, 0, 4096])], vec![reporter()]);
    let object = load(&spec);
    let program = object.program("report").unwrap();
    let mut ring = RingBuffer::new(object.map("ring").unwrap()).unwrap();
    let mut firsts = Vec::new();
    // Several times around a ring of 4096 bytes, with a discarded record now and then.
    for number in 0..1000u32 {
        let mut packet = frame();
        packet[0] = if number % 10 == 9 { 0xff } else { (number % 100) as u8 };
        let expected = if packet[0] == 0xff { Verdict::Drop } else { Verdict::Pass };
        assert_eq!(program.run(&on(packet)).unwrap().verdict(), expected);
        if number % 50 == 49 {
            ring.drain(|record| firsts.push((record.len(), record[0])));
        }
    }
    let expected: Vec<_> =
        (0..1000u32).filter(|n| n % 10 != 9).map(|n| (8, (n % 100) as u8)).collect();
    assert_eq!(firsts, expected);
    assert_eq!(ring.backlog(), 0);
}

#[test]
fn a_full_ring_loses_new_records_and_an_empty_one_waits() {
    let spec = object(vec![map("ring", MapKind::RINGBUF, [0, 0, 4096])], vec![reporter()]);
    let object = load(&spec);
    let program = object.program("report").unwrap();
    let mut ring = RingBuffer::new(object.map("ring").unwrap()).unwrap();
    let run = TestRun { repeat: 1000, ..on(frame()) };
    assert_eq!(program.run(&run).unwrap().verdict(), Verdict::Drop, "no room in the end");
    let soon = Instant::now() + Duration::from_secs(5);
    let mut count = 0;
    ring.wait(soon, |_| count += 1).unwrap();
    // Each record takes 16 bytes; the kernel leaves one byte free.
    assert_eq!(count, 4096 / 16 - 1);
    let now = Instant::now() + Duration::from_millis(5);
    assert_eq!(ring.wait(now, |_| panic!("nothing was sent")).unwrap(), 0);
    assert!(RingBuffer::new(&load(&program::object(vec![seen()], vec![])).maps()[0]).is_err());
}

#[test]
fn the_runtime_seam_runs_what_it_loaded() {
    let mut runtime = KernelRuntime::default();
    let input = Input { packet: frame(), ..Default::default() };
    assert!(runtime.run("count", &input).is_err(), "nothing is loaded yet");
    runtime.load(&object(vec![seen()], vec![counting("count", Verdict::Tx)])).unwrap();
    let outcome = runtime.run("count", &input).unwrap();
    assert_eq!(outcome.verdict, Verdict::Tx);
    assert!(runtime.map("seen").is_some() && runtime.map("nope").is_none());
    let error = runtime.run("other", &input).unwrap_err();
    assert!(error.to_string().contains("it has count"), "{error}");
}
