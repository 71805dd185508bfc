//! Rules for tests, and what they answer one by one.

use std::sync::Arc;

use super::super::random::Random;
use crate::compile::plan::{Budget, NO_RULE, Plan};
use crate::{Action, Addresses, Family, Field, PacketFields, Rule, Ruleset, Side, Test, Values};

pub fn rule(number: usize, action: Action, tests: Vec<Test>) -> Rule {
    Rule { name: format!("rule {number}"), tests, action }
}

pub fn drop(tests: impl IntoIterator<Item = Vec<Test>>) -> Ruleset {
    let rules = (0..).zip(tests).map(|(number, tests)| rule(number, Action::Drop, tests));
    Ruleset { rules: rules.collect(), ..Ruleset::default() }
}

pub fn plan(ruleset: &Ruleset) -> Plan {
    Plan::new(ruleset, |_| None, &Budget::default())
}

pub fn prefix4(side: Side, address: u32, length: u32) -> Test {
    let host = u32::MAX.checked_shr(length).unwrap_or(0);
    let v4 = Values::range(address & !host, address | host);
    let addresses = Arc::new(Addresses { v4, ..Addresses::default() });
    Test::Address { side, addresses, negated: false }
}

pub fn prefix6(side: Side, address: u128, length: u32) -> Test {
    let host = u128::MAX.checked_shr(length).unwrap_or(0);
    let v6 = Values::range(address & !host, address | host);
    let addresses = Arc::new(Addresses { v6, ..Addresses::default() });
    Test::Address { side, addresses, negated: false }
}

/// Whether a packet passes a rule's tests of fields.
pub fn matches(rule: &Rule, packet: &PacketFields) -> bool {
    let fields = rule.fields(packet.family(), |_| None);
    let holds = |(field, values): &(Field, std::borrow::Cow<'_, Values>)| {
        packet.field(*field).is_some_and(|value| values.contains(value))
    };
    fields.is_some_and(|fields| fields.iter().all(holds))
}

/// The rule that decides, and those before it that match and do not.
pub fn one_by_one(ruleset: &Ruleset, packet: &PacketFields) -> (u32, Vec<u32>) {
    let mut before = Vec::new();
    for (number, rule) in (0..).zip(&ruleset.rules) {
        if matches(rule, packet) {
            if rule.action.decides() {
                return (number, before);
            }
            before.push(number);
        }
    }
    (NO_RULE, before)
}

/// The decision and the effects, from a plan.
pub fn planned(plan: &Plan, ruleset: &Ruleset, packet: &PacketFields) -> (u32, Vec<u32>) {
    let rule = |number: u32| &ruleset.rules[number as usize];
    let mut before = Vec::new();
    let decided = plan.decide(
        packet,
        |number| matches(rule(number), packet),
        |number| {
            let decides = rule(number).action.decides();
            if !decides {
                before.push(number);
            }
            decides
        },
    );
    (decided, before)
}

/// A packet with some fields, whose values `value` chooses.
pub fn packet(random: &mut Random, value: impl Fn(&mut Random, Field) -> u128) -> PacketFields {
    let family = random.one_of(&Family::ALL);
    let mut packet = PacketFields::default();
    for field in Field::ALL.into_iter().filter(|field| field.is_in(family)) {
        let always = matches!(field, Field::Source4 | Field::Dest4 | Field::Source6 | Field::Dest6)
            || field.place().known == 0;
        if always || random.below(4) > 0 {
            let value = value(random, field);
            packet.set(field, value & field.highest());
        }
    }
    packet
}
