//! What rules of the filter do, on the kernel and on the engine: actions in, verdict, reason,
//! packet and counters out.

use std::net::IpAddr;
use std::time::Duration;

use filter::compile::actions::{CompiledActions, Sizes};
use filter::maps::{self, BANS, SAMPLES};
use filter::runtime::actions;
use filter::runtime::bans::Bans;
use filter::runtime::samples::Sample;
use filter::{Action, Limit, PROGRAM, Per, Reason, Redirect, Unit, abi};
use kernel::{KernelRuntime, LoadOptions, RingBuffer};
use spec::{Expect, Input, Map, Runtime, Verdict};
use vm::{Machine, Options, Worker};
use xway_tests::bpf::Arm;
use xway_tests::bpf::packet::{ARP, IPV4, UDP, V4, eth, udp};
use xway_tests::filter::act::{fill, filter};
use xway_tests::stories;

stories! {
    rules_act_in_order
    a_rule_with_a_time_decides_while_it_lasts
    a_mark_precedes_the_packet
    a_redirect_without_a_target
    a_source_is_banned_until_its_ban_is_taken_back
    when_no_more_can_be_banned_it_is_counted
    samples_without_a_reader_are_counted
}

struct Filter<R> {
    runtime: R,
    seen: functions::stats::Stats,
    labels: Vec<String>,
}

impl<R: Arm> Filter<R> {
    fn new(actions: &[Action]) -> Self {
        Self::sized(actions, Sizes::default())
    }

    fn sized(actions: &[Action], sizes: Sizes) -> Self {
        let (spec, acts) = filter(actions, sizes);
        let mut runtime = R::start(Some(PROGRAM));
        runtime.load(&spec).unwrap_or_else(|error| panic!("{error}"));
        fill(&runtime, &acts);
        let labels = functions::stats::labels(spec.btf.as_ref().unwrap()).unwrap();
        Self { runtime, seen: functions::stats::Stats::default(), labels }
    }

    fn map(&self, name: &str) -> &R::Map {
        self.runtime.map(name).unwrap()
    }

    /// Verdict, reason's label, and metadata before the packet.
    fn run(&mut self, packet: &[u8]) -> (Verdict, String, Vec<u8>) {
        self.run_with(packet, &[])
    }

    fn run_with(&mut self, packet: &[u8], metadata: &[u8]) -> (Verdict, String, Vec<u8>) {
        let (packet, metadata) = (packet.to_vec(), metadata.to_vec());
        let input = Input { packet: packet.clone(), metadata, ..Input::default() };
        let outcome = self.runtime.run(PROGRAM, &input).unwrap();
        let now = functions::stats::Stats::read(self.map(functions::stats::MAP), &self.labels);
        let now = now.unwrap();
        let moved = now.since(&self.seen);
        self.seen = now;
        let [row] = &moved.rows[..] else { panic!("not one counter moved: {moved:?}") };
        assert_eq!((row.count.packets, row.verdict), (1, outcome.verdict));
        let is_refused = ["banned", "limited"].contains(&&*row.reason);
        assert!(!is_refused || row.verdict == Verdict::Drop, "{row:?}");
        assert_eq!(outcome.packet, packet, "rules change no packet");
        (outcome.verdict, row.reason.clone(), outcome.metadata)
    }

    fn counts(&self, rules: u32) -> Vec<(u64, u64)> {
        let count = |rule| actions::count(self.map(maps::COUNTS), rule).unwrap();
        (0..rules).map(|rule| (count(rule).packets, count(rule).taken)).collect()
    }

    fn events(&self) -> Vec<(abi::Event, u64)> {
        let mut events = actions::events(self.map(maps::EVENTS)).unwrap();
        events.retain(|(_, count)| *count > 0);
        events
    }
}

fn from(source: [u8; 4]) -> Vec<u8> {
    let mut ip = V4::new("10.1.0.2", UDP).wrap(&udp(53));
    ip[12..16].copy_from_slice(&source);
    eth(&[], IPV4, &ip)
}

