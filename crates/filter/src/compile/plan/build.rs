//! Builds the table of a group of rules.
//!
//! A state is a list of the rules that are still possible, in order. In each step, a value keeps
//! the rules whose set contains it and those that do not test the field. Rule: equal lists are one
//! state. A list ends after the first rule that no further step can exclude; a list that begins
//! with such a rule is final. (For [`Effects`](super::Effects), where all matches count, a list is
//! final if no further step can exclude any of its rules.) The work is proportional to the lengths
//! of the lists and to the number of classes or ranges of their sets, never to states times
//! classes; above its budget, there is no table. A short list of rules that can be compared takes
//! no further steps (`residual`).
//!
//! At the end, from the last step to the first, states with equal rows become one (`join`), because
//! different lists may be equivalent.

use super::classes::Classes;
use super::comb::Sparse;
use super::group::{Group, TableBudget};
use super::join::{Form, Rows, join_equal};
use super::row::{RowRequest, by_class, by_value};
use super::states::{Lists, States};
use super::{Boundary, Classifier, Comb, Runs, Step, Table, Transition};

/// A table with its lists.
#[derive(Debug)]
pub struct Built {
    pub table: Table,
    /// Numbers of rules, by final state; empty if final states are rules.
    pub lists: Vec<Vec<u32>>,
}

/// The table of a group; `None` if it exceeds the budget.
pub fn table(group: Group<'_>, budget: TableBudget) -> Option<Built> {
    let mut build = Build::new(group, budget);
    let mut lists = vec![(0..group.rules.len() as u32).collect()];
    for step in 0..group.order.len() {
        lists = build.step(step, &lists)?;
    }
    build.finish()
}

/// A table that is being built.
struct Build<'a> {
    group: Group<'a>,
    /// Entries of rows that may still be made.
    entries: usize,
    states: States<'a>,
    rows: Vec<Rows>,
}

impl<'a> Build<'a> {
    fn new(group: Group<'a>, budget: TableBudget) -> Self {
        let states = States::new(group, budget);
        Self { group, entries: budget.entries, states, rows: Vec::new() }
    }

    /// Makes the rows of a step's states from their lists; returns the lists of the next step.
    fn step(&mut self, step: usize, lists: &[Vec<u32>]) -> Option<Vec<Vec<u32>>> {
        let classes = &self.group.order[step];
        let form = self.form(step, lists)?;
        let mut next = Lists::default();
        let mut rows = Vec::with_capacity(lists.len());
        for list in lists {
            let asked = RowRequest { step, classes, list };
            let row = match form {
                Form::Classes => by_class(&mut self.states, asked, &mut next)?,
                Form::Values => by_value(&mut self.states, asked, self.group.sets, &mut next)?,
            };
            // The first step has no entries: its classifier returns states.
            let entries = if step == 0 { 0 } else { row.entries.len() };
            self.entries = self.entries.checked_sub(entries)?;
            rows.push(row);
        }
        self.rows.push(Rows { form, rows });
        Some(next.into_lists())
    }

    /// Chooses between classes and runs of values. Runs are used if the rules that are left in a
    /// state have few ranges but many classes, and if little of a wide field is left, because that
    /// avoids the search for a class. `None` if the work exceeds the budget.
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
        self.states.can_afford(work).then_some(form)
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
        let (lists, residual) = self.states.finish();
        let lists = lists.iter().map(|list| list.iter().map(number).collect()).collect();
        Some(Built { table: Table { least, rules, steps, residual }, lists })
    }
}

/// The transition of a step; `None` if its comb would have too many holes.
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

/// The transition of the first step, whose classes are states.
fn first(classes: &Classes, row: &Sparse) -> Transition {
    let mut states = vec![row.default; classes.count as usize];
    for (class, next) in &row.entries {
        states[*class as usize] = *next;
    }
    let boundary = |one: &Boundary| Boundary { class: states[one.class as usize], ..*one };
    let boundaries = classes.boundaries.iter().map(boundary).collect();
    Transition::First { classifier: Classifier::new(classes.field, boundaries), absent: states[0] }
}
