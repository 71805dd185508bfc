//! The texts of warnings: one function per kind.

use super::conjunction::{Conjunctions, TCP};
use super::pool::Pool;
use super::{Kind, Warning};
use crate::abi::{Fragment, Need, Policy};
use crate::{
    Action, Family, Field, Limit, Needs, Reason, Rule, Ruleset, Test, Total, Unit, Values,
};

/// The rule never matches; `last` is the first test that excludes all packets.
pub(super) fn never(rules: &[Rule], number: usize, last: usize) -> Warning {
    let rule = &rules[number];
    let why = match rule.tests.get(last) {
        Some(Test::Address { addresses, negated: false, .. })
            if addresses.v4.is_empty() && addresses.v6.is_empty() =>
        {
            match &addresses.name {
                Some(name) => format!("set `{name}` is empty"),
                None => "its list of addresses is empty".to_owned(),
            }
        }
        _ if last == 0 => format!("no packet has `{}`", rule.test_text(0)),
        _ => {
            let before: Vec<_> = (0..last).map(|place| rule.test_text(place)).collect();
            format!("no packet has `{}` and `{}`", before.join(" "), rule.test_text(last))
        }
    };
    let text = format!("{} never matches: {why}", named(rules, number));
    Warning { kind: Kind::NeverMatches, rules: vec![number], because: Vec::new(), text }
}

/// The rule equals an earlier one.
pub(super) fn duplicate(rules: &[Rule], number: usize, first: usize) -> Warning {
    let text = format!("{} is the same as {}", named(rules, number), named(rules, first));
    Warning { kind: Kind::Duplicate, rules: vec![number], because: vec![first], text }
}

/// Earlier rules decide about all packets of the rule.
pub(super) fn unreached(rules: &[Rule], number: usize, because: Vec<usize>) -> Warning {
    let (decide, before) = match &because[..] {
        [one] => ("decides", named(rules, *one)),
        several => ("decide together", all_named(rules, several)),
    };
    let text = format!(
        "{} is never reached: {before} {decide} about all packets that it matches",
        named(rules, number)
    );
    Warning { kind: Kind::NeverReached, rules: vec![number], because, text }
}

/// Rules that follow a rule that every packet matches are never reached.
pub(super) fn after_all(rules: &[Rule], number: usize) -> Option<Warning> {
    let after: Vec<_> = (number + 1..rules.len()).collect();
    let subject = match &after[..] {
        [] => return None,
        [one] => format!("{} is", named(rules, *one)),
        [first, .., last] => format!("rules {} to {} are", first + 1, last + 1),
    };
    let text =
        format!("{subject} never reached: {} decides about every packet", named(rules, number));
    Some(Warning { kind: Kind::NeverReached, rules: after, because: vec![number], text })
}

/// A policy decides about the fragments that the rule matches before the rules are evaluated.
pub(super) fn policy(
    rules: &Ruleset,
    number: usize,
    of: &Conjunctions,
    pool: &Pool<'_>,
) -> Option<Warning> {
    let families = Family::ALL.into_iter().filter(|family| of.family(*family).is_some());
    let fragment = families.map(|family| of.field(family, Field::Fragment));
    let values: Option<Vec<&Values>> = fragment.map(|id| id.map(|id| pool.values(id))).collect();
    let only = |one: Fragment| {
        let all = values.iter().flatten();
        values.is_some() && all.clone().all(|values| **values == Values::one(one as u32))
    };
    let anomaly = if only(Fragment::First) {
        Reason::FirstFragment
    } else if only(Fragment::Later) {
        Reason::LaterFragment
    } else {
        return None;
    };
    let policy = rules.policies.policy(anomaly)?;
    let decides = match policy {
        Policy::Judge => false,
        Policy::Pass | Policy::Drop => true,
        Policy::Track => {
            Needs::of(rules).has(Need::Transport)
                && rules.policies.policy(Reason::UnknownFragment) != Some(Policy::Judge)
        }
    };
    let text = format!(
        "{} is never evaluated: policy {} = \"{}\" decides before the rules",
        named(&rules.rules, number),
        anomaly.label(),
        policy.label()
    );
    let rules = vec![number];
    decides.then_some(Warning { kind: Kind::Policy, rules, because: Vec::new(), text })
}

/// The action has no effect, or affects more packets than the rule suggests.
pub(super) fn action(
    rules: &[Rule],
    number: usize,
    of: &Conjunctions,
    pool: &Pool<'_>,
) -> Option<Warning> {
    let why = match &rules[number].action {
        Action::Limit(Limit { burst: 0, .. }) => "passes no packet: its burst is 0".to_owned(),
        Action::Limit(Limit { unit: Unit::Bits, burst, .. }) if *burst < FRAME_BITS => {
            format!("passes no frame of more than {} bytes: its burst is smaller", burst / 8)
        }
        Action::Limit(Limit { total: Some(Total { burst: 0, .. }), .. }) => {
            "passes no packet: the burst of its total is 0".to_owned()
        }
        Action::Limit(Limit { unit: Unit::Bits, total: Some(Total { burst, .. }), .. })
            if *burst < FRAME_BITS =>
        {
            let most = burst / 8;
            format!("passes no frame of more than {most} bytes: the burst of its total is smaller")
        }
        Action::Limit(Limit { rate, total: Some(total), .. }) if total.rate <= *rate => {
            "never limits a single sender: its total is not above the limit of each".to_owned()
        }
        Action::SynProxy(_) if !is_tcp(of, pool) => "answers TCP only: add `tcp`".to_owned(),
        _ => return None,
    };
    let text = format!("{} {why}", named(rules, number));
    Some(Warning { kind: Kind::Action, rules: vec![number], because: Vec::new(), text })
}

fn is_tcp(of: &Conjunctions, pool: &Pool<'_>) -> bool {
    let mut families = Family::ALL.into_iter().filter(|family| of.family(*family).is_some());
    families.all(|family| {
        let protocol = of.field(family, Field::Protocol);
        protocol.is_some_and(|id| *pool.values(id) == Values::one(TCP))
    })
}

/// No rule uses the set.
pub(super) fn unused(set: &str) -> Warning {
    let text = format!("no rule uses the set `{set}`");
    Warning { kind: Kind::UnusedSet, rules: Vec::new(), because: Vec::new(), text }
}

/// The search for rules that are never reached stopped at its limit.
pub(super) fn incomplete() -> Warning {
    let text =
        "there are too many rules to compare each with all earlier ones; some that are never \
                reached may not be listed"
            .to_owned();
    Warning { kind: Kind::Incomplete, rules: Vec::new(), because: Vec::new(), text }
}

/// A rule by its number, from 1, and its name.
fn named(rules: &[Rule], number: usize) -> String {
    format!("rule {} `{}`", number + 1, rules[number].name)
}

fn all_named(rules: &[Rule], numbers: &[usize]) -> String {
    let shown = numbers.iter().take(NAMED).map(|number| named(rules, *number));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match numbers.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Bits of an Ethernet frame of full length.
const FRAME_BITS: u64 = 1514 * 8;
/// Rules that are named in one warning.
const NAMED: usize = 4;
