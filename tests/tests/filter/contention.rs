//! Limits that two processors use in parallel: no sender gets more than docs/filter.md states, in
//! any bucket or line.
//!
//! Rule: a race begins when both senders are ready, and counts if both sent at the same time for a
//! part of it. Other work may take one of the processors: then it is run again, a few times.

use std::path::Path;
use std::time::{Duration, Instant};

use filter::abi::{Count, Event};
use filter::runtime::actions;
use filter::runtime::bans::Bans;
use filter::{Environment, File, OBJECT, PROGRAM, compile, maps};
use functions::stats::{self, Stats};
use kernel::{Attach, Link, LoadOptions, Mode, Object, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts, until};
use spec::{Map as _, Spec};
use sys::thread::monotonic_ns;
use traffic::Template;
use traffic::generator::{Config, Generator, Load};

/// How long both processors send.
const TIME: Duration = Duration::from_secs(2);
/// Frames of both at most: more than they come to.
const MOST: u64 = 40_000_000;
/// Interval of samples of a race, and the number of samples in which both must have sent.
const LOOK: Duration = Duration::from_millis(20);
const OVERLAPS: u32 = 10;
/// Races until one counts.
const RACES: usize = 10;
/// Time for a sender to be ready, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The clock of long bursts goes by ticks: what a packet takes for now may be one old, at the
/// start and at the end.
const TICKS: Duration = Duration::from_millis(20);

/// A filter at a link of two queues, each of which is received on the sender's processor. Its
/// first rule limits, and the others count the remaining packets of each sender.
struct Limited {
    object: Object,
    senders: Vec<Template>,
    _link: Link,
    net: TwoHosts,
}

/// What a race came to.
struct Race {
    elapsed: Duration,
    /// Packets that met the limit, by processor.
    met: Vec<u64>,
    /// Packets that passed, of each sender.
    passed: Vec<u64>,
    all: u64,
    /// Packets that passed uncounted, as buckets were written by the other one again and again.
    contended: u64,
    /// Samples in which both had sent since the previous one.
    overlaps: u32,
}

/// The first race of a limit in which both processors sent at the same time.
fn race(limit: &str, senders: u8) -> Race {
    let mut seen = Vec::new();
    for _ in 0..RACES {
        let race = Limited::new(limit, senders).race();
        if race.overlaps >= OVERLAPS {
            return race;
        }
        seen.push((race.overlaps, race.met));
    }
    panic!(
        "this machine gave the test no two processors at once: in {RACES} races of {TIME:?} both \
         had sent at fewer than {OVERLAPS} looks (looks, packets by processor): {seen:?}"
    );
}

impl Limited {
    fn new(limit: &str, senders: u8) -> Self {
        let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
        // There are no other senders.
        for host in [&net.a, &net.b] {
            host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        }
        let object = object(limit, senders);
        let frame = |one: u8| {
            let from = Side::new("02:00:00:00:00:01", &format!("10.9.0.{one}"), 1000).unwrap();
            let to = Side { mac: net.b.mac("eth0").unwrap(), ..from };
            let frame = Flow::new(from, to).udp_of_length(60).unwrap();
            Template { id: one.into(), ..Template::constant(format!("s{one}"), frame) }
        };
        let senders = (0..senders).map(frame).collect();
        let ifindex = net.b.ifindex("eth0").unwrap();
        let program = object.program(PROGRAM).unwrap();
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
        Self { senders, _link: link, object, net }
    }

    fn race(&self) -> Race {
        let start = Instant::now();
        let overlaps = self.send();
        self.tell(start, overlaps)
    }

    /// Two processors send as fast as they can, every sender's packets in turn; at how many looks
    /// both had.
    fn send(&self) -> u32 {
        let cpus = sys::cpu::affinity().unwrap();
        assert!(cpus.len() > 1, "one processor alone contends with nobody");
        let config = Config {
            cpus: cpus[..2].to_vec(),
            count: Some(MOST),
            duration: Some(TIME + PATIENCE),
            held: true,
            ..Config::new("eth0", Load::Streams(self.senders.clone()))
        };
        let generator = self.net.a.run(|| Generator::start(config)).unwrap().unwrap();
        let sent = || -> Vec<u64> {
            let threads = generator.snapshot().unwrap().threads;
            threads.iter().map(|thread| thread.sent).collect()
        };
        // One frame of each is the start: a sender that has sent it waits for the other, and both
        // continue.
        generator.go_for(2);
        until("both senders", PATIENCE, || Ok((sent() == [1, 1]).then_some(()))).unwrap();
        generator.go();
        let overlaps = overlaps(sent);
        generator.stop().unwrap();
        overlaps
    }

    /// Packets that the program dropped because of a ban, and those that the ban counted.
    fn banned(&self) -> [u64; 2] {
        let labels = stats::labels(&Spec::parse("filter", OBJECT).unwrap().btf.unwrap()).unwrap();
        let stats = Stats::read(self.object.map(stats::MAP).unwrap(), &labels).unwrap();
        let bans = Bans::new(self.object.map(maps::BANS).unwrap()).list(monotonic_ns()).unwrap();
        [stats.reason("banned").packets, bans.iter().map(|ban| ban.packets).sum()]
    }

