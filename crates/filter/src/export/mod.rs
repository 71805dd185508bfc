//! Rules in other tools' words.
//!
//! Rule: what is written decides as the rules do; what the other tool cannot say is an error that
//! names the rule and says why. Policies for odd packets stand in front as remarks, because those
//! tools have none. Not here: reading their words (`import`).

mod flowspec;
mod nft;

use std::fmt::Write;

pub use self::flowspec::flowspec;
pub use self::nft::nft;
use super::abi::Policy;
use super::import::Error;
use super::{Policies, Rule};

/// About one rule.
fn fail(rule: &Rule, reason: impl Into<String>) -> Error {
    Error::new(format!("rule {}", rule.name), reason)
}

/// Policies of the filter's own, as remarks.
fn remarks(text: &mut String, policies: &Policies) {
    for (oddity, policy) in policies.iter().filter(|(_, it)| *it != Policy::Judge) {
        line(text, format_args!("# not said here: {} {}", oddity.label(), policy.label()));
    }
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes all that it is given.
    let _ = writeln!(text, "{what}");
}
