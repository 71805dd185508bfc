//! The filter: rules, their sources, limits, trials and changes.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod actions;
mod check;
mod cli;
mod clock;
mod code;
mod contention;
mod detect;
mod expr;
mod faults;
mod flood;
mod import;
mod kills;
mod limits;
mod liveness;
mod memory;
mod moves;
mod nft;
mod nft_anomalies;
mod nft_limits;
mod reload;
mod rings;
mod rules;
mod see;
mod sets;
mod sources;
mod syn;
mod top;
mod trial;
mod verifier;

// What the tests of the crate `filter` share.
#[path = "../../../crates/filter/tests/filter_arm/mod.rs"]
mod filter_arm;
#[path = "../../../crates/filter/tests/filter_reader/mod.rs"]
mod filter_reader;
#[path = "../../../crates/filter/tests/filter_wrap/mod.rs"]
mod filter_wrap;
#[path = "../../../crates/filter/tests/nasty/mod.rs"]
mod nasty;
