//! The filter's program on the engine and its model: the same fields, verdict, reason and rule for
//! nasty packets; and no way of wrapping a packet lets a source through that is to be dropped.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod filter_arm;
mod nasty;

use filter_arm::{Arm, LOOPBACK, Seen, assert_same, fields_spec, random_ruleset};
use functions::Action;
use functions::filter::abi::{Known, Need};
use functions::filter::{
    Field, Frame, Needs, Policies, Policy, Reason, Rule, Ruleset, Test, Values, read,
};
use nasty::{Maker, Random};
use spec::Verdict;
use vm::VmRuntime;

/// Everything is judged, so that every layer is seen.
fn judged() -> Policies {
    let mut policies = Policies::default();
    for oddity in Reason::ALL {
        policies.set(oddity, Policy::Judge);
    }
    policies
}

#[test]
fn fields_are_those_of_the_model() {
    const SEED: u64 = 0xf1e1d5;
    let mut random = Random::new(SEED);
    for needs in [Needs::ALL, Needs::NONE.with(Need::Network), Needs::NONE.with(Need::Link)] {
        let mut arm = Arm::<VmRuntime>::load(&fields_spec(needs, &judged()));
        for round in 0..6_000 {
            let lies = random.pick(&[0, 8, 30]);
            let maker = Maker { source: 1, lies, fragments: true };
            let bytes = maker.broken(&mut random);
            arm.judge(&bytes);
            let reading = read(&Frame { bytes: &bytes, ifindex: LOOPBACK, queue: 0 }, needs);
            let facts = &reading.layers.last().unwrap().facts;
            let seen = Seen::read(arm.map("seen"));
            for field in Field::ALL {
                let expected = facts.field(field);
                let is = seen.field(field, needs);
                assert_eq!(is, expected, "{field:?}, round {round} of {SEED:#x}: {bytes:02x?}");
            }
            let inner = seen.known() & Known::Inside as u32 != 0;
            assert_eq!(inner, reading.layers.len() > 1);
        }
    }
}

#[test]
fn verdict_reason_and_rule_are_those_of_the_model() {
    for seed in 1..=60 {
        let mut random = Random::new(seed);
        let rules = random_ruleset(&mut random);
        let lies = random.pick(&[0, 6, 20]);
        let maker = Maker { source: random.below(4) as u8, lies, fragments: true };
        let frames: Vec<_> = (0..250).map(|_| maker.broken(&mut random)).collect();
        assert_same::<VmRuntime>(&rules, &frames, seed);
    }
}

/// A source to be dropped is dropped however it is wrapped; and the same wrapping around another
/// one passes, so that it is the source that does it.
#[test]
fn no_wrapping_lets_a_source_through() {
    const BAD: u8 = 66;
    let source = |field, value: u128| Test::Is(field, Values::one(value));
    let v6 = (0x2001_0db8_u128 << 96) | u128::from(BAD);
    let v4 = u128::from(0x0a00_0000 | u32::from(BAD));
    let rules = [source(Field::Source4, v4), source(Field::Source6, v6)];
    let rules = rules.into_iter().enumerate().map(|(number, test)| Rule {
        name: format!("bad-{number}"),
        tests: vec![test],
        action: functions::filter::Action::Drop,
    });
    let rules = Ruleset { rules: rules.collect(), default: Action::Pass, ..Ruleset::default() };
    let mut arm = Arm::<VmRuntime>::of(&rules);
    let mut passed = 0;
    for seed in 0..8_000 {
        let wrapped =
            |source| Maker { source, lies: 0, fragments: false }.frame(&mut Random::new(seed));
        let bad = arm.judge(&wrapped(BAD));
        assert_eq!(bad.verdict, Verdict::Drop, "seed {seed}: {:02x?}", wrapped(BAD));
        let good = arm.judge(&wrapped(5));
        passed += usize::from(good.verdict == Verdict::Pass);
        let may = good.verdict == Verdict::Pass || good.reason == Reason::Tunnel.label();
        assert!(may, "seed {seed}: {good:?} {:02x?}", wrapped(5));
    }
    assert!(passed > 6_000, "only {passed} passed");
}

/// The same with anything broken and cut: what the innermost reader would still accept is dropped.
#[test]
fn broken_packets_of_a_dropped_source_are_judged_as_by_the_model() {
    let test = Test::Is(Field::Source4, Values::range(0x0a00_0000_u32, 0x0a00_00ff_u32));
    let rule =
        Rule { name: "bad".to_owned(), tests: vec![test], action: functions::filter::Action::Drop };
    let rules = Ruleset { rules: vec![rule], default: Action::Pass, ..Ruleset::default() };
    let mut random = Random::new(77);
    let maker = Maker { source: 66, lies: 12, fragments: true };
    let frames: Vec<_> = (0..4_000).map(|_| maker.broken(&mut random)).collect();
    assert_same::<VmRuntime>(&rules, &frames, 77);
}

#[test]
fn a_packet_cut_at_any_byte_is_judged_as_by_the_model() {
    let mut random = Random::new(4);
    for seed in 0..60 {
        let rules = random_ruleset(&mut random);
        let whole = Maker { source: 1, lies: 0, fragments: true }.frame(&mut Random::new(seed));
        let frames: Vec<_> = (14..=whole.len()).map(|end| whole[..end].to_vec()).collect();
        assert_same::<VmRuntime>(&rules, &frames, seed);
    }
}
