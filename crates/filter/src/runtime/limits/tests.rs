//! Limits in the model: what senders get, what honest ones lose, what is taken along.

use spec::{Expect, Map as _, MemoryMap};

use super::*;
use crate::compile::limits::Limits;
use crate::model::limits::{Model, Sender};
use crate::{Limit, Per, Unit, abi};

const SECOND: u64 = 1_000_000_000;
const SEED_NUMBER: u64 = 0x5eed;

fn packets(rate: u64, burst: u64, per: Per) -> Limit {
    Limit { rate, unit: Unit::Packets, burst, per, total: None }
}

const SOURCE: Per = Per::Source { v4: 32, v6: 128 };
/// One level alone.
const PREFIX: Per = Per::Source { v4: 31, v6: 128 };

fn model(limit: &Limit) -> Model {
    let mut limits = Limits::default();
    assert_eq!(limits.add(limit), Ok(0));
    Model::new(&limits, abi::Seed::from_number(SEED_NUMBER))
}

fn from4(address: u32) -> Sender {
    Sender { source: u128::from(address), protocol: 17, ..Sender::default() }
}

/// How many of `count` packets pass, one every `gap_ns` from `start_ns` on.
fn passed(model: &mut Model, sender: &Sender, count: u64, start_ns: u64, gap_ns: u64) -> u64 {
    (0..count).filter(|place| !model.is_over(0, sender, 60, start_ns + place * gap_ns)).count()
        as u64
}

/// Pseudo-random numbers from a fixed seed (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn one_sender_gets_the_burst_and_then_the_rate() {
    for (rate, burst) in [(10, 1), (10, 20), (1000, 50), (100_000, 1000)] {
        let mut model = model(&packets(rate, burst, SOURCE));
        let one = from4(0x0a00_0001);
        assert_eq!(passed(&mut model, &one, burst + 10, SECOND, 0), burst, "at once");
        let fast = SECOND / rate / 4;
        let more = passed(&mut model, &one, 4 * 1000, SECOND + fast, fast);
        assert!((1000 - 1..=1000 + 1).contains(&more), "{rate}: {more} of 1000");
    }
}

#[test]
fn at_the_rate_nothing_is_lost_and_rest_gives_no_more_than_the_burst() {
    let mut model = model(&packets(100, 5, SOURCE));
    let one = from4(1);
    assert_eq!(passed(&mut model, &one, 10_000, SECOND, SECOND / 100), 10_000);
    for rest in [1, 60, 3600, 86_400, 86_400 * 365] {
        let now = SECOND * (1000 + rest * 2);
        assert_eq!(passed(&mut model, &one, 50, now, 0), 5, "after {rest} s");
    }
}

/// One limit with a short burst needs the exact clock, whatever stands beside it.
#[test]
fn the_shortest_burst_chooses_the_clock() {
    let (short, long) = (packets(1000, 2, SOURCE), packets(10, 100, SOURCE));
    for (all, is_exact) in [
        (&[&long][..], false),
        (&[&long, &long], false),
        (&[&short], true),
        (&[&short, &long], true),
        (&[&long, &short], true),
    ] {
        let mut limits = Limits::default();
        all.iter().for_each(|limit| _ = limits.add(limit).unwrap());
        assert_eq!(limits.needs_exact_clock(), is_exact, "{all:?}");
    }
}

#[test]
fn bits_count_whole_frames() {
    let limit =
        Limit { rate: 8000, unit: Unit::Bits, burst: 8 * 3000, per: Per::Rule, total: None };
    let mut model = model(&limit);
    let one = from4(1);
    let over = |model: &mut Model, length| model.is_over(0, &one, length, SECOND);
    assert!(!over(&mut model, 1500) && !over(&mut model, 1400));
    assert!(over(&mut model, 101));
    assert!(!over(&mut model, 100));
    assert!(!model.is_over(0, &one, 1000, 2 * SECOND), "1000 bytes a second");
    assert!(model.is_over(0, &one, 60, 2 * SECOND));
}

