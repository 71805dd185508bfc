//! Hosts and links to experiment on: network namespaces and veth pairs as guards.
//!
//! ```no_run
//! use lab::{LinkOptions, TwoHosts};
//!
//! let net = TwoHosts::build(&LinkOptions::default())?;
//! let listener = net.b.run(|| std::net::UdpSocket::bind("10.0.0.2:7"))?;
//! # Ok::<(), lab::Error>(())
//! ```
//!
//! Rule: everything is made inside namespaces that this crate made, and the calling thread never
//! leaves its own. A [`Lab`] removes all of it when dropped; what a killed run left is removed by
//! the next one.
#![forbid(unsafe_code)]

mod capture;
mod error;
mod expect;
pub mod frame;
mod gc;
mod host;
mod lab;
mod limits;
mod link;
mod pollers;
mod record;
mod report;
pub mod stage;
mod topology;
pub mod transactions;

pub use capture::Capture;
pub use error::{Error, Result};
pub use expect::until;
pub use gc::{LabState, gc, list};
pub use host::{Host, Interface, Setting};
pub use lab::Lab;
pub use link::LinkOptions;
pub use report::{HostReport, InterfaceReport, LabReport, Labs, labs};
pub use stage::Stage;
pub use topology::{Router, Service, ThreeHosts, Topology, TwoHosts};