/// A token a second at most, so that a test sees the burst alone.
fn limit(burst: u64) -> Action {
    Action::Limit(Limit { rate: 1, unit: Unit::Packets, burst, per: Per::Rule, total: None })
}

const BAN: Action = Action::Ban(Duration::from_secs(3600));

fn rules_act_in_order<R: Arm>() {
    use Action::{Count, Drop, Mark, Pass};
    for (actions, verdict, reason, counts) in [
        (&[][..], Verdict::Pass, "default", &[][..]),
        (&[Count], Verdict::Pass, "default", &[(1, 0)]),
        (&[Drop], Verdict::Drop, "rule", &[(1, 0)]),
        (&[Pass, Drop], Verdict::Pass, "rule", &[(1, 0), (0, 0)]),
        (&[Count, Mark(1), Drop, Count], Verdict::Drop, "rule", &[(1, 0), (1, 0), (1, 0), (0, 0)]),
        (&[limit(1000), Count], Verdict::Pass, "default", &[(1, 0), (1, 0)]),
        (&[Action::Sample { one_in: 1 }, Drop], Verdict::Drop, "rule", &[(1, 1), (1, 0)]),
        (&[BAN], Verdict::Drop, "rule", &[(1, 0)]),
    ] {
        let mut filter = Filter::<R>::new(actions);
        let (seen, label, metadata) = filter.run(&from([10, 0, 0, 1]));
        assert_eq!((seen, &*label), (verdict, reason), "{actions:?}");
        assert_eq!(filter.counts(counts.len() as u32), counts, "{actions:?}");
        assert_eq!(filter.events(), []);
        let marked = actions.contains(&Mark(1)) && verdict != Verdict::Drop;
        assert_eq!(!metadata.is_empty(), marked, "{actions:?}");
    }
}

fn a_rule_with_a_time_decides_while_it_lasts<R: Arm>() {
    let actions = [Action::DropFor(Duration::from_secs(60)), Action::Count];
    let mut filter = Filter::<R>::new(&actions);
    let mut run_until = |end: u32| {
        let rule = abi::Rule { action: abi::Action::DropFor as u32, argument: end };
        filter.map(maps::RULES).update(&[0; 4], &rule.to_bytes(), Expect::Any).unwrap();
        let (verdict, reason, _) = filter.run(&from([10, 0, 0, 1]));
        (verdict, reason, filter.counts(2))
    };
    let rule = |counts| (Verdict::Drop, "rule".to_owned(), counts);
    let default = |counts| (Verdict::Pass, "default".to_owned(), counts);
    assert_eq!(run_until(u32::MAX), rule(vec![(1, 1), (0, 0)]));
    assert_eq!(run_until(u32::MAX), rule(vec![(2, 2), (0, 0)]));
    // Over, it neither decides nor counts.
    assert_eq!(run_until(0), default(vec![(2, 2), (1, 0)]));
    assert_eq!(run_until(u32::MAX), rule(vec![(3, 3), (1, 0)]));
}

fn a_mark_precedes_the_packet<R: Arm>() {
    let packet = from([10, 0, 0, 1]);
    let mut filter = Filter::<R>::new(&[Action::Mark(7), Action::Mark(0x0102_0304)]);
    let (verdict, _, metadata) = filter.run(&packet);
    assert_eq!((verdict, &metadata[..]), (Verdict::Pass, &[4, 3, 2, 1][..]), "the last counts");
    let (_, _, metadata) = filter.run_with(&packet, &[9; 4]);
    assert_eq!(metadata, [4, 3, 2, 1, 9, 9, 9, 9], "in front of what others left");
    assert_eq!(filter.events(), []);
}