#[test]
fn buckets_belong_to_what_they_are_per() {
    let one = Sender {
        source: 0x0a00_0001,
        dest: 0xc000_0201,
        source_port: 1,
        dest_port: 53,
        protocol: 17,
        is_ipv6: false,
    };
    let change = |change: fn(&mut Sender)| {
        let mut other = one;
        change(&mut other);
        other
    };
    let source = change(|sender| sender.source ^= 1);
    let near = change(|sender| sender.source ^= 0x80);
    let dest = change(|sender| sender.dest ^= 1);
    let port = change(|sender| sender.dest_port = 54);
    let from = change(|sender| sender.source_port = 2);
    let tcp = change(|sender| sender.protocol = 6);
    let all = [source, near, dest, port, from, tcp];
    for (per, own) in [
        (Per::Rule, [false; 6]),
        (SOURCE, [true, true, false, false, false, false]),
        (Per::Source { v4: 25, v6: 64 }, [false, true, false, false, false, false]),
        (Per::Source { v4: 24, v6: 64 }, [false; 6]),
        (Per::Dest { v4: 32, v6: 128 }, [false, false, true, false, false, false]),
        (Per::DestPort, [false, false, false, true, false, false]),
        (Per::Flow, [true; 6]),
    ] {
        let mut model = model(&packets(1, 1, per));
        assert!(!model.is_over(0, &one, 60, SECOND));
        assert!(model.is_over(0, &one, 60, SECOND));
        let free = all.map(|other| !model.clone().is_over(0, &other, 60, SECOND));
        assert_eq!(free, own, "{per:?}");
    }
}

#[test]
fn ipv6_addresses_count_in_all_their_parts() {
    for bit in (0..128).step_by(7) {
        let mut model = model(&packets(1, 1, PREFIX));
        let one = Sender { is_ipv6: true, source: 0x2001 << 112, ..Sender::default() };
        let other = Sender { source: one.source ^ 1 << bit, ..one };
        assert!(!model.is_over(0, &one, 60, SECOND));
        assert!(!model.is_over(0, &other, 60, SECOND), "bit {bit}");
        assert!(model.is_over(0, &one, 60, SECOND));
    }
}

/// Sixteen times the limit for a /24, sixteen times that for a /16: a sender that forges addresses
/// in a prefix does not get more than the prefix.
#[test]
fn inventing_addresses_within_a_prefix_does_not_win() {
    let mut model = model(&packets(10, 10, SOURCE));
    let net = |address: u32| from4(0x0a01_0000 | address);
    let in24 = (0..2560).filter(|n| !model.is_over(0, &net(n % 256), 60, SECOND)).count();
    assert_eq!(in24, 160);
    let in16 = (0..65_536).filter(|n| !model.is_over(0, &net(*n), 60, SECOND)).count();
    assert_eq!(in24 + in16, 2560);
    assert!(!model.is_over(0, &from4(0x0a02_0001), 60, SECOND), "another /16 is free");
}

#[test]
fn a_million_invented_senders_do_not_give_one_sender_more() {
    let mut model = model(&packets(100, 20, PREFIX));
    let mut random = Random(7);
    let one = from4(0x0a00_0001);
    // A second: a million others, and 1000 packets of one that may send 100.
    let mut got = 0;
    for place in 0..1_000_000_u64 {
        let now = SECOND + place * 1000;
        model.is_over(0, &from4(random.next() as u32), 60, now);
        if place % 1000 == 0 && !model.is_over(0, &one, 60, now) {
            got += 1;
        }
    }
    assert!(got <= 120, "{got}");
    assert!(got >= 100, "{got}");
}

/// Processors read the clock at their packets' beginnings, and one may be delayed after that: what
/// it finds then was written later than its own time.
#[test]
fn a_clock_that_is_behind_finds_an_empty_bucket_empty() {
    for per in [Per::Rule, SOURCE] {
        let mut model = model(&packets(1000, 100, per));
        let (one, tick) = (from4(0x0a00_0001), 4_000_000);
        while !model.is_over(0, &one, 60, SECOND + 3 * tick) {}
        assert!(model.is_over(0, &one, 60, SECOND), "{per:?}: as if it were full");
        let full = SECOND + 1_000 * tick;
        assert!(!model.is_over(0, &one, 60, full), "{per:?}");
    }
}

/// A million invented senders, on limits whose buckets are busy to 12, 61 and 92 of a hundred,
/// beside honest ones that send half of their rate.
#[test]
fn honest_senders_lose_no_more_than_the_bound_says() {
    for (rate, burst, flood_pps) in
        [(1000, 3, 2_000_000_u64), (1000, 3, 10_000_000), (1000, 6, 15_000_000)]
    {
        let limit = packets(rate, burst, PREFIX);
        let mut model = model(&limit);
        let buckets = model.lines().len() as f64 * abi::Line::BUCKETS as f64;
        let bound = LossBound::new(flood_pps as f64, rate as f64, buckets);
        let mut random = Random(11);
        let (mut sent, mut lost) = (0_u32, 0_u32);
        let every = flood_pps * 2 / rate / 20;
        for place in 0..1_000_000_u64 {
            let now = SECOND + place * SECOND / flood_pps;
            model.is_over(0, &from4(random.next() as u32 | 1 << 31), 60, now);
            // Twenty in turn, each with half of the rate: all but one token are always there.
            if place % every == 0 {
                let honest = from4((place / every % 20 * 2) as u32);
                sent += 1;
                lost += u32::from(model.is_over(0, &honest, 60, now));
            }
        }
        let bound = bound.chance(burst as f64 - 1.0);
        let seen = f64::from(lost) / f64::from(sent);
        // The bound is a chance: three standard deviations for the number that was tried.
        let room = 3.0 * (bound / f64::from(sent)).sqrt();
        assert!(seen <= bound + room, "{rate} {burst}: {lost} of {sent}, bound {bound}");
    }
}

