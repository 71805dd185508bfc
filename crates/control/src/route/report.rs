//! `RouteReport`: ports, next hops and the memory of the routers of this namespace.
//!
//! Rule: what is counted belongs to the programs, names and states to the kernel's tables at the
//! time of reading. Reading takes no lock and no more than access to the state directory.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use functions::route::{self, abi};
use functions::stats::Count;
use packet::Mac;
use serde::Serialize;
use sys::net::{Link, Neighbour, Netlink};
use sys::netns::NetNs;

use super::NAME;
use super::hops::{Hops, NextHop};
use crate::Control;
use crate::counters::{Counters, Counts};
use crate::error::Result;
use crate::state::{Generation, State};

/// What the routers of this network namespace do.
#[derive(Clone, Debug, Serialize)]
pub struct RouteReport {
    /// Interfaces of routers.
    pub ports: Vec<PortReport>,
    /// Next hops that frames were sent to, the busiest first.
    pub next_hops: Vec<NextHopReport>,
    /// Remembered routes.
    pub memory: MemoryReport,
}

/// An interface of a router.
#[derive(Clone, Debug, Serialize)]
pub struct PortReport {
    /// Name of the interface.
    pub name: String,
    /// VLAN ID of the port, of two the outer one; `null` for a port whose frames have no tag.
    pub vlan: Option<u16>,
    /// Frames that the router's program received from the interface, with any tags, whatever it
    /// decided; for a port with a VLAN, those with its tags, which the interface below counts, too.
    pub packets: u64,
    /// Bytes of these frames, from the Ethernet header on.
    pub bytes: u64,
    /// Frames of all ports that routers sent out of this one. A driver may still drop them:
    /// `xway why-drop`.
    pub sent_packets: u64,
    /// Bytes of these frames.
    pub sent_bytes: u64,
    /// The received frames by reason; `forwarded` left through any port. Empty for a port with a
    /// VLAN.
    pub reasons: BTreeMap<String, u64>,
}

/// A next hop that frames were sent to.
#[derive(Clone, Debug, Serialize)]
pub struct NextHopReport {
    /// IP address that has the MAC address now: of several the IPv4 address, and no link-local one.
    /// `null` if none has it. This and the next three keys are `null` for the sum of next hops that
    /// are not counted one by one.
    pub via: Option<IpAddr>,
    /// Name of the interface.
    pub dev: Option<String>,
    /// MAC address.
    pub mac: Option<Mac>,
    /// State of `via` in the kernel's table: `permanent`, `noarp`, `reachable`, `stale`, `delay`,
    /// `probe`, `incomplete`, `failed` or `none`; `null` without `via`.
    pub state: Option<&'static str>,
    /// Frames sent to it.
    pub packets: u64,
    /// Bytes of these frames, from the Ethernet header on.
    pub bytes: u64,
    /// Further IP addresses that have the MAC address, in order.
    pub also: Vec<IpAddr>,
}

/// The memory of routes, of all routers and processors.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct MemoryReport {
    /// Lookups that were answered from the memory.
    pub hits: u64,
    /// Lookups that went to the kernel, and whose results were remembered if they could be.
    pub misses: u64,
}

/// Reads the routers of this namespace.
///
/// # Errors
/// The state directory cannot be read.
pub fn show(control: &Control) -> Result<RouteReport> {
    let links = Netlink::open()?.links()?;
    let neighbours = Netlink::open()?.neighbours()?;
    let mut reading = Reading { links: &links, neighbours: &neighbours, ..Reading::default() };
    for (link, router) in routers(control)? {
        reading.port(&link, &router)?;
        reading.tables(&router)?;
    }
    Ok(reading.report())
}

/// Interfaces of this namespace that run a router, each with its generation.
pub(super) fn routers(control: &Control) -> Result<Vec<(Link, Generation)>> {
    let mut links = Netlink::open()?.links()?;
    links.retain(|link| !link.xdp.is_empty());
    let mut routers = Vec::new();
    if links.is_empty() {
        return Ok(routers);
    }
    let (state, netns) = (State::read(control)?, NetNs::current()?.id()?);
    for link in links {
        let slot = state.slot(netns, link.ifindex);
        for (_mode, program) in link.xdp.programs() {
            let generations = slot.generations_of(program)?.into_iter();
            let own = generations.filter(|one| one.name() == NAME);
            routers.extend(own.map(|router| (link.clone(), router)));
        }
    }
    Ok(routers)
}

/// Counts as they are collected.
#[derive(Default)]
struct Reading<'a> {
    links: &'a [Link],
    neighbours: &'a [Neighbour],
    /// Ids of the maps of routers that were read.
    tables: BTreeSet<u32>,
    ports: Vec<PortReport>,
    /// Names of ports by the interfaces that routes name.
    names: BTreeMap<u32, String>,
    /// By interface and address; `None` is the sum of those that have no number.
    sent: BTreeMap<Option<NextHop>, Count>,
    memory: MemoryReport,
}