fn a_redirect_without_a_target<R: Arm>() {
    let socket = Redirect::Socket;
    let mut filter = Filter::<R>::new(&[Action::Redirect(socket)]);
    let (verdict, reason, _) = filter.run(&from([10, 0, 0, 1]));
    assert_eq!((verdict, &*reason), (Verdict::Pass, "rule"), "nobody has opened a socket");
    assert_eq!(filter.events(), [(abi::Event::NoTarget, 1)]);
    assert_eq!(filter.counts(1), [(1, 0)]);
    let mut filter = Filter::<R>::new(&[Action::Redirect(Redirect::Cpu(0))]);
    let (verdict, _, _) = filter.run(&from([10, 0, 0, 1]));
    assert_eq!((verdict, filter.events()), (Verdict::Redirect, vec![]));
    let cpus = filter.map(maps::CPUS);
    cpus.delete(&[0; 4]).unwrap();
    let (verdict, _, _) = filter.run(&from([10, 0, 0, 1]));
    assert_eq!((verdict, filter.events()), (Verdict::Pass, vec![(abi::Event::NoTarget, 1)]));
}

fn a_source_is_banned_until_its_ban_is_taken_back<R: Arm>() {
    let (one, other) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let sizes = Sizes { manual_bans: true, ..Sizes::default() };
    let mut filter = Filter::<R>::sized(&[limit(1), BAN], sizes);
    // The limit ends the search for what is over it, so the first packet alone is banned for.
    assert_eq!(filter.run(&from(one)).1, "rule");
    for _ in 0..3 {
        assert_eq!(filter.run(&from(one)).1, "banned");
    }
    assert_eq!(filter.run(&from(other)).1, "limited", "is not banned");
    assert_eq!(filter.run(&eth(&[], ARP, &[0; 28])).1, "limited", "has no source to ban");
    assert_eq!(filter.counts(2), [(3, 2), (1, 0)], "what is banned meets no rule");
    let bans = Bans::new(filter.map(BANS));
    let listed = bans.list(0).unwrap();
    let [ban] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((ban.source, ban.packets), (IpAddr::from(one), 3));
    assert!(bans.remove(one.into()).unwrap());
    bans.add(other.into(), None, 0).unwrap();
    assert_eq!(filter.run(&from(one)).1, "limited");
    assert_eq!(filter.run(&from(other)).1, "banned");
}

fn when_no_more_can_be_banned_it_is_counted<R: Arm>() {
    let sizes = Sizes { bans: 2, ..Sizes::default() };
    let mut filter = Filter::<R>::sized(&[BAN], sizes);
    for source in 1..=4 {
        assert_eq!(filter.run(&from([10, 0, 0, source])).0, Verdict::Drop);
    }
    assert_eq!(filter.events(), [(abi::Event::BansFull, 2)]);
    let labels: Vec<String> = (1..=4).map(|s| filter.run(&from([10, 0, 0, s])).1).collect();
    assert_eq!(labels, ["banned", "banned", "rule", "rule"], "the first stay");
}

fn samples_without_a_reader_are_counted<R: Arm>() {
    let sizes = Sizes { samples: 4096, sample: 1000, ..Sizes::default() };
    let mut filter = Filter::<R>::sized(&[Action::Sample { one_in: 1 }], sizes);
    for _ in 0..10 {
        assert_eq!(filter.run(&from([10, 0, 0, 1])).0, Verdict::Pass);
    }
    // Records of 1048 bytes in 4096.
    assert_eq!(filter.events(), [(abi::Event::SampleLost, 7)]);
    assert_eq!(filter.counts(1), [(10, 10)]);
}

#[test]
fn samples_say_what_became_of_a_packet() {
    let sizes = Sizes { sample: 60, ..Sizes::default() };
    let sample = Action::Sample { one_in: 1 };
    let (spec, acts) = filter(&[Action::Count, sample.clone(), sample, Action::Drop], sizes);
    let programs = Some(vec![PROGRAM.to_owned()]);
    let mut runtime = KernelRuntime::new(LoadOptions { programs, ..LoadOptions::default() });
    runtime.load(&spec).unwrap();
    fill(&runtime, &acts);
    let mut ring = RingBuffer::new(runtime.map(SAMPLES).unwrap()).unwrap();
    let mut long = from([10, 0, 0, 1]);
    long.resize(400, 7);
    let packets = [from([10, 0, 0, 2]), long];
    for packet in &packets {
        let input = Input { packet: packet.clone(), ..Input::default() };
        runtime.run(PROGRAM, &input).unwrap();
    }
    let mut samples = Vec::new();
    ring.drain(|record| samples.push(Sample::parse(record).unwrap()));
    assert_eq!(samples.len(), 2, "once each, though two rules chose them");
    for (sample, packet) in samples.iter().zip(&packets) {
        assert_eq!((sample.rule, sample.decided_by), (1, Some(3)));
        assert_eq!((sample.verdict, sample.reason), (Verdict::Drop, Some(Reason::Rule)));
        assert_eq!((sample.length as usize, &sample.bytes[..]), (packet.len(), &packet[..60]));
    }
    assert!(samples[0].time_ns > 0 && samples[0].time_ns <= samples[1].time_ns);
}

