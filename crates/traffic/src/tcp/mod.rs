//! Real TCP connections sent by XDP: many flows to one destination, whose stack is an ordinary one.
//!
//! The protocol is implemented by two programs of `bpf/tcp`: one builds segments from live frames,
//! one receives the replies on the interface before the stack of this host. User space only
//! configures, starts and reads them. Rule: addresses and ports of flows are computed from the
//! [`Config`], and only packets between these and the destination are processed.

pub mod abi;
mod config;
mod engine;
mod path;
pub mod plan;
mod read;
mod report;
mod run;
mod sender;
mod summary;

pub use config::{Algorithm, Config};
pub use path::Path;
pub use plan::Plan;
pub use report::{Ends, FlowReport, Report, Rtt, Snapshot};
pub use run::Run;
pub use summary::{Connection, Flows, Interval, Summary};
