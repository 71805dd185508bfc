//! The host that balances, and its way to the backends.
//!
//! Rule: packets leave by the interface that they came in by, to a gateway whose address is known.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result};
use lab::{LinkOptions, Router};
use packet::Mac;
use sys::net::NewRoute;

use super::case::{CLIENTS, NETWORKS};
use crate::field::Place;

/// The middle host of the `router` topology.
#[derive(Debug)]
pub struct Site {
    pub near: Place,
    /// The gateway's interface.
    pub sender: Place,
    /// MAC addresses of the gateway, which is also where packets come from, and of the balancer.
    pub macs: [Mac; 2],
    pub cpu: usize,
    _lab: Router,
}

impl Site {
    pub fn build() -> Result<Self> {
        let lab = Router::build(&LinkOptions::default())?;
        let near = Place::lab(lab.b.clone(), "eth0");
        let sender = Place::lab(lab.a.clone(), "eth0");
        let gateway = sender.mac()?;
        // Linux would inform the gateway that packets leave by the interface they came in by.
        for setting in REDIRECTS {
            lab.b.set_sysctl(setting, "0")?;
        }
        let (mut netlink, ifindex) = (near.netlink()?, near.ifindex()?);
        for ((network, length), via) in NETWORKS.into_iter().zip(GATEWAYS) {
            netlink.add_neighbour(ifindex, via, gateway)?;
            netlink.add_routes(&[NewRoute::new(network, length, ifindex).via(via)])?;
        }
        let (network, length) = CLIENTS;
        netlink.add_routes(&[NewRoute::new(network, length, ifindex).via(GATEWAYS[0])])?;
        let macs = [gateway, near.mac()?];
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        Ok(Self { near, sender, macs, cpu, _lab: lab })
    }
}

const REDIRECTS: [&str; 2] = ["ipv4/conf/all/send_redirects", "ipv4/conf/eth0/send_redirects"];
const GATEWAYS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 2)),
];
