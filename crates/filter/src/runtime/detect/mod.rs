//! detect: what of an interface's traffic is too much, and rules that would stop it.
//!
//! ```text
//!  filter_seen ─▶ Packet ─▶ Sample: so many, each with a weight ─▶ heavy patterns ─▶ findings
//!                                     └─▶ Clients: who proved to be one ───────┘  rule, collateral
//! ```
//!
//! Memory is bounded by the sample's size, whatever comes, and everything is estimated from it,
//! with its error. Rule: nothing is suggested that takes a packet which a rule passes, or one from
//! an address that is not to be touched. Not here: how a program comes to show packets to user
//! space, and what is done with a suggestion.

mod clients;
mod heavy;
mod packet;
mod pattern;
mod sample;
mod suggest;

#[cfg(test)]
mod tests;

pub use clients::Evidence;
pub use heavy::{Busy, Heavy};
pub use packet::{Address, Outcome, Packet};
pub use pattern::{Pattern, Shape};
pub use sample::{Rate, Sample};
pub use suggest::{Detection, Finding, Settings, Threshold, detect};
