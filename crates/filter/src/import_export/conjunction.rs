//! Tests that are all to hold, gathered one by one.
//!
//! Rule: at most one test of a field, so that what can never match is found at once.

use crate::{Field, Test, Values};

#[derive(Clone, Debug, Default)]
pub(super) struct Conjunction(Vec<Test>);

/// EtherTypes of the families.
pub(crate) const IPV4: u16 = packet::EtherType::IPV4.0;
pub(crate) const IPV6: u16 = packet::EtherType::IPV6.0;

impl Conjunction {
    /// # Errors
    /// When no packet can match any more.
    pub fn require(&mut self, field: Field, values: &Values) -> Result<(), String> {
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
        if values.is_empty() { Err("no packet can match this".to_owned()) } else { Ok(()) }
    }

    pub fn require_ether_type(&mut self, ether_type: u16) -> Result<(), String> {
        self.require(Field::EtherType, &Values::one(ether_type))
    }

    pub fn push(&mut self, test: Test) {
        self.0.push(test);
    }

    /// What a field may be, if it is tested.
    pub fn values(&self, field: Field) -> Option<&Values> {
        self.0.iter().find_map(|test| match test {
            Test::Is(known, values) if *known == field => Some(values),
            _ => None,
        })
    }

    /// Tests and their ranges of values: what a copy takes.
    pub fn weight(&self) -> usize {
        self.0.iter().map(|test| 1 + test.own_ranges()).sum()
    }

    pub fn into_tests(self) -> Vec<Test> {
        self.0
    }
}
