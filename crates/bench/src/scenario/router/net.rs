//! The router between two networks, its routes, the flood through it and the sink after it.
//!
//! ```text
//!   a, sender            b, router               c, sink
//!   eth0 ─────────────── eth0 eth1 ─────────────── eth0
//!   10.0.1.2       10.0.1.1   10.0.2.1       10.0.2.2 and the other next hops
//! ```
//! and the same in IPv6. Rule: all routes lead to the sink, through next hops whose addresses are
//! known. A sink that measures ends every frame in its driver, so that its cost for either router
//! is minimal. Not here: what routes (`way`).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel::{Link, Mode, Program};
use lab::{LinkOptions, Router};
use sys::net::{NewRoute, NewVeth, VethEnd};
use traffic::Template;

use super::table::{Family, Table};
use crate::field::{Flood, Place};
use crate::hook::limit;

/// The lab that routes are measured in.
#[derive(Debug)]
pub struct Net {
    pub(super) sender: Place,
    pub(super) near: Place,
    pub(super) far: Place,
    pub(super) sink: Place,
    /// An interface that owns the network of a VLAN; the kernel may have no VLAN devices.
    pub(super) vlan: Place,
    pub(super) cpu: usize,
    /// The hosts and links of the lab.
    pub lab: Router,
}

/// The cost of adding a table to the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Inserted {
    /// Family of the routes.
    pub family: Family,
    /// Number of routes that were added.
    pub routes: usize,
    /// Time that the kernel took for them.
    pub time: Duration,
    /// Growth of the kernel's memory, for this or any other reason.
    pub memory: u64,
}

impl Net {
    /// A router without a route beyond its own networks.
    pub fn build() -> Result<Self> {
        let lab = Router::build(&LinkOptions::default())?;
        let (near, far) = (Place::lab(lab.b.clone(), "eth0"), Place::lab(lab.b.clone(), "eth1"));
        let sink = Place::lab(lab.c.clone(), "eth0");
        let mut netlink = far.netlink()?;
        for hop in Family::ALL.into_iter().flat_map(hops) {
            netlink.add_neighbour(far.ifindex()?, hop, sink.mac()?)?;
        }
        let sender = Place::lab(lab.a.clone(), "eth0");
        let vlan = own_vlan(&lab)?;
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        Ok(Self { sender, near, far, sink, vlan, cpu, lab })
    }

    /// One route of each family, which all packets take.
    pub fn add_default(&self) -> Result<()> {
        for family in Family::ALL {
            self.add(&[(family.address(0), 0)])?;
        }
        Ok(())
    }

    /// Routes that drop the packets to two networks of documentation and measurement.
    pub fn add_blackholes(&self) -> Result<()> {
        let mut netlink = self.far.netlink()?;
        for (network, length) in DARK {
            netlink.add_blackhole(network, length)?;
        }
        Ok(())
    }

    /// One route of each family with four next hops, between which flows are divided by their
    /// addresses.
    pub fn add_multipath(&self) -> Result<()> {
        let (mut netlink, ifindex) = (self.far.netlink()?, self.far.ifindex()?);
        for family in Family::ALL {
            netlink.add_multipath(NewRoute::new(family.address(0), 0, ifindex), &hops(family))?;
        }
        Ok(())
    }

    /// All routes of the table.
    ///
    /// # Errors
    /// The machine has too little memory for it, or the kernel refuses a route.
    pub fn add_table(&self, table: &Table) -> Result<Inserted> {
        let needed = NEEDED + table.prefixes().len() as u64 * NEEDED_FOR_ROUTE;
        let available = sys::proc::memory_available()?;
        ensure!(
            available >= needed,
            "{} routes may take {} MiB of memory, of which {} are available",
            table.prefixes().len(),
            needed >> 20,
            available >> 20,
        );
        let networks = table.prefixes().iter().map(|prefix| prefix.in_family(table.family()));
        let networks: Vec<_> = networks.collect();
        let (start, before) = (Instant::now(), sys::proc::memory_of_kernel()?);
        self.add(&networks)?;
        let (time, after) = (start.elapsed(), sys::proc::memory_of_kernel()?);
        Ok(Inserted {
            family: table.family(),
            routes: networks.len(),
            time,
            memory: after.saturating_sub(before),
        })
    }

