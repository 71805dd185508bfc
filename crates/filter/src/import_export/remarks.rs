//! Parts of an export that all formats share: remarks and errors.
//!
//! Rule: an export makes the same decisions as the rules; what the other tool cannot express is an
//! error that names the rule and the cause. Other tools have no policies for malformed packets, so
//! these are written as remarks.

use std::fmt::Write;

use super::error::{Cause, Error};
use crate::abi::Policy;
use crate::{Policies, Rule};

/// An error about one rule.
pub(super) fn fail(rule: &Rule, cause: impl Into<Cause>) -> Error {
    Error::new(format!("rule {}", rule.name), cause)
}

/// Writes the policies that other tools do not have, as remarks.
pub(super) fn remarks(text: &mut String, policies: &Policies) {
    for (reason, policy) in policies.iter().filter(|(_, it)| *it != Policy::Judge) {
        line(text, format_args!("# not exported: {} {}", reason.label(), policy.label()));
    }
}

/// Appends a line.
pub(super) fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{what}");
}