/// The engine with a clock of its own.
fn engine(actions: &[Action], sizes: Sizes) -> (Machine, Worker, usize, CompiledActions) {
    let (spec, acts) = filter(actions, sizes);
    let machine = Machine::load(&spec, &Options::default()).unwrap();
    let maps = machine.maps();
    let map = |name: &str| Ok(&**maps.iter().find(|map| map.attributes().name == name).unwrap());
    acts.fill(map).unwrap();
    let (worker, program) = (machine.worker(0), machine.program(PROGRAM).unwrap());
    (machine, worker, program, acts)
}

#[test]
fn a_ban_is_over_when_its_time_is() {
    const SECOND: u64 = 1_000_000_000;
    let ban = Action::Ban(Duration::from_secs(60));
    let (machine, mut worker, program, _) = engine(&[limit(1), ban], Sizes::default());
    let mut run = |source: u8, now_ns: u64| {
        worker.set_clock_ns(now_ns);
        let packet = from([10, 0, 0, source]);
        worker.put(&Input { packet, ..Input::default() }).unwrap();
        worker.execute(program).unwrap();
        machine.map(BANS).unwrap().keys().unwrap().len()
    };
    let bans = machine.map(BANS).unwrap();
    let packets = || Bans::new(&*bans).list(0).unwrap().first().map(|ban| ban.packets);
    assert_eq!((run(1, 10 * SECOND), packets()), (1, Some(0)));
    assert_eq!((run(1, 69 * SECOND), packets()), (1, Some(1)), "refused");
    assert_eq!(Bans::new(&*bans).list(71 * SECOND).unwrap(), [], "over");
    // Past its time the next packet removes it, and meets the rules: it is banned anew.
    assert_eq!((run(1, 71 * SECOND), packets()), (1, Some(0)));
    assert_eq!(run(2, 132 * SECOND), 2, "nothing comes from there: it stays");
    assert_eq!(Bans::new(&*bans).sweep(132 * SECOND).unwrap(), 1, "until it is swept");
}

#[test]
fn a_packet_leaves_by_the_rules_interface() {
    let out = |name: &str| Action::Redirect(Redirect::Interface(name.to_owned()));
    let (spec, acts) = filter(&[out("port7")], Sizes::default());
    let world = vm::World::default().with_interface(vm::world::Interface::new(7, "port7"));
    let machine = Machine::load(&spec, &Options { world, ..Options::default() }).unwrap();
    let maps = machine.maps();
    acts.fill(|name| Ok(&**maps.iter().find(|map| map.attributes().name == name).unwrap()))
        .unwrap();
    let mut worker = machine.worker(0);
    let program = machine.program(PROGRAM).unwrap();
    let input = Input { packet: from([10, 0, 0, 1]), ..Input::default() };
    worker.put(&input).unwrap();
    assert_eq!(Verdict::from_code(worker.execute(program).unwrap()), Verdict::Redirect);
    assert_eq!(worker.redirect_ifindex(), Some(7));
    machine.map(maps::INTERFACES).unwrap().delete(&[0; 4]).unwrap();
    worker.put(&input).unwrap();
    assert_eq!(Verdict::from_code(worker.execute(program).unwrap()), Verdict::Drop);
    let events = actions::events(&*machine.map(maps::EVENTS).unwrap()).unwrap();
    assert!(events.contains(&(abi::Event::NoTarget, 1)), "{events:?}");
}
