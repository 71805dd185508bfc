//! `States`: lists of rules that are still possible, as states of a table.

use std::collections::HashMap;

use super::classes::Classes;
use super::group::{Count, Group, TableBudget};
use super::residual::{Residual, ResidualLists};
use super::{FINAL, NO_RULE, State};

/// The states of one group's table, and the work that finding them may still take.
pub(super) struct States<'a> {
    group: Group<'a>,
    /// Steps of work that are left.
    work: usize,
    /// By rule: the last step that can exclude it.
    last: Vec<usize>,
    finals: Lists,
    residual: ResidualLists,
}

/// Lists of rules, by number.
#[derive(Default)]
pub(super) struct Lists(HashMap<Box<[u32]>, u32>);

impl Lists {
    /// The number of a list; a new one for a new list.
    fn number(&mut self, list: &[u32]) -> u32 {
        if let Some(number) = self.0.get(list) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(list.into(), number);
        number
    }

    /// The lists, in the order of their numbers.
    pub fn into_lists(self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.0.len()];
        for (list, number) in self.0 {
            lists[number as usize] = list.into_vec();
        }
        lists
    }
}

impl<'a> States<'a> {
    /// The states of a group, without any list yet.
    pub fn new(group: Group<'a>, budget: TableBudget) -> Self {
        let last = |rule: usize| {
            let tests = |classes: &Classes| classes.sets[rule] != Classes::ANY;
            group.order.iter().rposition(tests).expect("every rule tests a field")
        };
        let last = (0..group.rules.len()).map(last).collect();
        let residual = ResidualLists::new(group, budget.entries);
        Self { group, work: budget.work, last, finals: Lists::default(), residual }
    }

    /// Whether at least this much work is left.
    pub fn can_afford(&self, work: usize) -> bool {
        work <= self.work
    }

    /// Counts work; `None` if it exceeds the budget.
    pub fn work(&mut self, steps: usize) -> Option<()> {
        self.work = self.work.checked_sub(steps)?;
        Some(())
    }

    /// The state of a list of rules after a step.
    pub fn state(&mut self, step: usize, list: &[u32], next: &mut Lists) -> State {
        let list = self.cut(step, list);
        let Some(first) = list.first() else { return NO_RULE };
        match self.group.count {
            Count::First if self.is_sure(step, *first) => {
                FINAL | self.group.rules[*first as usize].number
            }
            Count::All if list.iter().all(|rule| self.is_sure(step, *rule)) => {
                FINAL | self.finals.number(list)
            }
            Count::First => self.residual.state(step, list).unwrap_or_else(|| next.number(list)),
            Count::All => next.number(list),
        }
    }

    /// The list up to the first rule that no further step can exclude.
    fn cut<'l>(&self, step: usize, list: &'l [u32]) -> &'l [u32] {
        let sure = match self.group.count {
            Count::First => list.iter().position(|rule| self.is_sure(step, *rule)),
            Count::All => None,
        };
        sure.map_or(list, |sure| &list[..=sure])
    }

    /// Whether no step after this one can exclude a rule.
    fn is_sure(&self, step: usize, rule: u32) -> bool {
        self.last[rule as usize] <= step
    }

    /// The lists that final states are numbers of, and the rules that are compared at the end.
    pub fn finish(self) -> (Vec<Vec<u32>>, Residual) {
        (self.finals.into_lists(), self.residual.finish())
    }
}
