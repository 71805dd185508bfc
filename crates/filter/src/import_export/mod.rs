//! Rules in the words of other tools: nftables and BGP FlowSpec, imported and exported, and
//! iptables, imported.
//!
//! Rule: what is imported decides as the other tool would. A statement that cannot be expressed
//! here is an error that names it, or is listed with its consequence; none is left out silently.
//! Nothing else in this crate depends on this module. Not here: running those tools, and this
//! crate's own text (`language::text`).

mod conjunction;
pub mod error;
pub mod flowspec;
mod icmp;
pub mod imported;
pub mod iptables;
pub mod nft;
mod remarks;

pub use error::{Cause, Error, NoMatch};
pub use imported::{Approximation, ImportOptions, Imported, LeftOut};

use super::{File, Ruleset, Test};

/// A rule file with imported rules and the named sets that they share.
pub fn file(ruleset: Ruleset) -> File {
    let mut file = File::default();
    for test in ruleset.rules.iter().flat_map(|rule| &rule.tests) {
        if let Test::Address { addresses, .. } = test
            && let Some(name) = &addresses.name
            && file.scope.sets.set(name).is_none()
        {
            file.scope.sets.insert_list(name, (**addresses).clone());
        }
    }
    file.ruleset = ruleset;
    file
}
