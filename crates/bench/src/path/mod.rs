//! Paths of a packet through the forwarder: each file has one, or two that differ in a parameter.
//!
//! Rule: a path that is set up is a guard; dropped, the forwarder is as it was. A path that cannot
//! be set up has the reason, in the kernel's words if there are any. The packets that arrived at
//! the far end are counted, and must be correct ([`Journey::judge`]). Not here: counting (`sink`).

mod af_xdp;
mod bridge;
mod forwarding;
mod journey;
mod limit;
mod nft;
mod nginx;
mod proxy;
mod route;
mod sink;
mod tc;
mod turn;
mod xdp;

pub use af_xdp::BUSY_POLL;
pub use bridge::BRIDGE;
pub use journey::Journey;
pub use route::ROUTE;
pub use sink::Sink;
pub use turn::{REDIRECT, one_port};
pub use xdp::port;

use anyhow::Result;

use crate::field::Line;

/// A forwarding path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Name of its rows.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// How the path changes packets.
    pub journey: Journey,
    /// Sets it up on the forwarder.
    pub set: fn(&Line) -> Result<Box<dyn ActivePath>>,
}

/// A path that is set up until this is dropped.
pub trait ActivePath {
    /// # Errors
    /// Why it cannot continue, if that was found after it was set up.
    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The paths that change the destination address, from user space down to the driver, then those
/// that keep addresses.
pub const ALL: &[Path] = &[
    proxy::PROXY,
    nginx::NGINX,
    nft::DNAT,
    tc::BPF,
    xdp::GENERIC,
    xdp::NATIVE,
    route::ROUTE,
    bridge::BRIDGE,
    af_xdp::AF_XDP,
    turn::REDIRECT,
    turn::TX,
    limit::LIMIT,
];
