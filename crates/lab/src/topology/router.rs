//! Two networks and a router between them.
//!
//! ```text
//!   a                        b                        c
//!   eth0 ─────────────── eth0 eth1 ─────────────── eth0
//!   10.0.1.2/24    10.0.1.1/24 10.0.2.1/24  10.0.2.2/24
//!   fd00:0:0:1::2         ::1  fd00:0:0:2::1        ::2
//! ```
//! `b` forwards IPv4 and IPv6; `a` and `c` have a route to each other's network through it.
//! Link 1 is between `a` and `b`, link 2 between `b` and `c`; MAC `02:78:77:00:LINK:END` with the
//! last byte of the address as END.

use super::{Topology, addresses, mac, neighbour, v4, v6};
use crate::error::Result;
use crate::host::Host;
use crate::lab::Lab;
use crate::link::{self, End, LinkOptions};

/// Two hosts and a router between them.
#[derive(Debug)]
pub struct Router {
    /// The guard over the hosts.
    pub lab: Lab,
    /// The first host.
    pub a: Host,
    /// The router.
    pub b: Host,
    /// The second host.
    pub c: Host,
}

impl Router {
    /// Builds the topology.
    pub fn build(options: &LinkOptions) -> Result<Self> {
        let lab = Topology::Router.build(options)?;
        let host = |name| lab.host(name).cloned();
        let (a, b, c) = (host("a")?, host("b")?, host("c")?);
        Ok(Self { lab, a, b, c })
    }
}

pub(super) fn wire(lab: &mut Lab, options: &LinkOptions) -> Result<()> {
    let (a, b, c) = (lab.add_host("a")?, lab.add_host("b")?, lab.add_host("c")?);
    b.set_sysctl("ipv4/ip_forward", "1")?;
    b.set_sysctl("ipv6/conf/all/forwarding", "1")?;
    for (leaf, port, number) in [(&a, "eth0", 1), (&c, "eth1", 2)] {
        let far = if number == 1 { 2 } else { 1 };
        link::connect(
            End { host: leaf, interface: "eth0", mac: mac(number, 2) },
            End { host: &b, interface: port, mac: mac(number, 1) },
            options,
        )?;
        link::address(leaf, "eth0", &addresses(number, 2))?;
        link::address(&b, port, &addresses(number, 1))?;
        link::neighbours(leaf, "eth0", &neighbour(number, 1))?;
        link::neighbours(&b, port, &neighbour(number, 2))?;
        link::route(leaf, "eth0", (v4(far, 0), 24), v4(number, 1))?;
        link::route(leaf, "eth0", (v6(far, 0), 64), v6(number, 1))?;
    }
    Ok(())
}

pub(super) const DRAWING: &str = "\
a eth0 ───────── eth0 b eth1 ───────── eth0 c
10.0.1.2/24    10.0.1.1 10.0.2.1    10.0.2.2/24
fd00:0:0:1::2       ::1 fd00:0:0:2::1       ::2
";
