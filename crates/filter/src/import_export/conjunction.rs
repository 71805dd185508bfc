//! `Conjunction`: the tests of one rule while it is being imported.
//!
//! Rule: there is at most one test per field, so that a contradiction is found immediately.

use super::error::NoMatch;
use crate::{Field, Test, Values};

/// Tests that must all hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Conjunction(Vec<Test>);

/// The EtherType of IPv4.
pub(crate) const IPV4: u16 = packet::EtherType::IPV4.0;
/// The EtherType of IPv6.
pub(crate) const IPV6: u16 = packet::EtherType::IPV6.0;

impl Conjunction {
    /// Restricts a field to these values.
    ///
    /// # Errors
    /// No packet can match the tests any more.
    pub fn require(&mut self, field: Field, values: &Values) -> Result<(), NoMatch> {
        let known = self.0.iter_mut().find_map(|test| match test {
            Test::Is(known, values) if *known == field => Some(values),
            _ => None,
        });
        let values = match known {
            Some(known) => {
                *known = known.intersection(values);
                &*known
            }
            None => {
                self.0.push(Test::Is(field, values.clone()));
                values
            }
        };
        if values.is_empty() { Err(NoMatch) } else { Ok(()) }
    }

    /// Restricts the EtherType to this one.
    pub fn require_ether_type(&mut self, ether_type: u16) -> Result<(), NoMatch> {
        self.require(Field::EtherType, &Values::one(ether_type))
    }

    /// Adds a test that is not compared with the others.
    pub fn push(&mut self, test: Test) {
        self.0.push(test);
    }

    /// The values that a field may have; `None` if it is not tested.
    pub fn values(&self, field: Field) -> Option<&Values> {
        self.0.iter().find_map(|test| match test {
            Test::Is(known, values) if *known == field => Some(values),
            _ => None,
        })
    }

    /// The cost of a copy: the number of tests and of their ranges.
    pub fn weight(&self) -> usize {
        self.0.iter().map(|test| 1 + test.own_ranges()).sum()
    }

    /// The tests, in the order in which they were added.
    pub fn into_tests(self) -> Vec<Test> {
        self.0
    }
}