    fn tell(&self, start: Instant, overlaps: u32) -> Race {
        let counts = self.object.map(maps::COUNTS).unwrap();
        let rule = |number| actions::count(counts, number).unwrap();
        let events = actions::events(self.object.map(maps::EVENTS).unwrap()).unwrap();
        let contended = events.iter().find(|(event, _)| *event == Event::Contended).unwrap().1;
        let passed: Vec<_> =
            (1..=self.senders.len() as u32).map(|number| rule(number).packets).collect();
        let limit = rule(0);
        let all = limit.packets - limit.taken;
        assert_eq!(passed.iter().sum::<u64>(), all, "each one that passed was counted");
        let bytes = counts.lookup(&[0; 4]).unwrap().unwrap();
        let each = bytes.as_chunks::<{ Count::SIZE }>().0.iter().map(Count::from_bytes);
        let met = each.map(|count| count.packets).filter(|packets| *packets > 0).collect();
        Race { elapsed: start.elapsed(), met, passed, all, contended, overlaps }
    }
}

/// How often both have sent from one look to the next, for as long as a race lasts.
fn overlaps(sent: impl Fn() -> Vec<u64>) -> u32 {
    let (start, mut overlaps, mut before) = (Instant::now(), 0, sent());
    while start.elapsed() < TIME {
        std::thread::sleep(LOOK);
        let now = sent();
        overlaps += u32::from(before.iter().zip(&now).all(|(before, now)| now > before));
        before = now;
    }
    overlaps
}

fn object(limit: &str, senders: u8) -> Object {
    let mut rules = vec![format!("'limit: {limit}'")];
    rules.extend((0..senders).map(|one| format!("'s{one}: count from 10.9.0.{one}'")));
    let text = format!("rules = [{}]", rules.join(", "));
    let file = File::parse("rules", &text, Path::new(""), |_| Err(String::new())).unwrap();
    let compiled = compile(&file.ruleset, &Environment::default()).unwrap();
    let object = Object::load(&compiled.spec, &LoadOptions::default()).unwrap();
    compiled.actions.fill(|name| object.map(name)).unwrap();
    object
}

/// Most that may pass of `rate` and `burst` in a race.
fn most(race: &Race, rate: u64, burst: u64) -> u64 {
    let earned = (race.elapsed + TICKS).as_secs_f64() * rate as f64;
    // A rate is kept to a part in 128.
    burst + (earned * (1.0 + 1.0 / 128.0)).ceil() as u64 + race.contended
}

#[test]
fn one_bucket_gives_no_more_than_its_limit_to_both() {
    for (limit, rate, burst) in [
        ("limit 1000pps burst 100", 1000, 100),
        ("limit 10kpps burst 1k", 10_000, 1000),
        ("limit 100kpps burst 3k per source/32", 100_000, 3000),
        // The exact clock.
        ("limit 20kpps burst 10", 20_000, 10),
        // 60 bytes a frame.
        ("limit 480kbps burst 48kbit", 1000, 100),
    ] {
        let race = race(limit, 1);
        let Race { elapsed, met, all, contended, overlaps, .. } = &race;
        println!("{limit}: {all} of {met:?} in {elapsed:?}, {contended} contended, {overlaps}");
        assert_eq!(met.len(), 2, "both processors met the limit");
        assert!(met.iter().all(|met| *met > 1000), "{met:?}: too few");
        assert!(met.iter().sum::<u64>() > most(&race, rate, burst), "{met:?}: within the limit");
        assert!(*all <= most(&race, rate, burst), "{limit}: at most {}", most(&race, rate, burst));
        assert!(*all >= burst, "{limit}: a limit is no ban: {all}");
    }
}

/// More senders than a line has buckets, in one /24, which has a limit of its own.
#[test]
fn senders_that_share_lines_and_prefixes_get_no_more_than_theirs() {
    const SENDERS: u8 = 32;
    let race = race("limit 100pps burst 30 per source", SENDERS);
    println!("{} of {:?} in {:?}", race.all, race.met, race.elapsed);
    assert_eq!(race.met.len(), 2, "both processors met the limit");
    for passed in &race.passed {
        assert!(*passed <= most(&race, 100, 30), "{passed}: {:?}", race.passed);
    }
    let prefix = most(&race, 16 * 100, 16 * 30);
    assert!(race.all <= prefix, "{} of the /24, at most {prefix}", race.all);
    assert!(race.all >= 16 * 30, "{}", race.all);
}

#[test]
fn a_ban_counts_the_packets_of_both_processors() {
    let mut seen = Vec::new();
    for _ in 0..RACES {
        let limited = Limited::new("ban 600s from 10.9.0.0", 1);
        let bans = Bans::new(limited.object.map(maps::BANS).unwrap());
        bans.add([10, 9, 0, 0].into(), None, monotonic_ns()).unwrap();
        let overlaps = limited.send();
        let is_counted = || {
            let [dropped, counted] = limited.banned();
            Ok((dropped > 0 && dropped == counted).then_some(()))
        };
        // What is on its way when the senders stop is counted a little later.
        let all = until("each packet that was dropped is counted", TIME, is_counted);
        assert!(all.is_ok(), "dropped, counted: {:?}", limited.banned());
        if overlaps >= OVERLAPS {
            return;
        }
        seen.push(overlaps);
    }
    panic!("this machine gave the test no two processors at once: {seen:?}");
}
