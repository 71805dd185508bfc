//! Lint: warnings about valid rules, such as rules that never match or are never reached.
//!
//! ```text
//!  rules ─▶ conjunctions of each family ─▶ earlier rules that could cover one ─▶ covers?
//! ```
//!
//! Rule: a warning holds for every packet. A search that would take too long stops at a limit. Not
//! here: errors (`text`, `file`), and facts of the running system, such as missing interfaces.

mod conjunction;
mod cover;
mod each;
mod pool;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use self::conjunction::Conjunctions;
use self::cover::Cover;
use self::pool::Pool;
use crate::{Family, File, Rule, Test};

/// A warning about rules or sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub kind: Kind,
    /// The rules that it is about, by number; empty if it is about a set.
    pub rules: Vec<usize>,
    /// Earlier rules that are the reason, by number.
    pub because: Vec<usize>,
    /// The warning as a sentence.
    pub text: String,
}

/// The kind of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No packet can match.
    NeverMatches,
    /// Earlier rules decide about all packets that match.
    NeverReached,
    /// An earlier rule has the same tests and action.
    Duplicate,
    /// A policy decides before the rules are evaluated.
    Policy,
    /// The action does not have the effect that it suggests.
    Action,
    /// The rules drop packets that most hosts need.
    CutOff,
    /// No rule uses a set.
    UnusedSet,
    /// Too many rules for all pairs to be compared.
    Incomplete,
}

impl Kind {
    /// The name in JSON.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NeverMatches => "never-matches",
            Self::NeverReached => "never-reached",
            Self::Duplicate => "duplicate",
            Self::Policy => "policy",
            Self::Action => "action",
            Self::CutOff => "cut-off",
            Self::UnusedSet => "unused-set",
            Self::Incomplete => "incomplete",
        }
    }
}

/// All warnings, in the order of rules.
pub fn lint(file: &File) -> Vec<Warning> {
    let rules = &file.ruleset.rules;
    let mut pool = Pool::default();
    let mut cover = Cover::default();
    let mut seen = HashMap::new();
    let mut warnings = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        let of = Conjunctions::new(rule, &mut pool);
        if !of.is_possible() {
            let last = impossible_at(rule, &mut pool);
            warnings.push(each::never(rules, number, last));
            continue;
        }
        warnings.extend(each::policy(&file.ruleset, number, &of, &pool));
        warnings.extend(each::action(rules, number, &of, &pool));
        if let Some(first) = seen.insert(rule.body(), number) {
            warnings.push(each::duplicate(rules, number, first));
            continue;
        }
        match covered(&of, &mut cover, &mut pool) {
            Some(because) => warnings.push(each::unreached(rules, number, because)),
            None if rule.action.decides() => {
                if of.is_everything() {
                    warnings.extend(each::after_all(rules, number));
                    break;
                }
                cover.add(number, of, &pool);
            }
            None => {}
        }
    }
    if cover.is_exhausted() {
        warnings.push(each::incomplete());
    }
    warnings.extend(unused(file));
    warnings
}

/// The earlier rules that decide about all packets of a rule, of any family.
fn covered(of: &Conjunctions, cover: &mut Cover, pool: &mut Pool<'_>) -> Option<Vec<usize>> {
    let mut because = BTreeSet::new();
    for family in Family::ALL {
        if of.family(family).is_some() {
            because.extend(cover.search(family, of, pool)?);
        }
    }
    Some(because.into_iter().collect())
}

/// The first test that, together with the preceding ones, excludes all packets.
fn impossible_at<'a>(rule: &'a Rule, pool: &mut Pool<'a>) -> usize {
    let possible =
        |tests: &'a [Test], pool: &mut Pool<'a>| Conjunctions::of_tests(tests, pool).is_possible();
    let all = 1..=rule.tests.len();
    let mut lengths = all.filter(|length| !possible(&rule.tests[..*length], pool));
    lengths.next().map_or(0, |length| length - 1)
}

fn unused(file: &File) -> Vec<Warning> {
    let tests = file.ruleset.rules.iter().flat_map(|rule| &rule.tests);
    let addresses = tests.filter_map(|test| match test {
        Test::Address { addresses, .. } => Some(addresses),
        _ => None,
    });
    let names = addresses.flat_map(|addresses| addresses.sets());
    let used: BTreeSet<_> = names.chain(file.scope.sets.members()).collect();
    let unused = file.scope.sets.names().filter(|name| !used.contains(name));
    unused.map(each::unused).collect()
}
