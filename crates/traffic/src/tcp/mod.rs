//! Real TCP connections, sent by XDP: many flows to one destination, the other end a stack of its
//! own.
//!
//! Both halves of the protocol are programs of `bpf/tcp`: one makes segments of live frames, one
//! takes what comes back off the interface before this host's stack sees it. User space only
//! configures, starts and reads. Rule: flows take addresses and ports by arithmetic from the
//! [`Config`], and only packets between these and the destination are touched.

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
