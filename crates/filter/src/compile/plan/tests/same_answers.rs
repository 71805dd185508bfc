//! Random rules of few values, so that they overlap, against the same rules one by one.

use std::sync::Arc;
use std::time::Duration;

use super::super::random::Random;
use super::rulesets::{one_by_one, packet, plan, planned, rule};
use crate::compile::plan::{Budget, Plan};
use crate::{Action, Addresses, Field, Rule, Ruleset, Side, Test, Values};

/// Few different ones, all over the field.
pub fn value(random: &mut Random, field: Field) -> u128 {
    let few = random.below(6) as u128;
    match random.below(3) {
        0 => few,
        1 => field.highest().saturating_sub(few),
        _ => (field.highest() / 7).wrapping_mul(few) ^ few & 3,
    }
}

fn values(random: &mut Random, field: Field) -> Values {
    let one = |random: &mut Random| {
        let first = value(random, field);
        match random.below(4) {
            0 => (first, first),
            1 => (first, first.saturating_add(2).min(field.highest())),
            2 => (first, field.highest()),
            _ => {
                let host = field.highest() >> random.below(u64::from(field.bits()));
                (first & !host, first | host)
            }
        }
    };
    let set = Values::new((0..=random.below(3)).map(|_| one(random)).collect::<Vec<_>>());
    if random.below(5) == 0 { set.complement(field.highest()) } else { set }
}

fn test(random: &mut Random, fields: &[Field]) -> Test {
    if random.below(3) > 0 {
        let field = random.one_of(fields);
        return Test::Is(field, values(random, field));
    }
    let [v4, v6] = [Field::Source4, Field::Source6].map(|field| values(random, field));
    Test::Address {
        side: random.one_of(&[Side::Source, Side::Dest]),
        addresses: Arc::new(Addresses { v4, v6, ..Addresses::default() }),
        negated: random.below(5) == 0,
    }
}

pub fn random_rules(random: &mut Random, effects: u64) -> Ruleset {
    let fields: Vec<Field> = (0..=random.below(5)).map(|_| random.one_of(&Field::ALL)).collect();
    let rules = (0..random.below(120)).map(|number| {
        let action = match random.below(100) {
            count if count < effects => Action::Count,
            ban if ban.is_multiple_of(7) => Action::Ban(Duration::from_secs(1)),
            pass if pass.is_multiple_of(2) => Action::Pass,
            _ => Action::Drop,
        };
        let least = u64::from(random.below(20) > 0);
        let tests = (0..least + random.below(4)).map(|_| test(random, &fields)).collect();
        rule(number as usize, action, tests)
    });
    Ruleset { rules: rules.collect::<Vec<Rule>>(), ..Ruleset::default() }
}

fn agree(ruleset: &Ruleset, plan: &Plan, packets: usize, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..packets {
        let packet = packet(&mut random, value);
        let expected = one_by_one(ruleset, &packet);
        assert_eq!(planned(plan, ruleset, &packet), expected, "seed {seed}: {packet:?}");
    }
}

#[test]
fn plans_answer_what_rules_answer() {
    for seed in 1..=150 {
        let mut random = Random(seed);
        let effects = random.one_of(&[0, 0, 20, 90]);
        let ruleset = random_rules(&mut random, effects);
        agree(&ruleset, &plan(&ruleset), 100, seed);
    }
}

/// With next to nothing allowed, rules are split down to the last.
#[test]
fn plans_within_a_tiny_budget_answer_the_same() {
    let tiny = Budget { bytes: 64, straight_rules: 0, straight_ranges: 0 };
    let mut split = 0;
    for seed in 1_000..1_080 {
        let mut random = Random(seed);
        let ruleset = random_rules(&mut random, 30);
        let plan = Plan::new(&ruleset, |_| None, &tiny);
        split += plan.families.iter().filter(|family| family.tables.len() > 3).count();
        agree(&ruleset, &plan, 60, seed);
    }
    assert!(split > 40, "only {split} were split");
}

/// A budget without straight rules puts every ruleset into tables.
#[test]
fn single_rules_in_tables() {
    let none = Budget { straight_rules: 0, straight_ranges: 0, ..Budget::default() };
    for seed in 2_000..2_300 {
        let mut random = Random(seed);
        let fields = [random.one_of(&Field::ALL), random.one_of(&Field::ALL)];
        let tests = (0..3).map(|_| test(&mut random, &fields)).collect();
        let rules = vec![rule(0, Action::Drop, tests)];
        let ruleset = Ruleset { rules, ..Ruleset::default() };
        agree(&ruleset, &Plan::new(&ruleset, |_| None, &none), 100, seed);
    }
}
