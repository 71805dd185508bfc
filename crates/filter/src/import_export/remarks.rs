//! Lines of an export that are common to all formats: remarks and errors.
//!
//! Rule: an export decides as the rules do; what the other tool cannot express is an error that
//! names the rule and the reason. Other tools have no policies for malformed packets, so these are
//! written as remarks.

use std::fmt::Write;

use crate::abi::Policy;
use crate::import_export::Error;
use crate::{Policies, Rule};

/// About one rule.
pub(super) fn fail(rule: &Rule, reason: impl Into<String>) -> Error {
    Error::new(format!("rule {}", rule.name), reason)
}

/// Policies of the filter's own, as remarks.
pub(super) fn remarks(text: &mut String, policies: &Policies) {
    for (oddity, policy) in policies.iter().filter(|(_, it)| *it != Policy::Judge) {
        line(text, format_args!("# not said here: {} {}", oddity.label(), policy.label()));
    }
}

pub(super) fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes all that it is given.
    let _ = writeln!(text, "{what}");
}
