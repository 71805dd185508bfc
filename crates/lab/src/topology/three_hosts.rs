//! Three hosts on one switch.
//!
//! ```text
//!   a eth0 ───── port-a ┐
//!   10.0.0.1/24         │
//!   b eth0 ───── port-b ┤ br0   switch
//!   10.0.0.2/24         │
//!   c eth0 ───── port-c ┘
//!   10.0.0.3/24                 fd00::1, fd00::2, fd00::3 /64
//! ```
//! The switch is a host of its own without addresses, so a program on its ports sees every frame
//! before the bridge does: redirect to one port, broadcast to several, or leave it to the bridge.
//! MACs: hosts `02:78:77:00:00:01` to `:03`, ports `02:78:77:00:01:01` to `:03`, bridge
//! `02:78:77:00:01:ff`.

use super::{Topology, addresses, mac, neighbour};
use crate::error::Result;
use crate::host::Host;
use crate::lab::Lab;
use crate::link::{self, End, LinkOptions};

/// Three hosts and a switch.
#[derive(Debug)]
pub struct ThreeHosts {
    /// The guard over the hosts.
    pub lab: Lab,
    /// The first host.
    pub a: Host,
    /// The second host.
    pub b: Host,
    /// The third host.
    pub c: Host,
    /// The host that connects the others.
    pub switch: Host,
}

impl ThreeHosts {
    /// Builds the topology.
    pub fn build(options: &LinkOptions) -> Result<Self> {
        let lab = Topology::ThreeHosts.build(options)?;
        let host = |name| lab.host(name).cloned();
        let (a, b, c, switch) = (host("a")?, host("b")?, host("c")?, host("switch")?);
        Ok(Self { lab, a, b, c, switch })
    }
}

pub(super) fn wire(lab: &mut Lab, options: &LinkOptions) -> Result<()> {
    let switch = lab.add_host("switch")?;
    for (number, name, port) in HOSTS {
        let host = lab.add_host(name)?;
        link::connect(
            End { host: &host, interface: "eth0", mac: mac(0, number) },
            End { host: &switch, interface: port, mac: mac(1, number) },
            options,
        )?;
        link::address(&host, "eth0", &addresses(0, number))?;
        for (other, _, _) in HOSTS.into_iter().filter(|(other, _, _)| *other != number) {
            link::neighbours(&host, "eth0", &neighbour(0, other))?;
        }
    }
    link::bridge(&switch, "br0", mac(1, 0xff), &HOSTS.map(|(_, _, port)| port))
}

const HOSTS: [(u8, &str, &str); 3] = [(1, "a", "port-a"), (2, "b", "port-b"), (3, "c", "port-c")];

pub(super) const DRAWING: &str = "\
a eth0 ───── port-a ┐
10.0.0.1/24         │
b eth0 ───── port-b ┤ br0   switch
10.0.0.2/24         │
c eth0 ───── port-c ┘
10.0.0.3/24                 fd00::1, fd00::2, fd00::3 /64
";
