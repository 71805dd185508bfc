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
mod status;
mod store;
mod syncers;
mod take_over;

use functions::balancer::Sync;

use super::Running;
use crate::Control;
use crate::error::{FunctionError, Result};
use crate::record::Record;
use crate::target::Target;

pub(super) use memory::FlowMemory;
pub use options::SyncOptions;
pub use runner::Syncer;
pub use status::{PeerReport, SyncReport, SyncStatus};
pub(crate) use syncers::Syncers;
pub(super) use take_over::{continue_flows, from_peers, prepare, start};

/// With whom the balancer of an interface synchronizes, by the file that was loaded.
///
/// # Errors
/// No balancer runs on the interface, or its file names no peers.
pub fn options(control: &Control, interface: &str) -> Result<SyncOptions> {
    let target = Target::open(control, interface)?;
    let missing = || FunctionError::NoSync { interface: interface.to_owned() };
    SyncOptions::of(&declared(&super::running(&target)?)?.ok_or_else(missing)?)
}

/// What the file of a balancer states.
fn declared(running: &Running) -> Result<Option<Sync>> {
    let record = Record::read(&running.generation)?;
    Ok(record.and_then(|record| record.balance).and_then(|config| config.sync))
}
