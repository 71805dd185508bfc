//! A group of rules as memory: field after field, state and value become the next state, until
//! the state is final, or says that few rules are left, which are compared (`residual`).
//!
//! Rule: what [`Table::walk`] does is what generated code does, load for load; so what is shown of
//! it in tests holds for the code. Not here: how a table is made (`build`).

use super::{Classifier, Comb, FINAL, NO_RULE, Residual, Runs, State};
use crate::{Field, PacketFields};

/// The lowest rule of a group that a packet matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The lowest number in it: there is no need to look if that cannot win.
    pub least: u32,
    /// How many rules it is made of.
    pub rules: u32,
    /// At least one.
    pub steps: Vec<Step>,
    /// Of rules that decide: what final states may lead to.
    pub residual: Residual,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub field: Field,
    pub transition: Transition,
}

/// How a step finds the next state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The first step, and no other: there is one state, so a class is a state already. `absent`
    /// is that of packets without the field.
    First { classifier: Classifier, absent: State },
    /// By state and class; `absent` is the class of packets without the field.
    Comb { classifier: Classifier, absent: u32, comb: Comb },
    /// By the state's own ranges of values; or, in fields of more than 32 bits, of the ranks that
    /// a classifier gives values: greater for greater values.
    Runs { ranks: Option<Classifier>, runs: Runs },
}

impl Table {
    /// The final state of a packet: `NO_RULE`, or a number with the bit `FINAL` set.
    pub fn walk(&self, packet: &PacketFields) -> State {
        let mut state = 0;
        for step in &self.steps {
            state = step.next(state, packet);
            if state & FINAL != 0 {
                return self.residual.resolve(state, packet);
            }
        }
        unreachable!("the last step leads to final states only")
    }

    /// The lowest rule that a packet matches, or `NO_RULE`.
    pub fn decide(&self, packet: &PacketFields) -> u32 {
        match self.walk(packet) {
            NO_RULE => NO_RULE,
            state => state & !FINAL,
        }
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        self.steps.iter().map(Step::bytes).sum::<usize>() + self.residual.bytes()
    }
}

impl Step {
    pub fn next(&self, state: State, packet: &PacketFields) -> State {
        let value = packet.field(self.field);
        let class =
            |classifier: &Classifier, absent| value.map_or(absent, |value| classifier.class(value));
        match &self.transition {
            Transition::First { classifier, absent } => class(classifier, *absent),
            Transition::Comb { classifier, absent, comb } => {
                comb.next(state, class(classifier, *absent))
            }
            Transition::Runs { ranks, runs } => {
                let Some(value) = value else { return runs.absent(state) };
                let narrow = || u32::try_from(value).expect("at most 32 bits have no ranks");
                let rank = ranks.as_ref().map_or_else(narrow, |ranks| ranks.class(value));
                runs.next(state, rank)
            }
        }
    }

    /// Bytes of memory that it reads.
    pub fn bytes(&self) -> usize {
        match &self.transition {
            Transition::First { classifier, .. } => classifier.bytes(),
            Transition::Comb { classifier, comb, .. } => classifier.bytes() + comb.bytes(),
            Transition::Runs { ranks, runs } => {
                ranks.as_ref().map_or(0, Classifier::bytes) + runs.bytes()
            }
        }
    }
}
