//! Conditions on how often a breakpoint was reached.
//!
//! Rule: hits are counted from the beginning of the capture, so that a position always has the same
//! number, in whichever direction it is reached.

use std::fmt;
use std::str::FromStr;

/// A condition on the number of a hit, such as `5`, `>= 5` or `% 5` (each fifth one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitCondition {
    operator: Operator,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Multiple,
}

/// Text that is not a [`HitCondition`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("invalid hit count `{text}`: expected N, == N, > N, >= N, < N, <= N or % N, N at least 1")]
pub struct InvalidHits {
    /// The text as it was given.
    pub text: String,
}

impl HitCondition {
    /// Holds after this number of hits.
    pub fn after(number: u64) -> Self {
        Self { operator: Operator::Greater, number }
    }

    pub(super) fn holds(self, hit: u64) -> bool {
        match self.operator {
            Operator::Equal => hit == self.number,
            Operator::Greater => hit > self.number,
            Operator::GreaterEqual => hit >= self.number,
            Operator::Less => hit < self.number,
            Operator::LessEqual => hit <= self.number,
            Operator::Multiple => hit.is_multiple_of(self.number),
        }
    }
}

impl FromStr for HitCondition {
    type Err = InvalidHits;

    fn from_str(text: &str) -> Result<Self, InvalidHits> {
        let text = text.trim();
        let split = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?)));
        let (operator, rest) = split.unwrap_or((Operator::Equal, text));
        match rest.trim().parse() {
            Ok(number @ 1..) => Ok(Self { operator, number }),
            _ => Err(InvalidHits { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for HitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = OPERATORS.iter().find(|(_, operator)| *operator == self.operator);
        write!(f, "{} {}", sign.map_or("==", |(sign, _)| sign), self.number)
    }
}

/// Longer signs first.
const OPERATORS: [(&str, Operator); 6] = [
    (">=", Operator::GreaterEqual),
    ("<=", Operator::LessEqual),
    ("==", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("%", Operator::Multiple),
];

#[cfg(test)]
mod tests {
    use super::HitCondition;

    #[test]
    fn conditions_choose_among_hits() {
        let table: [(&str, &[u64]); 7] = [
            ("3", &[3]),
            ("== 3", &[3]),
            ("> 3", &[4, 5, 6]),
            (">=3", &[3, 4, 5, 6]),
            ("<3", &[1, 2]),
            ("<= 3", &[1, 2, 3]),
            ("%3", &[3, 6]),
        ];
        for (text, expected) in table {
            let condition: HitCondition = text.parse().unwrap();
            let holding: Vec<_> = (1..=6).filter(|hit| condition.holds(*hit)).collect();
            assert_eq!(holding, expected, "{text}");
            assert_eq!(condition.to_string().parse(), Ok(condition));
        }
        for text in ["", "0", "% 0", "x", "=> 3", "3 4", "-1", "99999999999999999999"] {
            assert!(text.parse::<HitCondition>().is_err(), "{text}");
        }
    }
}
