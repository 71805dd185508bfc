//! Rules become groups, each of which is a table of affordable size.
//!
//! Tables grow where rules that say much about a field meet rules that say little: each of the
//! latter is then in every state that the former make. So a group that costs too much is parted
//! into rules that are narrow in some field, and the others; and where that does not part them, in
//! two halves.
//! Rule: it ends, since both parts are smaller than the group, and a single rule is a table
//! whatever it costs: one state a step, one entry a class of its own.

use super::Budget;
use super::build::{self, Built};
use super::classes::Classes;
use super::conjunction::{Conjunction, Sets};
use super::group::{Count, Group, TableBudget};
use crate::Field;

/// What groups may cost.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    count: Count,
    /// Entries that each rule may bring.
    entries: usize,
    /// Entries that all rules may share, beyond.
    shared: usize,
    /// How many rules share them.
    rules: usize,
}

/// Tables of rules that each test a field, in order of their lowest rules.
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
    /// Work that may be done for each entry that may be made.
    const WORK: usize = 8;
    /// More would not fit the processor's caches.
    const ENTRIES: usize = 64;
    const SHARED: usize = 1 << 16;
    const ENTRY_BYTES: usize = 8;

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

/// The table of a group, or the two parts of it that are to be tried instead.
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

/// The share of rules that is left when a field's class is known: fields that leave few come
/// first, so that later ones have short lists to do with.
fn survivors(classes: &Classes, group: &[&Conjunction]) -> f64 {
    let left: u64 = (0..group.len() as u32).map(|rule| u64::from(classes.cover(rule))).sum();
    left as f64 / f64::from(classes.count) / group.len() as f64
}

/// Rules that are narrow in the field where most are so, and the others.
fn part<'a>(group: &[&'a Conjunction], fields: &[Classes]) -> [Vec<&'a Conjunction>; 2] {
    /// Narrow is who matches in one of so many classes; the next where that does not part them.
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
