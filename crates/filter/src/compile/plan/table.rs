//! `Table`: a group of rules as memory. Field by field, state and value determine the next state,
//! until a state is final or refers to few remaining rules, which are compared (`residual`).
//!
//! Rule: [`Table::walk`] does the same as the generated code, load for load, so its tests hold for
//! the code. Not here: building a table (`build`).

use super::{Classifier, Comb, FINAL, NO_RULE, Residual, Runs, State};
use crate::{Field, PacketFields};

/// A table that finds the first rule of a group that a packet matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The lowest number of a rule in it.
    pub least: u32,
    /// The number of rules in it.
    pub rules: u32,
    /// The steps, one per field; at least one.
    pub steps: Vec<Step>,
    /// The lists that final states may refer to, in a table of rules that decide.
    pub residual: Residual,
}

/// The step of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub field: Field,
    pub transition: Transition,
}

/// How a step finds the next state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The first step: there is one state, so classes are states. `absent` is the state of packets
    /// without the field.
    First { classifier: Classifier, absent: State },
    /// By state and class; `absent` is the class of packets without the field.
    Comb { classifier: Classifier, absent: u32, comb: Comb },
    /// By the state's run of values or, in fields of more than 32 bits, of ranks, which a
    /// classifier assigns to values in ascending order.
    Runs { ranks: Option<Classifier>, runs: Runs },
}

impl Table {
    /// The final state of a packet: `NO_RULE`, or a number with the bit `FINAL`.
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

    /// The first rule that a packet matches, or `NO_RULE`.
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
    /// The next state of a packet.
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
