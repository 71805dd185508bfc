//! `Group`: rules that share one table, and what that table may cost.

use super::classes::Classes;
use super::conjunction::{Conjunction, Sets};

/// A group of rules, and its fields in the order of the table's steps.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub rules: &'a [&'a Conjunction],
    pub sets: &'a Sets<'a>,
    pub order: &'a [Classes],
    pub count: Count,
}

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
