//! Clocks that jump, stop, or wrap: no sender gets more than a burst and the rate's tokens for the
//! time that passed, and no sender is locked out for longer than a burst takes; bans and rules with
//! a time end when they should. On the engine, whose clock tests set; like the kernel's monotonic
//! one it never runs backwards.

use std::time::Duration;

use filter::runtime::actions;
use filter::{Action, Limit, Per, Unit, abi, maps};
use spec::{Expect, Map, Verdict};
use xway_tests::bpf::packet::{IPV4, UDP, V4, eth, udp};
use xway_tests::filter::engine::Engine;
use xway_tests::random::Random;

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// What coarse clocks of the engine make of a time.
const TICK_NS: u64 = 4_000_000;
/// Packets of this test, Ethernet header and all.
const LENGTH: u64 = 62;

fn packet() -> Vec<u8> {
    let mut frame = eth(&[], IPV4, &V4::new("10.1.0.2", UDP).wrap(&udp(53)));
    frame.resize(LENGTH as usize, 0);
    frame
}

/// A limit of one sender, and what it may get at most.
struct Limited {
    engine: Engine,
    rule: Limit,
    is_exact: bool,
    /// When the program's clock turns over, in nanoseconds.
    turn: u64,
    /// What an ideal bucket holds, in tokens times nanoseconds of a second.
    tokens: i128,
    last: Option<u64>,
}

impl Limited {
    fn new(rule: &Limit) -> Self {
        let (engine, acts) = Engine::new(&[Action::Limit(rule.clone())]);
        let limit = acts.limits().limits()[0];
        Self {
            engine,
            is_exact: acts.limits().needs_exact_clock(),
            turn: (1_u64 << 48) >> limit.finer << limit.coarser,
            tokens: i128::from(rule.burst) * i128::from(SECOND),
            rule: rule.clone(),
            last: None,
        }
    }

    fn burst_ns(&self) -> u64 {
        self.rule.burst * SECOND / self.rule.rate
    }

    /// Tokens of a packet.
    fn cost(&self) -> i128 {
        match self.rule.unit {
            Unit::Packets => 1,
            Unit::Bits => i128::from(LENGTH) * 8,
        }
    }

    /// Whether a packet passes. It never passes more than an ideal bucket that gains a 128th more
    /// than the rule's rate: rates are that exact.
    fn passes(&mut self, now: u64) -> bool {
        let now = now.max(self.engine.now_ns());
        let passes = self.engine.run(&packet(), now) == Verdict::Pass;
        let seen = if self.is_exact { now } else { now / TICK_NS * TICK_NS };
        let passed = i128::from(seen - self.last.unwrap_or(seen));
        let whole = i128::from(self.rule.burst) * i128::from(SECOND);
        let earned = passed * i128::from(self.rule.rate) * 129 / 128;
        self.tokens = (self.tokens + earned).min(whole * 129 / 128);
        self.last = Some(seen);
        if passes {
            self.tokens -= self.cost() * i128::from(SECOND);
        }
        assert!(self.tokens >= 0, "{:?} at {now}: more than the limit", self.rule);
        passes
    }

    /// How many of `packets` packets pass at the same time.
    fn at_once(&mut self, now: u64, packets: u64) -> u64 {
        (0..packets).filter(|_| self.passes(now)).count() as u64
    }

    /// Packets that a burst is worth.
    fn whole(&self) -> u64 {
        (i128::from(self.rule.burst) / self.cost()) as u64
    }

    /// After the time of a burst and two packets a packet passes: no sender is locked out.
    fn is_let_in_after(&mut self, now: u64) -> bool {
        let packet = self.burst_ns() / self.whole();
        self.passes(now + self.burst_ns() + 2 * packet + 2 * TICK_NS)
    }
}

fn limits() -> Vec<Limit> {
    let source = Per::Source { v4: 32, v6: 128 };
    [
        (1, Unit::Packets, 1, Per::Rule),
        (10, Unit::Packets, 20, source),
        (1000, Unit::Packets, 1000, Per::Flow),
        (1_000_000, Unit::Packets, 50, Per::Rule),
        (8_000, Unit::Bits, 80_000, source),
        (1, Unit::Packets, 1000, Per::Dest { v4: 24, v6: 64 }),
    ]
    .into_iter()
    .map(|(rate, unit, burst, per)| Limit { rate, unit, burst, per, total: None })
    .collect()
}

#[test]
fn a_jump_forward_gives_a_burst_and_no_more() {
    for rule in limits() {
        let mut limited = Limited::new(&rule);
        let burst = limited.whole().min(2000);
        let mut now = 1000 * SECOND;
        for jump in [0, DAY, 365 * DAY, SECOND, 7 * DAY + 1] {
            now += jump;
            let passed = limited.at_once(now, burst + 50);
            let rest = jump >= 2 * limited.burst_ns() || limited.last.is_none();
            assert!(passed <= limited.whole() + 1, "{rule:?} after {jump}: {passed}");
            assert!(!rest || passed >= burst - burst / 128 - 1, "{rule:?} after {jump}: {passed}");
        }
    }
}