#[test]
fn beyond_the_memory_all_senders_share_what_it_earns() {
    let mut model = model(&packets(1_000_000, 10, PREFIX));
    let earns = model.lines().len() as u64 * 8 * 1_000_000;
    let mut random = Random(13);
    let flood = 4 * earns;
    let count = 500_000_u64;
    let passed = (0..count)
        .filter(|place| {
            let now = SECOND + (u128::from(*place) * 1_000_000_000 / u128::from(flood)) as u64;
            !model.is_over(0, &from4(random.next() as u32), 60, now)
        })
        .count() as u64;
    // The bursts of all buckets, and what they earn in the time.
    let most = model.lines().len() as u64 * 8 * 10 + count / 4;
    assert!(passed <= most && passed > most * 9 / 10, "{passed} of at most {most}");
}

#[test]
fn memory_is_bounded_and_told() {
    let mut limits = Limits::default();
    limits.add(&packets(1, 1, SOURCE)).unwrap();
    assert!(limits.bytes() <= 0x4_8000, "{}", limits.bytes());
    let before = limits.bytes();
    limits.add(&packets(1, 1, Per::Rule)).unwrap();
    assert_eq!(limits.bytes(), before + 64);
    let error = (0..300).find_map(|_| limits.add(&packets(1, 1, SOURCE)).err()).unwrap();
    assert_eq!(error.to_string(), "the limits need more than 64 MiB; use fewer, or `per rule`");
    assert!(limits.bytes() <= 64 << 20);
}

#[test]
fn buckets_are_taken_along_when_rules_change() {
    struct Fixture {
        limits: MemoryMap,
        lines: MemoryMap,
        seed: MemoryMap,
    }
    impl Fixture {
        fn new(limits: &Limits, seed: u64) -> Self {
            let fixture = Self {
                limits: MemoryMap::array(abi::Limit::SIZE, limits.limits.len() as u32),
                lines: MemoryMap::array(abi::Line::SIZE, limits.lines),
                seed: MemoryMap::array(abi::Seed::SIZE, 1),
            };
            limits.fill_seeded(&fixture.maps(), abi::Seed::from_number(seed)).unwrap();
            fixture
        }
        fn maps(&self) -> Maps<'_, MemoryMap> {
            Maps { limits: &self.limits, lines: &self.lines, seed: &self.seed }
        }
    }
    let (kept, changed) = (packets(1_000_000, 5, SOURCE), packets(1_000_000, 6, SOURCE));
    let (mut old, mut new) = (Limits::default(), Limits::default());
    old.add(&kept).unwrap();
    old.add(&changed).unwrap();
    for limit in [&packets(1, 1, Per::Rule), &packets(1_000_000, 7, SOURCE), &kept] {
        new.add(limit).unwrap();
    }
    let (from, to) = (Fixture::new(&old, 1), Fixture::new(&new, 2));
    let line = [7; abi::Line::SIZE];
    let level = old.limits[0].levels[0];
    for at in [0, 3, level.mask] {
        from.lines.update(&(level.first + at).to_le_bytes(), &line, Expect::Any).unwrap();
    }
    let carried = carry(&from.maps(), &to.maps(), &[(0, 2), (1, 1)]).unwrap();
    assert_eq!(carried, 1, "the other one's burst is another");
    for at in 0..=level.mask {
        let place = new.limits[2].levels[0].first + at;
        let is_same = to.lines.lookup(&place.to_le_bytes()).unwrap().unwrap() == line;
        assert_eq!(is_same, [0, 3, level.mask].contains(&at), "line {at}");
    }
    let seed = |fixture: &Fixture| fixture.seed.lookup(&[0; 4]).unwrap();
    assert_eq!(seed(&to), seed(&from));
}

/// Buckets and guards are found by it: a map that is used again keeps its own.
#[test]
fn a_seed_is_random_and_written_once() {
    let seeds = [(); 2].map(|()| {
        let map = MemoryMap::array(abi::Seed::SIZE, 1);
        fill_seed(&map).unwrap();
        let first = map.lookup(&[0; 4]).unwrap().unwrap();
        fill_seed(&map).unwrap();
        assert_eq!(map.lookup(&[0; 4]).unwrap().unwrap(), first);
        first
    });
    assert_ne!(seeds[0], seeds[1]);
    assert!(seeds.iter().flatten().any(|byte| *byte != 0));
}
