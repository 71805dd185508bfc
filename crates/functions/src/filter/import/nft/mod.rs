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
mod listing;
mod matching;
mod names;
mod number;
mod subject;

use super::Error;
use crate::filter::Ruleset;

/// Reads a ruleset. `chain` chooses a base chain where there are several, as `table/chain` or
/// `family/table/chain`.
///
/// # Errors
/// What is not in the subset, by rule and statement.
pub fn read(json: &str, chain: Option<&str>) -> Result<Ruleset, Error> {
    let listing = listing::Listing::read(json)?;
    chain::translate(&listing, chain)
}

#[cfg(test)]
mod tests;