impl Reading<'_> {
    fn port(&mut self, link: &Link, router: &Generation) -> Result<()> {
        let counters = Counters::kept(router)?;
        let counts = counters.map_or(Ok(Counts::default()), |counters| counters.read())?;
        let received = counts.total();
        let mut reasons = BTreeMap::new();
        for ((_, reason), count) in counts.reasons {
            *reasons.entry(reason).or_default() += count.packets;
        }
        let port = of_port(link.name.clone(), None, received);
        self.ports.push(PortReport { reasons, ..port });
        Ok(())
    }

    /// The maps that the programs of a router share, once. A router of an earlier version has none
    /// of next hops.
    fn tables(&mut self, router: &Generation) -> Result<()> {
        let Some(hops) = Hops::of(router)? else { return Ok(()) };
        if !self.tables.insert(hops.id()) {
            return Ok(());
        }
        let received = hops.received()?.into_iter().chain(std::iter::repeat(Count::default()));
        hops.ports()?.into_iter().zip(received).for_each(|(port, count)| self.name(port, count));
        for (hop, count) in hops.sent()? {
            *self.sent.entry(hop).or_default() += count;
        }
        let lookups = route::lookups(&router.map(route::PROCESSORS)?)?;
        self.memory.hits += lookups.hits;
        self.memory.misses += lookups.misses;
        Ok(())
    }

    /// The name of a port, which is a row of its own if it has tags.
    fn name(&mut self, port: abi::Port, received: Count) {
        let vlan = vlan_of(&port);
        let own = if vlan.is_some() { port.ifindex } else { port.device };
        let Some(link) = self.links.iter().find(|link| link.ifindex.0 == own) else { return };
        if vlan.is_some() {
            self.ports.push(of_port(link.name.clone(), vlan, received));
        }
        self.names.insert(port.ifindex, link.name.clone());
    }

    fn report(mut self) -> RouteReport {
        for (hop, count) in &self.sent {
            let Some((ifindex, _)) = hop else { continue };
            let name = self.names.get(&ifindex.0);
            if let Some(port) = self.ports.iter_mut().find(|port| Some(&port.name) == name) {
                port.sent_packets += count.packets;
                port.sent_bytes += count.bytes;
            }
        }
        let hops = self.sent.iter().map(|(hop, count)| self.next_hop(*hop, *count));
        let mut next_hops: Vec<_> = hops.collect();
        next_hops.sort_by_key(|hop| std::cmp::Reverse(hop.packets));
        RouteReport { next_hops, ports: self.ports, memory: self.memory }
    }

    fn next_hop(&self, hop: Option<NextHop>, count: Count) -> NextHopReport {
        let link = hop.and_then(|(ifindex, _)| self.links.iter().find(|l| l.ifindex == ifindex));
        let mut known: Vec<&Neighbour> = match hop {
            Some((ifindex, mac)) => {
                let has = |one: &&Neighbour| one.ifindex == ifindex && one.mac == Some(mac);
                self.neighbours.iter().filter(has).collect()
            }
            None => Vec::new(),
        };
        known.sort_by_key(|one| (is_link_local(one.ip), one.ip));
        let mut known = known.into_iter();
        let first = known.next();
        NextHopReport {
            via: first.map(|one| one.ip),
            dev: link.map(|link| link.name.clone()),
            mac: hop.map(|(_, mac)| mac),
            state: first.map(Neighbour::state_name),
            packets: count.packets,
            bytes: count.bytes,
            also: known.map(|one| one.ip).collect(),
        }
    }
}

/// A port that has received this, and sent nothing.
fn of_port(name: String, vlan: Option<u16>, received: Count) -> PortReport {
    PortReport {
        name,
        vlan,
        packets: received.packets,
        bytes: received.bytes,
        sent_packets: 0,
        sent_bytes: 0,
        reasons: BTreeMap::new(),
    }
}

/// The VLAN ID of a port's frames, of two tags the outer one.
pub(super) fn vlan_of(port: &abi::Port) -> Option<u16> {
    let [_, _, high, low] = port.outer;
    (port.outer != [0; 4]).then(|| u16::from_be_bytes([high, low]) & 0xfff)
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vlan_of_a_port_is_in_its_outer_tag() {
        for (outer, vlan) in
            [([0; 4], None), ([0x81, 0, 0, 5], Some(5)), ([0x88, 0xa8, 0xef, 0xff], Some(4095))]
        {
            let port = abi::Port { outer, ..abi::Port::default() };
            assert_eq!(vlan_of(&port), vlan, "{outer:02x?}");
        }
    }
}
