//! Joins equivalent states.
//!
//! Rule: two states of a step are equivalent if their rows are equal after the equivalent states of
//! the next step were joined, so this goes from the last step to the first.

use std::collections::HashMap;

use super::comb::Sparse;
use super::{FINAL, State};

/// The rows of a step, by state.
#[derive(Debug)]
pub(super) struct Rows {
    pub form: Form,
    pub rows: Vec<Sparse>,
}

/// The keys of the entries of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Classes,
    /// First values of ranges.
    Values,
}

/// Renumbers states so that equal ones are one. States with only one next state are left out if
/// that is final.
pub(super) fn join_equal(steps: &mut [Rows]) {
    let mut joined: Vec<State> = Vec::new();
    for (step, Rows { form, rows }) in steps.iter_mut().enumerate().rev() {
        let mut known: HashMap<Sparse, State> = HashMap::new();
        let mut kept = Vec::new();
        let mut numbers = Vec::with_capacity(rows.len());
        for row in rows.drain(..) {
            let row = renumber(row, *form, &joined);
            // The first step always has a row.
            let only = only_next(&row, *form).filter(|next| step > 0 && next & FINAL != 0);
            numbers.push(only.unwrap_or_else(|| {
                *known.entry(row).or_insert_with_key(|row| {
                    kept.push(row.clone());
                    kept.len() as State - 1
                })
            }));
        }
        *rows = kept;
        joined = numbers;
    }
}

fn renumber(mut row: Sparse, form: Form, joined: &[State]) -> Sparse {
    let number = |state: State| if state & FINAL != 0 { state } else { joined[state as usize] };
    row.default = number(row.default);
    for (_, next) in &mut row.entries {
        *next = number(*next);
    }
    match form {
        Form::Classes => row.entries.retain(|(_, next)| *next != row.default),
        Form::Values => row.entries.dedup_by_key(|(_, next)| *next),
    }
    row
}

/// The next state, if it is the same for all packets.
fn only_next(row: &Sparse, form: Form) -> Option<State> {
    let only = match form {
        Form::Classes => row.entries.is_empty(),
        Form::Values => row.entries.iter().all(|(_, next)| *next == row.default),
    };
    only.then_some(row.default)
}
