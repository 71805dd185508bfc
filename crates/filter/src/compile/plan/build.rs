//! The table of a group of rules.
//!
//! A state is a list of rules that are still possible, in order. In a step, each value leaves of
//! it those whose set has it and those that do not test the field. Rule: equal lists are one
//! state. A list ends behind the first rule that nothing can refuse any more; one that begins with
//! such a rule is final. (For [`Effects`](super::Effects) all matches count: a list is final when
//! nothing can refuse any of it.) Work is in proportion to the lists' lengths and to what the sets
//! in them have, classes or ranges, never states times classes; when it is more than allowed,
//! there is no table. A short list whose rules can be compared is not led through further steps
//! (`residual`).
//!
//! From behind, states with equal rows then become one (`join`), since different lists may mean
//! the same.

use std::collections::HashMap;

use super::classes::Classes;
use super::comb::Sparse;
use super::conjunction::{Conjunction, Sets};
use super::join::{Form, Rows, join_equal};
use super::row::{RowRequest, by_class, by_value};
use super::{
    Boundary, Classifier, Comb, FINAL, NO_RULE, Runs, State, Step, Table, Transition, residual,
};

/// Which of the rules that match count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The lowest one.
    First,
    /// All: final states are numbers of lists.
    All,
}

/// What a table may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBudget {
    /// Entries of rows.
    pub entries: usize,
    /// Steps of work.
    pub work: usize,
}

/// A table, and what its final states mean if they are lists.
#[derive(Debug)]
pub struct Built {
    pub table: Table,
    pub lists: Vec<Vec<u32>>,
}

/// A group of rules, and its fields in the order of the table's steps.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub rules: &'a [&'a Conjunction],
    pub sets: &'a Sets<'a>,
    pub order: &'a [Classes],
    pub count: Count,
}

/// The table of a group; `None` if it would cost too much.
pub fn table(group: Group<'_>, budget: TableBudget) -> Option<Built> {
    let mut build = Build::new(group, budget);
    let mut lists = vec![(0..group.rules.len() as u32).collect()];
    for step in 0..group.order.len() {
        lists = build.step(step, &lists)?;
    }
    build.finish()
}

/// A table in the making.
pub(super) struct Build<'a> {
    group: Group<'a>,
    budget: TableBudget,
    /// By rule: the last step that can refuse it.
    last: Vec<usize>,
    rows: Vec<Rows>,
    finals: Lists,
    residual: residual::Lists,
}

/// Lists of rules with numbers.
#[derive(Default)]
pub(super) struct Lists(HashMap<Box<[u32]>, u32>);

impl Lists {
    fn number(&mut self, list: &[u32]) -> u32 {
        if let Some(number) = self.0.get(list) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(list.into(), number);
        number
    }

    fn into_lists(self) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.0.len()];
        for (list, number) in self.0 {
            lists[number as usize] = list.into_vec();
        }
        lists
    }
}

impl<'a> Build<'a> {
    fn new(group: Group<'a>, budget: TableBudget) -> Self {
        let last = |rule: usize| {
            let tests = |classes: &Classes| classes.sets[rule] != Classes::ANY;
            group.order.iter().rposition(tests).expect("every rule tests a field")
        };
        let last = (0..group.rules.len()).map(last).collect();
        let residual = residual::Lists::new(group, budget.entries);
        Self { group, budget, last, rows: Vec::new(), finals: Lists::default(), residual }
    }

    /// The rows of a step's states, from their lists; the next step's lists.
    fn step(&mut self, step: usize, lists: &[Vec<u32>]) -> Option<Vec<Vec<u32>>> {
        let classes = &self.group.order[step];
        let form = self.form(step, lists)?;
        let mut next = Lists::default();
        let mut rows = Vec::with_capacity(lists.len());
        for list in lists {
            let asked = RowRequest { step, classes, list };
            let row = match form {
                Form::Classes => by_class(self, asked, &mut next)?,
                Form::Values => by_value(self, asked, self.group.sets, &mut next)?,
            };
            // The first step's entries are not kept, but its classifier says the states.
            let entries = if step == 0 { 0 } else { row.entries.len() };
            self.budget.entries = self.budget.entries.checked_sub(entries)?;
            rows.push(row);
        }
        self.rows.push(Rows { form, rows });
        Some(next.into_lists())
    }