#[test]
fn a_clock_that_stands_gives_a_burst_and_no_more() {
    for rule in limits() {
        let mut limited = Limited::new(&rule);
        let whole = limited.whole();
        let sent = whole + 1000;
        let passed = limited.at_once(SECOND, sent);
        // The engine's clock advances by a nanosecond with each reading.
        let earned = sent * rule.rate / SECOND + 1;
        assert!((whole..=whole + earned).contains(&passed), "{rule:?}: {passed}");
        // The clock continues, and elapsed time counts from there.
        assert!(limited.is_let_in_after(SECOND), "{rule:?}");
    }
}

/// A program's times have 48 bits; here they turn over while the bucket is full, empty, and in
/// between, and come back to where they were after a whole turn, or a little less or more.
#[test]
fn times_that_turn_over() {
    for rule in limits() {
        for used in [0, 1, 2, 3] {
            let mut limited = Limited::new(&rule);
            let (turn, burst_ns) = (limited.turn, limited.burst_ns());
            let use_up = (limited.whole() * used / 2).min(3000);
            let before = 3 * turn - burst_ns / 2 - 1;
            limited.at_once(before, use_up);
            let mut now = before;
            for step in [burst_ns / 2, 1, burst_ns / 4, burst_ns / 4, TICK_NS] {
                now += step;
                limited.at_once(now, 40);
            }
            for rest in [turn - burst_ns, turn - 1, turn, turn + 1, turn + burst_ns, turn / 2] {
                now += rest;
                limited.at_once(now, 40);
                let case = format!("{rule:?}, {used}, {rest}");
                assert!(limited.is_let_in_after(now), "{case}: locked out");
                now = limited.engine.now_ns();
            }
        }
    }
}

/// Steps of any size, as a host makes them that sleeps, is stopped, or catches up.
#[test]
fn any_steps() {
    const SEED: u64 = 0x5eed_0c10;
    for (number, rule) in limits().into_iter().enumerate() {
        let mut random = Random::new(SEED + number as u64);
        let mut limited = Limited::new(&rule);
        let (mut now, turn, burst_ns) = (SECOND, limited.turn, limited.burst_ns());
        let mut passed = 0;
        for _ in 0..4000 {
            let step = match random.below(40) {
                0 => turn,
                1 => turn - burst_ns / 2,
                2 => DAY,
                3 => random.below(turn as usize) as u64,
                4..=9 => burst_ns / 2,
                10..=20 => 0,
                _ => random.below((2 * burst_ns / limited.whole()) as usize + 1) as u64,
            };
            // Some 500 years are enough for a clock of 64 bits.
            now = now.saturating_add(step).min(u64::MAX >> 1);
            passed += u64::from(limited.passes(now));
        }
        assert!((100..4000).contains(&passed), "{rule:?}: {passed} tell nothing");
    }
}

#[test]
fn a_ban_lasts_its_time_over_any_step() {
    let minute = Duration::from_secs(60);
    let brief = Duration::from_millis(1500);
    for (time, steps) in [
        (minute, &[59 * SECOND, SECOND][..]),
        (minute, &[0, 0, 30 * SECOND, 30 * SECOND]),
        (minute, &[DAY]),
        (minute, &[1 << 48]),
        (brief, &[SECOND, SECOND / 4, SECOND / 4]),
        (Action::LEAST, &[SECOND / 20, SECOND / 20]),
    ] {
        let (mut engine, _) = Engine::new(&[Action::Ban(time)]);
        let mut now = 1000 * SECOND;
        engine.run(&packet(), now);
        let end = now + time.as_nanos() as u64;
        let banned = |engine: &Engine| {
            let count = actions::count(&*engine.map(maps::COUNTS), 0).unwrap();
            count.packets
        };
        for step in steps {
            now += step;
            let met = banned(&engine);
            assert_eq!(engine.run(&packet(), now), Verdict::Drop);
            let is_over = now >= end;
            assert_eq!(banned(&engine) > met, is_over, "{steps:?}: meets the rule at {now}");
        }
    }
}

#[test]
fn a_rule_with_a_time_ends_after_any_step() {
    const LASTS: u64 = 60 * SECOND;
    const UNIT: u64 = 1 << 26;
    for begin in [SECOND, DAY, (1 << 48) - LASTS / 2, 100 * 365 * DAY / 12] {
        for step in [LASTS, LASTS + UNIT, DAY, 1 << 48] {
            let (mut engine, _) = Engine::new(&[Action::DropFor(Duration::from_secs(60))]);
            let end = u32::try_from((begin + LASTS) / UNIT + 1).unwrap();
            let rule = abi::Rule { action: abi::Action::DropFor as u32, argument: end };
            engine.map(maps::RULES).update(&[0; 4], &rule.to_bytes(), Expect::Any).unwrap();
            for (now, verdict) in [
                (begin, Verdict::Drop),
                (begin, Verdict::Drop),
                (begin + LASTS - 1, Verdict::Drop),
                (begin + step + UNIT + TICK_NS, Verdict::Pass),
                (begin + step + DAY, Verdict::Pass),
            ] {
                assert_eq!(engine.run(&packet(), now), verdict, "{begin}, {step}, at {now}");
            }
        }
    }
}
