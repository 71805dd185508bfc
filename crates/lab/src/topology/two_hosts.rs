//! Two hosts on one cable.
//!
//! ```text
//!   a                                  b
//!   eth0 ────────────────────────── eth0
//!   10.0.0.1/24            10.0.0.2/24
//!   fd00::1/64              fd00::2/64
//!   02:78:77:00:00:01       02:78:77:00:00:02
//! ```

use super::{Topology, addresses, mac, neighbour};
use crate::error::Result;
use crate::host::Host;
use crate::lab::Lab;
use crate::link::{self, End, LinkOptions};

/// Two hosts with one link.
#[derive(Debug)]
pub struct TwoHosts {
    /// The guard over the hosts.
    pub lab: Lab,
    /// The first host.
    pub a: Host,
    /// The second host.
    pub b: Host,
}

impl TwoHosts {
    /// Builds the topology.
    pub fn build(options: &LinkOptions) -> Result<Self> {
        let lab = Topology::TwoHosts.build(options)?;
        let (a, b) = (lab.host("a")?.clone(), lab.host("b")?.clone());
        Ok(Self { lab, a, b })
    }
}

pub(super) fn wire(lab: &mut Lab, options: &LinkOptions) -> Result<()> {
    let (a, b) = (lab.add_host("a")?, lab.add_host("b")?);
    let end = |host, number| End { host, interface: "eth0", mac: mac(0, number) };
    link::connect(end(&a, 1), end(&b, 2), options)?;
    for (host, own, other) in [(&a, 1, 2), (&b, 2, 1)] {
        link::address(host, "eth0", &addresses(0, own))?;
        link::neighbours(host, "eth0", &neighbour(0, other))?;
    }
    Ok(())
}

pub(super) const DRAWING: &str = "\
a eth0 ──────────── eth0 b
10.0.0.1/24    10.0.0.2/24
fd00::1/64      fd00::2/64
";