    /// Runs where the rules left in a state have few ranges but many classes; and where there is
    /// little left of a wide field to search, since that spares its classes' search. `None` if
    /// either is too much work.
    fn form(&self, step: usize, lists: &[Vec<u32>]) -> Option<Form> {
        const SHORT: usize = 31;
        let classes = &self.group.order[step];
        let (mut entries, mut ranges, mut longest) = (0, 0, 0);
        for list in lists {
            let tests = list.iter().filter_map(|rule| classes.ranges(*rule, self.group.sets));
            let run = 1 + tests.map(|ranges| 2 * ranges.len()).sum::<usize>();
            let holds = list.iter().filter_map(|rule| classes.of_rule(*rule));
            entries += holds.map(<[u32]>::len).sum::<usize>();
            ranges += run;
            longest = longest.max(run);
        }
        let spares = classes.field.bits() == 32 && longest <= SHORT;
        let values = step > 0 && longest <= Runs::LONGEST && (spares || ranges < entries);
        let (form, work) = if values { (Form::Values, ranges) } else { (Form::Classes, entries) };
        (work <= self.budget.work).then_some(form)
    }

    /// Counts work done; `None` when it is too much.
    pub fn work(&mut self, steps: usize) -> Option<()> {
        self.budget.work = self.budget.work.checked_sub(steps)?;
        Some(())
    }

    /// The state of the rules that a step leaves.
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

    /// What is behind a rule that nothing can refuse any more has no meaning.
    fn cut<'l>(&self, step: usize, list: &'l [u32]) -> &'l [u32] {
        let sure = match self.group.count {
            Count::First => list.iter().position(|rule| self.is_sure(step, *rule)),
            Count::All => None,
        };
        sure.map_or(list, |sure| &list[..=sure])
    }

    /// Nothing behind this step can refuse it.
    fn is_sure(&self, step: usize, rule: u32) -> bool {
        self.last[rule as usize] <= step
    }

    fn finish(mut self) -> Option<Built> {
        join_equal(&mut self.rows);
        let mut steps = Vec::new();
        for (step, (classes, rows)) in self.group.order.iter().zip(&self.rows).enumerate() {
            if !rows.rows.is_empty() {
                steps.push(Step {
                    field: classes.field,
                    transition: transition(step, classes, rows)?,
                });
            }
        }
        let [least, ..] = self.group.rules else { panic!("a group has rules") };
        let (least, rules) = (least.number, self.group.rules.len() as u32);
        let number = |rule: &u32| self.group.rules[*rule as usize].number;
        let lists = self.finals.into_lists();
        let lists = lists.iter().map(|list| list.iter().map(number).collect()).collect();
        Some(Built {
            table: Table { least, rules, steps, residual: self.residual.finish() },
            lists,
        })
    }
}

/// `None` if rows do not fit together: a comb full of holes is memory as well.
fn transition(step: usize, classes: &Classes, rows: &Rows) -> Option<Transition> {
    const HOLES: usize = 4;
    if step == 0 {
        return Some(first(classes, &rows.rows[0]));
    }
    if rows.form == Form::Values {
        return Some(Transition::Runs { ranks: classes.ranks(), runs: Runs::new(&rows.rows) });
    }
    let entries: usize = rows.rows.iter().map(|row| row.entries.len()).sum();
    let comb = Comb::new(&rows.rows);
    (comb.entries.len() <= HOLES * entries + classes.count as usize).then(|| Transition::Comb {
        classifier: Classifier::new(classes.field, classes.boundaries.clone()),
        absent: 0,
        comb,
    })
}

/// The first step's classes are states at once.
fn first(classes: &Classes, row: &Sparse) -> Transition {
    let mut states = vec![row.default; classes.count as usize];
    for (class, next) in &row.entries {
        states[*class as usize] = *next;
    }
    let boundary = |one: &Boundary| Boundary { class: states[one.class as usize], ..*one };
    let boundaries = classes.boundaries.iter().map(boundary).collect();
    Transition::First { classifier: Classifier::new(classes.field, boundaries), absent: states[0] }
}
