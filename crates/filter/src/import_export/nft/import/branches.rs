//! `Branches`: alternatives of the tests of one rule, each of which becomes a rule.
//!
//! Rule: there is at least one. A test that excludes an alternative removes it; the last one is
//! not removed, but an error.

use crate::import_export::NoMatch;
use crate::import_export::conjunction::Conjunction;
use crate::import_export::error::nft::ImportError;

/// Alternatives, of which a packet must match one.
#[derive(Clone, Debug)]
pub(super) struct Branches(Vec<Conjunction>);

impl Branches {
    pub fn one(tests: Conjunction) -> Self {
        Self(vec![tests])
    }

    pub fn all(&self) -> &[Conjunction] {
        &self.0
    }

    /// The only alternative; `None` if there are several.
    pub fn only(&self) -> Option<&Conjunction> {
        if let [only] = &self.0[..] { Some(only) } else { None }
    }

    /// The cost of a copy.
    pub fn weight(&self) -> usize {
        self.0.iter().map(|tests| 1 + tests.weight()).sum()
    }

    /// Adds tests to each alternative.
    ///
    /// # Errors
    /// The tests exclude all alternatives, or cannot be added for another reason.
    pub fn require(
        &mut self,
        add: impl Fn(&mut Conjunction) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        self.split(&[add])
    }

    /// Divides each alternative into one for each of these tests.
    ///
    /// # Errors
    /// The tests exclude all alternatives, or cannot be added for another reason.
    pub fn split(
        &mut self,
        adds: &[impl Fn(&mut Conjunction) -> Result<(), ImportError>],
    ) -> Result<(), ImportError> {
        let mut found = Vec::with_capacity(self.0.len());
        for tests in &self.0 {
            for add in adds {
                let mut tests = tests.clone();
                match add(&mut tests) {
                    Ok(()) => found.push(tests),
                    Err(ImportError::NoMatch(NoMatch)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if found.is_empty() {
            return Err(NoMatch.into());
        }
        self.0 = found;
        Ok(())
    }
}
