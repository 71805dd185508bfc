//! Splits rules into groups, each with a table of affordable size.
//!
//! A table grows where rules that are selective in a field meet rules that are not: each of the
//! latter is then in every state of the former. So a group whose table would be too large is split
//! into the rules that are selective in some field, and the others; or else into halves.
//!
//! Rule: this terminates, because both parts are smaller than the group, and a single rule always
//! has a table, with one state per step and one entry per class.

use super::Budget;
use super::build::{self, Built};
use super::classes::Classes;
use super::conjunction::{Conjunction, Sets};
use super::group::{Count, Group, TableBudget};
use crate::Field;

/// The budget of all groups together.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    count: Count,
    /// Entries per rule.
    entries: usize,
    /// Further entries that all rules share.
    shared: usize,
    /// The number of rules that share them.
    rules: usize,
}

/// The tables of rules, each of which tests a field, in the order of their lowest rules.
pub fn tables(rules: &[&Conjunction], sets: &Sets<'_>, allowance: Allowance) -> Vec<Built> {
    let mut tables = Vec::new();
    let mut groups = vec![rules.to_vec()];
    while let Some(group) = groups.pop() {
        match attempt(&group, sets, allowance) {
            Ok(built) => tables.push(built),
            Err(parts) => groups.extend(parts),
        }
    }
    tables.sort_by_key(|built| built.table.least);
    tables
}

impl Allowance {
    /// Steps of work per entry.
    const WORK: usize = 8;
    /// The most entries per rule; with more, tables would not fit the caches of the processor.
    const ENTRIES: usize = 64;
    const SHARED: usize = 1 << 16;
    const ENTRY_BYTES: usize = 8;

    /// The allowance of a number of rules, from the budget of the plan.
    pub fn new(budget: &Budget, rules: usize, count: Count) -> Self {
        let all = budget.bytes / Self::ENTRY_BYTES;
        let entries = (all / rules).clamp(1, Self::ENTRIES);
        Self { count, entries, shared: Self::SHARED.min(all), rules }
    }

    fn budget(self, rules: usize) -> TableBudget {
        if rules == 1 {
            return TableBudget { entries: usize::MAX, work: usize::MAX };
        }
        let entries = self.entries * rules + self.shared * rules / self.rules;
        TableBudget { entries, work: Self::WORK * entries }
    }
}

/// The table of a group, or the two parts of the group to try instead.
fn attempt<'a>(
    group: &[&'a Conjunction],
    sets: &Sets<'_>,
    allowance: Allowance,
) -> Result<Built, [Vec<&'a Conjunction>; 2]> {
    let budget = allowance.budget(group.len());
    let tested = |field: &Field| group.iter().any(|rule| tests(rule, *field));
    let fields = Field::ALL.into_iter().filter(tested);
    let classes: Option<Vec<Classes>> =
        fields.map(|field| Classes::new(field, group, sets, budget.work)).collect();
    let Some(mut classes) = classes else { return Err(halves(group)) };
    classes.sort_by(|one, other| survivors(one, group).total_cmp(&survivors(other, group)));
    let whole = Group { rules: group, sets, order: &classes, count: allowance.count };
    build::table(whole, budget).ok_or_else(|| part(group, &classes))
}

fn tests(rule: &Conjunction, field: Field) -> bool {
    rule.tests.iter().any(|(tested, _)| *tested == field)
}

/// The average share of rules that are left by a class of a field. Fields with a small share come
/// first, so that the lists of later ones are short.
fn survivors(classes: &Classes, group: &[&Conjunction]) -> f64 {
    let left: u64 = (0..group.len() as u32).map(|rule| u64::from(classes.cover(rule))).sum();
    left as f64 / f64::from(classes.count) / group.len() as f64
}

/// The rules that are selective in the field where most are, and the others.
fn part<'a>(group: &[&'a Conjunction], fields: &[Classes]) -> [Vec<&'a Conjunction>; 2] {
    /// A rule is selective if it matches in at most one of this number of classes; the next number
    /// is tried if that does not split the rules.
    const SHARES: [u32; 4] = [16, 64, 256, 1024];
    let narrow = |classes: &Classes, share: u32| -> Vec<bool> {
        let is_narrow = |rule| u64::from(classes.cover(rule)) * u64::from(share);
        (0..group.len() as u32).map(|rule| is_narrow(rule) <= u64::from(classes.count)).collect()
    };
    for share in SHARES {
        let chosen = fields
            .iter()
            .map(|classes| narrow(classes, share))
            .filter(|narrow| narrow.contains(&true) && narrow.contains(&false))
            .max_by_key(|narrow| narrow.iter().filter(|is| **is).count());
        if let Some(narrow) = chosen {
            let of = |wanted: bool| {
                let rules = group.iter().zip(&narrow).filter(|(_, narrow)| **narrow == wanted);
                rules.map(|(rule, _)| *rule).collect()
            };
            return [of(true), of(false)];
        }
    }
    halves(group)
}

fn halves<'a>(group: &[&'a Conjunction]) -> [Vec<&'a Conjunction>; 2] {
    let (first, last) = group.split_at(group.len() / 2);
    [first.to_vec(), last.to_vec()]
}
