//! Scans: which targets are probed, in which order, and how answers are recognized.
//!
//! A [`Plan`] numbers its targets: an [`Order`] maps the index of a probe to the number of a
//! target, and a [`Space`] maps that number to an address. So every index is a different target,
//! and a shard or an interrupted scan is a set of indexes. A [`Cookie`] in each probe
//! depends on its target and on a secret [`Key`], so answers need no state.
//!
//! Rule: all of this is arithmetic on numbers, the same in Rust and in the programs of `bpf/scan`.

#[allow(dead_code, reason = "generated, with items that only the program uses")]
mod abi;
pub mod answer;
mod cookie;
#[cfg(test)]
mod fixture;
mod key;
mod live;
mod order;
mod plan;
mod ports;
mod probe;
pub mod program;
mod report;
mod special;
mod target;

pub use crate::error::ScanError as Error;
pub use cookie::{Cookie, Cookies};
pub use key::Key;
pub use live::{Counts, ProbeFrame, Scan, ScanConfig};
pub use order::Order;
pub use plan::{Plan, Shard};
pub use ports::Ports;
pub use probe::Probe;
pub use report::{AnswerLine, PlanReport, ScanReport, TargetLine};
pub use special::{Reach, SPECIAL};
pub use target::{Block, Pattern, Space, Targets};