    fn add(&self, networks: &[(IpAddr, u8)]) -> Result<()> {
        let ifindex = self.far.ifindex()?;
        let family =
            if networks.iter().any(|(to, _)| to.is_ipv6()) { Family::V6 } else { Family::V4 };
        let hops = hops(family);
        let route = |((to, length), hop): (&(IpAddr, u8), &IpAddr)| {
            NewRoute::new(*to, *length, ifindex).via(*hop)
        };
        let routes: Vec<_> = networks.iter().zip(hops.iter().cycle()).map(route).collect();
        Ok(self.far.netlink()?.add_routes(&routes)?)
    }

    /// Removes the routes, which the end of the namespace would do without a measurement; returns
    /// the time.
    pub fn remove_routes(&self) -> Result<Duration> {
        let (mut netlink, ifindex) = (self.far.netlink()?, self.far.ifindex()?);
        let start = Instant::now();
        // Routes go with the last interface that they lead through.
        netlink.set_up(ifindex, false)?;
        Ok(start.elapsed())
    }

    /// Makes the sink drop every frame in its driver, until the link is dropped.
    pub fn end_frames(&self) -> Result<Link> {
        self.sink.attach(limit::object()?.program(limit::NAME)?, Mode::Native)
    }

    /// Attaches a routing program, until the link is dropped. Without it Linux routes.
    pub fn attach(&self, program: &Program) -> Result<Link> {
        self.near.attach(program, Mode::Native)
    }

    /// The sender's address.
    pub(super) fn source(&self, is_ipv6: bool) -> Result<IpAddr> {
        Ok(if is_ipv6 { SENDER6.into() } else { self.sender.ipv4()?.into() })
    }

    /// Sends the streams in turn, at the highest rate or at `rate` frames per second.
    pub fn flood(
        &self,
        streams: &[Template],
        rate: Option<u64>,
        longest: Duration,
    ) -> Result<Flood> {
        Flood::streams(&self.sender, self.cpu, streams.to_vec(), rate, longest)
    }

    /// Frames that arrived at the sink.
    pub fn arrived(&self) -> Result<u64> {
        Ok(self.sink.statistics()?.rx_packets)
    }

    /// Packets that Linux itself routed, of both families.
    ///
    /// # Errors
    /// The kernel's counters cannot be read.
    pub fn routed_by_linux(&self) -> Result<u64> {
        self.near.forwarded_by_linux()
    }
}

impl fmt::Display for Inserted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, each) =
            (self.time.as_secs_f64(), self.time.as_nanos() / self.routes.max(1) as u128);
        write!(
            f,
            "{} {} routes were given to the kernel in {seconds:.1} s ({each} ns each) and took \
             about {} MiB of its memory.",
            self.routes,
            self.family.name(),
            self.memory >> 20
        )
    }
}

/// Creates the interface on the router. No packet passes through it.
fn own_vlan(lab: &Router) -> Result<Place> {
    let ends = [VLAN, "vlan-peer"].map(|name| VethEnd { name, mac: None, netns: None });
    let mut netlink = lab.b.netlink()?;
    netlink.create_veth(&NewVeth { ends, queues: 1, mtu: 1500 })?;
    Ok(Place::lab(lab.b.clone(), VLAN))
}

/// Next hops: the sink's address, and others that it also has.
fn hops(family: Family) -> [IpAddr; 4] {
    match family {
        Family::V4 => [2, 3, 4, 5].map(|last| Ipv4Addr::new(10, 0, 2, last).into()),
        Family::V6 => [2, 3, 4, 5].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 2, 0, 0, 0, last).into()),
    }
}

const VLAN: &str = "vlan";
/// Networks whose packets [`Net::add_blackholes`] drops: RFC 2544 and RFC 3849.
const DARK: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 0)), 15),
    (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0)), 32),
];
const SENDER6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 2);
/// Length of a flood's list; the largest number of destinations that can be distinguished.
pub const LISTED: usize = 20_000;
/// Bytes of memory: for the machine, and for each route, which takes less than half of that.
const NEEDED: u64 = 256 << 20;
const NEEDED_FOR_ROUTE: u64 = 1024;
