//! Detection of floods in the traffic of an interface, and rules that would stop them.
//!
//! ```text
//!  filter_seen ─▶ Packet ─▶ Sample: packets with weights ─▶ heavy patterns ─▶ findings:
//!                              └─▶ Clients: active sources ───────┘            rule, collateral
//! ```
//!
//! Memory is limited by the size of the sample, from which everything is estimated, with its error.
//! Rule: a suggested rule does not drop packets that a rule passes, or packets from allowed
//! addresses. Not here: sampling packets (`tap`), and applying a suggestion.

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
