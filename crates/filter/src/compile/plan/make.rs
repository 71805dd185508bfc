//! Makes the plan of a ruleset: assigns the rules of each family to tables, effects or straight
//! code.

use super::build::Built;
use super::conjunction::{Conjunction, Sets};
use super::group::Count;
use super::split::{self, Allowance};
use super::{Budget, Effects, FamilyPlan, NO_RULE, Plan};
use crate::{Family, Rule, Ruleset, Test};

impl Plan {
    /// The plan of a ruleset; `ifindex` resolves names of interfaces.
    pub fn new(ruleset: &Ruleset, ifindex: impl Fn(&str) -> Option<u32>, budget: &Budget) -> Self {
        Self { families: Family::ALL.map(|family| plan(ruleset, family, &ifindex, budget)) }
    }
}

/// The rules of a family, by kind.
#[derive(Default)]
struct Sorted {
    decide: Vec<Conjunction>,
    /// Rules that do not decide.
    continues: Vec<Conjunction>,
    straight: Vec<u32>,
    otherwise: Option<u32>,
}

fn plan(
    ruleset: &Ruleset,
    family: Family,
    ifindex: &impl Fn(&str) -> Option<u32>,
    budget: &Budget,
) -> FamilyPlan {
    let mut sets = Sets::new();
    let mut sorted = sort(&ruleset.rules, family, ifindex, &mut sets);
    let decide = many(sorted.decide, &sets, budget, &mut sorted.straight);
    let continues = many(sorted.continues, &sets, budget, &mut sorted.straight);
    sorted.straight.sort_unstable();
    FamilyPlan {
        family,
        tables: build(&decide, &sets, budget, Count::First).map(|built| built.table).collect(),
        effects: build(&continues, &sets, budget, Count::All).map(effects).collect(),
        straight: sorted.straight,
        otherwise: sorted.otherwise.unwrap_or(NO_RULE),
    }
}

fn sort<'a>(
    rules: &'a [Rule],
    family: Family,
    ifindex: &impl Fn(&str) -> Option<u32>,
    sets: &mut Sets<'a>,
) -> Sorted {
    let mut sorted = Sorted::default();
    for (number, rule) in (0..).zip(rules) {
        let Some(fields) = rule.fields(family, ifindex) else { continue };
        let conjunction = sets.conjunction(number, family, fields);
        let decides = rule.action.decides();
        if !rule.tests.iter().all(Test::is_of_fields) {
            sorted.straight.push(number);
        } else if conjunction.tests.is_empty() && decides {
            sorted.otherwise = Some(number);
            break;
        } else if conjunction.tests.is_empty() {
            sorted.straight.push(number);
        } else if decides {
            sorted.decide.push(conjunction);
        } else {
            sorted.continues.push(conjunction);
        }
    }
    sorted
}

/// The rules, if they are many or have large sets; a few small ones are moved to `straight`.
fn many(
    rules: Vec<Conjunction>,
    sets: &Sets<'_>,
    budget: &Budget,
    straight: &mut Vec<u32>,
) -> Vec<Conjunction> {
    let tests = rules.iter().flat_map(|rule| &rule.tests);
    let ranges: usize = tests.map(|(field, set)| sets.set(*field, *set).ranges().len()).sum();
    if rules.len() <= budget.straight_rules && ranges <= budget.straight_ranges {
        straight.extend(rules.iter().map(|rule| rule.number));
        return Vec::new();
    }
    rules
}

fn build(
    rules: &[Conjunction],
    sets: &Sets<'_>,
    budget: &Budget,
    count: Count,
) -> impl Iterator<Item = Built> + use<> {
    let rules: Vec<&Conjunction> = rules.iter().collect();
    let tables = if rules.is_empty() {
        Vec::new()
    } else {
        split::tables(&rules, sets, Allowance::new(budget, rules.len(), count))
    };
    tables.into_iter()
}

fn effects(built: Built) -> Effects {
    let mut starts = vec![0];
    let mut rules = Vec::new();
    for list in &built.lists {
        rules.extend_from_slice(list);
        starts.push(rules.len() as u32);
    }
    let longest = built.lists.iter().map(Vec::len).max().unwrap_or(0) as u32;
    Effects { table: built.table, starts, rules, longest }
}
