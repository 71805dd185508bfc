//! A group of rules as memory: field after field, the packet's value becomes a class, and state
//! and class become the next state, until the state is final.
//!
//! Rule: what [`Table::walk`] does is what generated code does, load for load; so what is shown of
//! it in tests holds for the code. Not here: how a table is made (`build`).

use super::{Classifier, FINAL, NO_RULE, Rows, State};
use crate::filter::{Facts, Field};

/// The lowest rule of a group that a packet matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The lowest number in it: there is no need to look if that cannot win.
    pub least: u32,
    /// How many rules it is made of.
    pub rules: u32,
    /// At least one.
    pub steps: Vec<Step>,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub field: Field,
    pub classifier: Classifier,
    /// The class of packets that do not have the field.
    pub absent: u32,
    /// None in the first step: its classes are states already.
    pub rows: Option<Rows>,
}

impl Table {
    /// The final state of a packet: `NO_RULE`, or a number with the bit `FINAL` set.
    pub fn walk(&self, facts: &Facts) -> State {
        let mut state = 0;
        for step in &self.steps {
            let class = step.class(facts);
            state = step.rows.as_ref().map_or(class, |rows| rows.next(state, class));
            if state & FINAL != 0 {
                return state;
            }
        }
        unreachable!("the last step leads to final states only")
    }

    /// The lowest rule that a packet matches, or `NO_RULE`.
    pub fn decide(&self, facts: &Facts) -> u32 {
        match self.walk(facts) {
            NO_RULE => NO_RULE,
            state => state & !FINAL,
        }
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        self.steps.iter().map(Step::bytes).sum()
    }
}

impl Step {
    pub fn class(&self, facts: &Facts) -> u32 {
        facts.field(self.field).map_or(self.absent, |value| self.classifier.class(value))
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        self.classifier.bytes() + self.rows.as_ref().map_or(0, Rows::bytes)
    }
}
