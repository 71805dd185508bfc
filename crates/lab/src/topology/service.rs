//! A server with one link, which its client and an attacker share.
//!
//! ```text
//!   client            attacker                     server
//!   eth0 ───────── cl0 ┐
//!   10.0.0.3/24        │ br0 ── up0 ═══════════════ eth0
//!   fd00::3/64         ┘ 10.0.0.2/24        10.0.0.1/24
//!                        fd00::2/64          fd00::1/64
//! ```
//! The attacker owns `up0`, the far end of the server's link, so that frames redirected into it
//! arrive at the server's `eth0` at full speed. The client's packets cross the attacker's bridge
//! into the same `up0`: no address translation, no routing, two hops of a few hundred
//! nanoseconds. With one queue both meet in it, as on a real cable. With more, frames redirected
//! from CPU n arrive in queue n modulo their number, and the client's packets in the first, since
//! its own link has one queue: so the two can be kept apart as receive-side scaling would.
//!
//! On veth the receiver's work is done by the sender's CPU. To let the server work on a CPU of its
//! own use `server.pin_napi("eth0", cpu)`.
//! MACs: server `02:78:77:00:00:01`, attacker's bridge `:02`, client `:03`, `up0`
//! `02:78:77:00:01:01`, `cl0` `02:78:77:00:01:03`.

use super::{Topology, addresses, mac, neighbour};
use crate::error::Result;
use crate::host::Host;
use crate::lab::Lab;
use crate::link::{self, End, LinkOptions};

/// A server, and a client and an attacker that share its link.
#[derive(Debug)]
pub struct Service {
    /// The guard over the hosts.
    pub lab: Lab,
    /// The host of the legitimate clients.
    pub client: Host,
    /// The host of the attacker.
    pub attacker: Host,
    /// The host of the service.
    pub server: Host,
}

impl Service {
    /// Builds the topology.
    pub fn build(options: &LinkOptions) -> Result<Self> {
        let lab = Topology::Service.build(options)?;
        let host = |name| lab.host(name).cloned();
        let (client, attacker, server) = (host("client")?, host("attacker")?, host("server")?);
        Ok(Self { lab, client, attacker, server })
    }
}

pub(super) fn wire(lab: &mut Lab, options: &LinkOptions) -> Result<()> {
    let server = lab.add_host("server")?;
    let attacker = lab.add_host("attacker")?;
    let client = lab.add_host("client")?;
    let one_queue = LinkOptions { queues: 1, ..*options };
    for (leaf, port, number, options) in
        [(&server, "up0", 1, options), (&client, "cl0", 3, &one_queue)]
    {
        link::connect(
            End { host: leaf, interface: "eth0", mac: mac(0, number) },
            End { host: &attacker, interface: port, mac: mac(1, number) },
            options,
        )?;
    }
    link::bridge(&attacker, "br0", mac(0, 2), &["up0", "cl0"])?;
    let places = [(&server, "eth0", 1), (&attacker, "br0", 2), (&client, "eth0", 3)];
    for (host, interface, own) in places {
        link::address(host, interface, &addresses(0, own))?;
        for (_, _, other) in places.into_iter().filter(|(_, _, other)| *other != own) {
            link::neighbours(host, interface, &neighbour(0, other))?;
        }
    }
    Ok(())
}

pub(super) const DRAWING: &str = "\
client          attacker                 server
eth0 ─────── cl0 ┐
10.0.0.3/24      │ br0 ─ up0 ═══════════ eth0
fd00::3/64       ┘ 10.0.0.2/24    10.0.0.1/24
                   fd00::2/64      fd00::1/64
";
