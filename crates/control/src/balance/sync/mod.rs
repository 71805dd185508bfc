//! Synchronizes a balancer with those of other hosts, by UDP.
//!
//! Rule: a balancer works without it. What a peer sends is merged by one compare-and-swap for
//! each flow, and tables are changed under the lock of the state directory, so the process can end
//! at any point. `functions::balancer::sync` has the protocol and all decisions.

mod endpoint;
mod memory;
mod options;
mod pull;
mod runner;
mod store;
mod take_over;

pub use options::SyncOptions;
pub use runner::{PeerReport, SyncReport, Syncer};
pub(super) use take_over::{continue_flows, from_peers, prepare, start};
