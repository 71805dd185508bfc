//! `Rounds`: every value of one row, and which round each is of.
//!
//! Rule: a row may miss rounds, so two rows are compared where both have a value of one round,
//! never by their places in a list.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::samples::Samples;

/// Every value of one row, in the order of measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Name of the row.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Values in the order of the rounds.
    pub values: Vec<f64>,
    /// The round of each value, counted from 1 and rising; empty when there is one of each from
    /// the first on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<usize>,
}

impl Rounds {
    pub(crate) fn new(name: &str, unit: &str) -> Rounds {
        Rounds { name: name.into(), unit: unit.into(), values: vec![], numbers: vec![] }
    }

    /// The round after the last one that has a value.
    pub(crate) fn next(&self) -> usize {
        self.numbers.last().copied().unwrap_or(self.values.len()) + 1
    }

    pub(crate) fn push(&mut self, number: usize, value: f64) {
        if number != self.values.len() + 1 || !self.numbers.is_empty() {
            let known = self.values.len();
            if self.numbers.is_empty() {
                self.numbers = (1..=known).collect();
            }
            self.numbers.push(number);
        }
        self.values.push(value);
    }

    /// Each value with its round.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, f64)> {
        let number = |at: usize| self.numbers.get(at).copied().unwrap_or(at + 1);
        self.values.iter().enumerate().map(move |(at, value)| (number(at), *value))
    }

    /// The rounds that both have: their number, the value here and the other one's.
    pub fn pairs(&self, other: &Rounds) -> Vec<(usize, f64, f64)> {
        let mut others = other.numbered().peekable();
        let pairs = self.numbered().filter_map(|(number, value)| {
            while others.next_if(|(behind, _)| *behind < number).is_some() {}
            others.next_if(|(same, _)| *same == number).map(|(_, other)| (number, value, other))
        });
        pairs.collect()
    }

    /// This over `base`, of the rounds that both have.
    ///
    /// # Errors
    /// [`Error::Unpaired`] when there is no such round, and as [`Samples::ratios`].
    pub(crate) fn ratios(&self, base: &Rounds) -> Result<Samples, Error> {
        let pairs = self.pairs(base);
        let (a, b) = (self.values.len(), base.values.len());
        let (top, base): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(_, a, b)| (*a, *b)).unzip();
        let top = Samples::new(top).map_err(|fault| match fault {
            Error::Empty => Error::Unpaired { a, b },
            other => other,
        })?;
        top.ratios(&Samples::new(base)?)
    }

    pub(crate) fn samples(&self) -> Result<Samples, Error> {
        Samples::new(self.values.as_slice()).map_err(|fault| fault.in_row(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[(usize, f64)]) -> Rounds {
        let mut rounds = Rounds::new("x", "pps");
        values.iter().for_each(|(number, value)| rounds.push(*number, *value));
        rounds
    }

    #[test]
    fn rows_with_gaps_are_paired_by_round() {
        let whole = rounds(&[(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)]);
        let gap = rounds(&[(2, 2.0), (4, 8.0), (7, 1.0)]);
        assert_eq!(whole.pairs(&gap), [(2, 20.0, 2.0), (4, 40.0, 8.0)]);
        assert_eq!(gap.pairs(&whole), [(2, 2.0, 20.0), (4, 8.0, 40.0)]);
        assert_eq!(whole.ratios(&gap).unwrap().values(), [10.0, 5.0]);
        assert_eq!((whole.next(), gap.next()), (5, 8));
        let late = rounds(&[(9, 1.0)]);
        assert_eq!(whole.ratios(&late), Err(Error::Unpaired { a: 4, b: 1 }));
        assert_eq!(whole.ratios(&rounds(&[])), Err(Error::Unpaired { a: 4, b: 0 }));
    }

    #[test]
    fn numbers_are_written_only_where_something_is_missing() {
        let json = |rounds: &Rounds| serde_json::to_string(rounds).unwrap();
        let whole = r#"{"name":"x","unit":"pps","values":[1.0,2.0]}"#;
        assert_eq!(json(&rounds(&[(1, 1.0), (2, 2.0)])), whole);
        let gap = rounds(&[(1, 1.0), (3, 2.0)]);
        assert!(json(&gap).ends_with(r#""numbers":[1,3]}"#), "{}", json(&gap));
        for rounds in [gap, rounds(&[(1, 1.0), (2, 2.0)])] {
            assert_eq!(serde_json::from_str::<Rounds>(&json(&rounds)).unwrap(), rounds);
        }
    }
}
