//! Code for rules that are tested one by one.
//!
//! Rule: tests that are cheap and fail often come first. One test of `known` checks that the packet
//! has all fields of the rule. Only fields whose test accepts 0 need it: a missing field is 0.

use std::borrow::Cow;

use spec::asm::Reg::{R0, R1, R2, R3};
use spec::asm::{Cond, Label};

use super::Code;
use super::value::{CONTEXT, LOW, PACKET, boundaries, is, is_not, load, tree};
use crate::compile::plan::Classifier;
use crate::{EFFECT, Family, Field, Rule, Ruleset, Test, Values};

/// The most boundaries of a set that code compares.
const BRANCHES: usize = 33;

/// Where the code of a rule continues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    /// After the rule, for packets that do not match.
    On,
    /// Nowhere: every packet matches, and the rule decides.
    Nowhere,
}

/// The test of a field.
struct Tested<'a> {
    field: Field,
    values: Cow<'a, Values>,
}

/// The number of branches of rules that are tested one by one. The verifier keeps one path for each
/// while it follows the next rules.
pub fn branches(rules: &Ruleset, tested: &[u32]) -> usize {
    let of_test = |test: &Test| match test {
        Test::Payload(payload) => super::payload::branches(payload),
        Test::Expression(expression) => 2 * expression.program.len(),
        Test::Is(_, values) => 1 + (2 * values.ranges().len()).min(BRANCHES),
        Test::Address { .. } | Test::Interface { .. } => BRANCHES,
    };
    let tests = tested.iter().flat_map(|rule| &rules.rules[*rule as usize].tests);
    tests.map(of_test).sum()
}

impl<'a> Code<'a> {
    /// The tests of a rule, then its action; packets that do not match continue after it.
    pub(super) fn rule(
        &mut self,
        family: Family,
        number: u32,
        matched: impl FnOnce(&mut Self, u32, Label),
    ) -> Leads {
        let rules = self.rules;
        let rule = &rules.rules[number as usize];
        if !self.can_match(rule) {
            return Leads::On;
        }
        let next = self.asm.label();
        let before = self.asm.slot();
        self.asm.note(super::text(rule));
        self.tests(family, rule, next);
        let tested = self.asm.slot() > before;
        matched(self, number, next);
        self.asm.bind(next);
        if tested || !rule.action.decides() { Leads::On } else { Leads::Nowhere }
    }

    /// Returns the number of the rule.
    pub(super) fn decide(&mut self, number: u32) {
        self.answers.insert(number);
        self.asm.mov32(R0, number.cast_signed());
        match self.leave {
            Some(leave) => _ = self.asm.jump(leave),
            None => _ = self.asm.exit(),
        }
    }

    /// Calls the effect of a rule; continues at `next` or ends the search.
    pub(super) fn effect(&mut self, number: u32, next: Label) {
        self.asm.load64(R1, CONTEXT).mov(R2, PACKET).mov32(R3, number.cast_signed());
        self.asm.call_function(EFFECT).jump32_if(R0, Cond::Eq, 0, next);
        self.decide(number);
    }

    fn can_match(&self, rule: &Rule) -> bool {
        rule.tests.iter().all(|test| match test {
            Test::Payload(payload) => super::payload::is_within(payload),
            _ => true,
        })
    }

    fn tests(&mut self, family: Family, rule: &'a Rule, fail: Label) {
        let fields = rule.fields(family, self.ifindex).unwrap_or_default();
        let mut fields: Vec<Tested<'_>> =
            fields.into_iter().map(|(field, values)| Tested { field, values }).collect();
        fields.sort_by_key(Tested::order);
        let asked = fields.iter().filter(|one| one.values.contains(0));
        let known = asked.fold(0, |known, one| known | self.unsure(one.field));
        if known != 0 {
            let known = known.cast_signed();
            self.known(R0).and32(R0, known).jump32_if(R0, Cond::Ne, known, fail);
        }
        for one in fields {
            self.field(one.field, &one.values, fail);
        }
        for test in &rule.tests {
            if let Test::Payload(payload) = test {
                self.payload(payload, fail);
            }
        }
        for test in &rule.tests {
            if let Test::Expression(expression) = test {
                self.expression(&expression.program, fail);
            }
        }
    }

    fn field(&mut self, field: Field, values: &Values, fail: Label) {
        let boundaries = boundaries(field, values);
        if let [_all] = *boundaries {
            return;
        }
        load(&mut self.asm, field);
        if let Some((mask, value, inside)) = masked(field, values) {
            let cond = if inside { Cond::Ne } else { Cond::Eq };
            self.asm.and32(LOW, mask).jump32_if(LOW, cond, value, fail);
        } else if let Some((last, first)) = few(values).and_then(<[_]>::split_last) {
            let inside = self.asm.label();
            first.iter().for_each(|(one, _)| is(&mut self.asm, field, *one, inside));
            is_not(&mut self.asm, field, last.0, fail);
            self.asm.bind(inside);
        } else if boundaries.len() <= BRANCHES {
            let inside = self.asm.label();
            let label = |class| if class == 1 { inside } else { fail };
            tree(&mut self.asm, field, &boundaries, &label, Some(inside));
            self.asm.bind(inside);
        } else {
            self.classify(field, &Classifier::new(field, boundaries));
            self.asm.jump32_if(R0, Cond::Eq, 0, fail);
        }
    }

    /// Bits of `known` of which one is set if the packet has the field; 0 if every packet of the
    /// current family has it.
    pub(super) fn unsure(&self, field: Field) -> u32 {
        let known = field.place().known;
        if known & self.sure == 0 { known } else { 0 }
    }
}

impl Tested<'_> {
    /// Order of tests: narrow fields first, then those with few values.
    fn order(&self) -> (u32, u128) {
        let width = self.field.bits().max(32).next_power_of_two();
        let many = u32::from(self.values.ranges().len() > BRANCHES / 2);
        let count = self
            .values
            .ranges()
            .iter()
            .fold(0_u128, |count, (first, last)| count.saturating_add(last - first));
        (width + 256 * many, count << (128 - self.field.bits()))
    }
}

/// The values, if they are a few single ones.
fn few(values: &Values) -> Option<&[(u128, u128)]> {
    let ranges = values.ranges();
    (ranges.len() <= 4 && ranges.iter().all(|(first, last)| first == last)).then_some(ranges)
}

/// Mask and value, if the set is all values that have this value under the mask (`true`), or all
/// others (`false`).
fn masked(field: Field, values: &Values) -> Option<(i32, i32, bool)> {
    if field.bits() > 16 || values.ranges().len() < 2 {
        return None;
    }
    let found = |values: &Values| {
        let all = values.ranges().iter().flat_map(|(first, last)| *first..=*last);
        let (mut ones, mut some, mut count) = (field.highest(), 0, 0_u128);
        for value in all {
            (ones, some, count) = (ones & value, some | value, count + 1);
        }
        let free = (ones ^ some).count_ones();
        let mask = field.highest() & !(ones ^ some);
        (count == 1 << free).then_some((mask as i32, ones as i32))
    };
    let complement = || found(&values.complement(field.highest()));
    found(values)
        .map(|(mask, value)| (mask, value, true))
        .or_else(|| complement().map(|(mask, value)| (mask, value, false)))
}
