//! `Group`: rules that share one table, and what that table may cost.

use super::classes::Classes;
use super::conjunction::{Conjunction, Sets};

/// A group of rules, with its fields in the order of the table's steps.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub rules: &'a [&'a Conjunction],
    pub sets: &'a Sets<'a>,
    pub order: &'a [Classes],
    pub count: Count,
}

/// Which of the matching rules a table finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The one with the lowest number.
    First,
    /// All of them: final states are numbers of lists.
    All,
}

/// The budget of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBudget {
    /// The most entries of rows.
    pub entries: usize,
    /// The most steps of work.
    pub work: usize,
}
