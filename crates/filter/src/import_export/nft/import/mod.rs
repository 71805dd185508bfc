//! nftables, as `nft -j list ruleset` prints it.
//!
//! ```text
//!  JSON ──▶ Listing: chains, sets ──▶ one base chain, what it jumps to in its place ──▶ Ruleset
//!                                          └─ matching: a match statement → tests
//! ```
//!
//! Rule: one base chain is taken over, with its policy. An `ip`, `ip6` or `inet` chain sees packets
//! of its families only, so its rules ask for them. The subset is in `docs/filter.md`.

mod chain;
mod lines;
mod listing;
mod matching;
mod meter;
mod names;
mod number;
mod refusal;
mod subject;

pub use lines::Lines;

use crate::Ruleset;
use crate::import_export::Error;

/// Reads a ruleset. `chain` chooses a base chain where there are several, as `table/chain` or
/// `family/table/chain`.
///
/// # Errors
/// What is not in the subset, by rule and statement.
pub fn import(json: &str, chain: Option<&str>) -> Result<Ruleset, Error> {
    import_with_lines(json, &Lines::default(), chain)
}

/// The same of text that nft has listed: errors have its lines, too.
///
/// # Errors
/// What is not in the subset, by line, rule and statement.
pub fn import_with_lines(json: &str, lines: &Lines, chain: Option<&str>) -> Result<Ruleset, Error> {
    let mut listing = listing::Listing::read(json)?;
    listing.locate(lines);
    chain::translate(&listing, chain)
}

#[cfg(test)]
mod tests;
