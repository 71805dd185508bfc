//! A veth pair between two hosts, set up so that XDP works on it immediately.
//!
//! On veth a redirected frame is lost unless its peer polls (XDP or GRO on), and local sockets
//! leave checksums to the device by default. Hence the defaults. A frame sent back with `XDP_TX`
//! waits at the peer for the next frame unless the peer has a program, too: GRO is not enough.
//! Not here: which hosts are connected and how they are called (`topology`).

use std::net::IpAddr;
use std::os::fd::AsFd;

use packet::Mac;
use sys::net::{NewAddress, NewRoute, NewVeth, VethEnd};

use crate::error::Result;
use crate::expect::until;
use crate::host::Host;
use crate::limits::CARRIER;

/// What both ends of a link are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Number of receive queues, and of transmit queues, at each end.
    pub queues: u32,
    /// Native XDP without fragments needs at most 3506.
    pub mtu: u32,
    /// Off only to show what is lost without.
    pub gro: bool,
    /// On leaves local packets with partial checksums, which XDP programs then see.
    pub checksum_offload: bool,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { queues: 1, mtu: 1500, gro: true, checksum_offload: false }
    }
}

/// One end, as a topology describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    /// The host that has the interface.
    pub host: &'a Host,
    /// Name of the interface.
    pub interface: &'a str,
    /// Ethernet address of the interface.
    pub mac: Mac,
}

/// Makes the pair, sets it up and waits for the carrier.
pub(crate) fn connect(a: End<'_>, b: End<'_>, options: &LinkOptions) -> Result<()> {
    a.host.announce(a.interface)?;
    b.host.announce(b.interface)?;
    let ends = [
        VethEnd { name: a.interface, mac: Some(a.mac), netns: None },
        VethEnd { name: b.interface, mac: Some(b.mac), netns: Some(b.host.netns().as_fd()) },
    ];
    let veth = NewVeth { ends, queues: options.queues, mtu: options.mtu };
    a.host.netlink()?.create_veth(&veth)?;
    for end in [a, b] {
        set_up(end.host, end.interface)?;
        let ethtool = end.host.ethtool()?;
        ethtool.set_feature(end.interface, "tx-checksum", options.checksum_offload)?;
        // Only while it is up does veth announce to its peer that frames may be redirected into it
        // (drivers/net/veth.c, veth_set_features, at v6.18).
        ethtool.set_feature(end.interface, "gro", options.gro)?;
    }
    // The first end learns of its carrier a little later; what it sends before is lost.
    for end in [a, b] {
        let mut netlink = end.host.netlink()?;
        until(&format!("the carrier of {}", end.interface), CARRIER, || {
            Ok(netlink.link(end.interface)?.running.then_some(()))
        })?;
    }
    Ok(())
}

pub(crate) fn set_up(host: &Host, interface: &str) -> Result<()> {
    let mut netlink = host.netlink()?;
    let ifindex = netlink.link(interface)?.ifindex;
    Ok(netlink.set_up(ifindex, true)?)
}

/// Creates a bridge that forwards immediately: no spanning tree, no multicast snooping, no queries.
pub(crate) fn bridge(host: &Host, name: &str, mac: Mac, ports: &[&str]) -> Result<()> {
    host.announce(name)?;
    let mut netlink = host.netlink()?;
    let bridge = netlink.create_bridge(name)?;
    netlink.set_mac(bridge, mac)?;
    host.netns().set_attribute(name, "bridge/multicast_snooping", "0")?;
    for port in ports {
        let port = netlink.link(port)?.ifindex;
        netlink.set_master(port, Some(bridge))?;
    }
    Ok(netlink.set_up(bridge, true)?)
}

/// Adds addresses to an interface, usable immediately.
pub(crate) fn address(host: &Host, interface: &str, addresses: &[(IpAddr, u8)]) -> Result<()> {
    let mut netlink = host.netlink()?;
    let ifindex = netlink.link(interface)?.ifindex;
    for (ip, prefix) in addresses {
        netlink.add_address(ifindex, NewAddress { ip: *ip, prefix: *prefix })?;
    }
    // IPv6 takes packets for a new address only when a worker of the kernel has made its route.
    for (ip, _) in addresses {
        until(&format!("the local route of {ip}"), CARRIER, || {
            Ok(netlink.is_local(*ip)?.then_some(()))
        })?;
    }
    Ok(())
}

/// Adds static neighbor entries to a host, so that no address resolution is needed.
pub(crate) fn neighbours(host: &Host, interface: &str, known: &[(IpAddr, Mac)]) -> Result<()> {
    let mut netlink = host.netlink()?;
    let ifindex = netlink.link(interface)?.ifindex;
    for (ip, mac) in known {
        netlink.add_neighbour(ifindex, *ip, *mac)?;
    }
    Ok(())
}

pub(crate) fn route(host: &Host, interface: &str, to: (IpAddr, u8), via: IpAddr) -> Result<()> {
    let mut netlink = host.netlink()?;
    let ifindex = netlink.link(interface)?.ifindex;
    Ok(netlink.add_route(NewRoute::new(to.0, to.1, ifindex).via(via))?)
}
