//! `xway-lab`: test networks of hosts and links, made of network namespaces and veth pairs that are
//! removed when they are dropped.
//!
//! ```no_run
//! use lab::{LinkOptions, TwoHosts};
//!
//! let net = TwoHosts::build(&LinkOptions::default())?;
//! let listener = net.b.run(|| std::net::UdpSocket::bind("10.0.0.2:7"))?;
//! # Ok::<(), lab::Error>(())
//! ```
//!
//! Rule: everything is created in namespaces of this crate, and the calling thread never leaves its
//! own. A [`Lab`] removes all of it when dropped; the next run removes what a
//! killed one left. Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
#![forbid(unsafe_code)]

mod capture;
mod error;
mod expect;
pub mod frame;
mod frame_error;
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
pub use gc::{CollectedLabs, LabState, gc, list};
pub use host::{Host, Interface, Setting};
pub use lab::Lab;
pub use link::LinkOptions;
pub use report::{
    CreatedLab, HostReport, InterfaceReport, LabReport, Labs, RemovedLab, down, labs, up,
};
pub use stage::Stage;
pub use topology::{Router, Service, ThreeHosts, Topology, TwoHosts};
