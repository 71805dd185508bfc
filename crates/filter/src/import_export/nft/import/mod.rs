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

mod chain;
mod key;
mod limit;
mod lines;
mod listing;
mod matching;
mod meter;
mod names;
mod number;
mod subject;
mod unsupported;

pub use lines::Lines;

use crate::Ruleset;
use crate::import_export::Error;

/// Reads a ruleset. `chain` chooses a base chain where there are several, as `table/chain` or
/// `family/table/chain`.
///
/// # Errors
/// A statement that is not in the supported subset, with its rule.
pub fn import(json: &str, chain: Option<&str>) -> Result<Ruleset, Error> {
    import_with_lines(json, &Lines::default(), chain)
}

/// Reads a ruleset that was listed from a text: errors have the lines of the text.
///
/// # Errors
/// A statement that is not in the supported subset, with its line and rule.
pub fn import_with_lines(json: &str, lines: &Lines, chain: Option<&str>) -> Result<Ruleset, Error> {
    let mut listing = listing::Listing::read(json)?;
    listing.locate(lines);
    chain::translate(&listing, chain)
}

#[cfg(test)]
mod tests;
