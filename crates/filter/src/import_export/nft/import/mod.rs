//! Rulesets of nftables, as `nft -j list ruleset` prints them.
//!
//! ```text
//!  JSON ──▶ Listing: chains, sets ──▶ one base chain, with the chains it jumps to ──▶ Ruleset
//!                                          └─ matching: a match statement → tests
//! ```
//!
//! Rule: one base chain is imported, with its policy. A chain of family `ip`, `ip6` or `inet` sees
//! packets of its families only, so its rules test for these. `docs/filter.md` lists the supported
//! subset.

mod branches;
mod chain;
mod key;
mod limit;
mod lines;
mod listing;
mod matching;
mod meter;
pub(crate) mod names;
mod number;
mod state;
mod statement;
mod statements;
mod subject;
mod translation;
mod unsupported;

pub(crate) use chain::translate;
pub(crate) use key::Key;
pub use lines::Lines;
pub(crate) use listing::{Base, Chain, Listing, Rule};
pub(crate) use statement::Statement;

use crate::Ruleset;
use crate::import_export::Error;
use crate::import_export::imported::{ImportOptions, Imported};

/// Reads a ruleset. `chain` chooses a base chain where there are several, as `table/chain` or
/// `family/table/chain`.
///
/// # Errors
/// A statement that is not in the supported subset, with its rule.
pub fn import(json: &str, chain: Option<&str>) -> Result<Ruleset, Error> {
    let options = ImportOptions { chain, ..ImportOptions::default() };
    import_as(json, &Lines::default(), &options).map(|imported| imported.ruleset)
}

/// Reads a ruleset as far as the options permit. If it was listed from a text, errors have the
/// lines of the text.
///
/// # Errors
/// No chain can be chosen, or a statement is not in the supported subset and the options do not
/// permit to leave out its rule.
pub fn import_as(
    json: &str,
    lines: &Lines,
    options: &ImportOptions<'_>,
) -> Result<Imported, Error> {
    let mut listing = Listing::read(json)?;
    listing.locate(lines);
    translate(&listing, options)
}

#[cfg(test)]
mod tests;
