//! The router between two networks, its routes, the flood through it and the sink after it.
//!
//! ```text
//!   a, sender            b, router               c, sink
//!   eth0 ─────────────── eth0 eth1 ─────────────── eth0
//!   10.0.1.2       10.0.1.1   10.0.2.1       10.0.2.2 and the other next hops
//! ```
//! Rule: all routes lead to the sink, through next hops whose addresses are known. A sink that
//! measures ends every frame in its driver, so that its cost for either router is minimal.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use functions::route::abi::Control;
use functions::route::{self, Config, Maps, Nat};
use functions::stats::{self, Stats};
use kernel::{Link, LoadOptions, Mode, Object};
use lab::{LinkOptions, Router};
use spec::{Expect, Map as _, Spec};
use sys::net::NewRoute;
use traffic::Template;
use traffic::stream::{Order, Pool, Quick, QuickProtocol, Sizes, Value, Vary};

use super::table::{Prefix, Table};
use crate::field::{FRAME, Flood, PORT, Place};
use crate::hook::limit;
use crate::path::port;

/// The lab that routes are measured in.
#[derive(Debug)]
pub struct Net {
    sender: Place,
    near: Place,
    far: Place,
    sink: Place,
    cpu: usize,
    forward: Vec<(Memory, Object)>,
    /// The hosts and links of the lab.
    pub lab: Router,
}

/// What the XDP program remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Routes, while a process follows the kernel's changes.
    Followed,
    /// Routes, until the next tick of the kernel's clock.
    Unfollowed,
    /// Nothing.
    Off,
}

/// The cost of adding a table to the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Inserted {
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
        for hop in HOPS {
            netlink.add_neighbour(far.ifindex()?, hop.into(), sink.mac()?)?;
        }
        let sender = Place::lab(lab.a.clone(), "eth0");
        let cpu = *sys::cpu::affinity()?.last().context("no processor may be used")?;
        let program = |memory| Ok((memory, program([&near, &far], memory)?));
        let forward = [Memory::Followed, Memory::Unfollowed, Memory::Off].map(program);
        let forward = forward.into_iter().collect::<Result<_>>()?;
        Ok(Self { sender, near, far, sink, cpu, forward, lab })
    }

    /// One route that all packets take.
    pub fn add_default(&self) -> Result<()> {
        self.add(&[(Ipv4Addr::UNSPECIFIED.into(), 0)]).map(drop)
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
        let network = |prefix: &Prefix| (prefix.address().into(), prefix.length);
        self.add(&table.prefixes().iter().map(network).collect::<Vec<_>>())
    }

    fn add(&self, networks: &[(IpAddr, u8)]) -> Result<Inserted> {
        let ifindex = self.far.ifindex()?;
        let route = |((to, length), hop): (&(IpAddr, u8), &Ipv4Addr)| {
            NewRoute::new(*to, *length, ifindex).via((*hop).into())
        };
        let routes: Vec<_> = networks.iter().zip(HOPS.iter().cycle()).map(route).collect();
        let mut netlink = self.far.netlink()?;
        let (start, before) = (Instant::now(), sys::proc::memory_of_kernel()?);
        netlink.add_routes(&routes)?;
        let (time, after) = (start.elapsed(), sys::proc::memory_of_kernel()?);
        Ok(Inserted { routes: routes.len(), time, memory: after.saturating_sub(before) })
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
        attach(&self.sink, &limit::object()?, limit::NAME)
    }

    /// The routing program with this memory.
    pub fn program(&self, memory: Memory) -> Result<&Object> {
        let found = self.forward.iter().find(|(known, _)| *known == memory);
        found.map(|(_, object)| object).context("no program has this memory")
    }

    /// Attaches a routing program, until the link is dropped. Without it Linux routes.
    pub fn attach(&self, program: &Object) -> Result<Link> {
        attach(&self.near, program, route::PROGRAM)
    }

    /// UDP frames of 60 bytes without a UDP checksum, to these destinations in turn. The list
    /// always has the same length, so that making the frames costs the same.
    pub fn stream(&self, destinations: &[Ipv4Addr]) -> Result<Template> {
        let address = |ip: &Ipv4Addr| ip.to_string().as_str().into();
        let list = destinations.iter().cycle().take(LISTED).map(address).collect();
        let vary = Vary { pool: Pool::List(list), step: 1, order: Order::Sequence };
        let quick = Quick {
            src_mac: Some(self.sender.mac()?.to_string().as_str().into()),
            dst_mac: Some(self.near.mac()?.to_string().as_str().into()),
            src: Some(self.sender.ipv4()?.to_string().as_str().into()),
            dst: Some(Value::Vary(vary)),
            dport: Some(u64::from(PORT).into()),
            size: Some(Sizes::Fixed(FRAME)),
            checksum: Some("none".into()),
            ..Quick::new(QuickProtocol::Udp)
        };
        Ok(quick.stream().template(0, MTU)?)
    }

    /// Sends at the highest rate, or at `rate` frames per second.
    pub fn flood(&self, stream: &Template, rate: Option<u64>, longest: Duration) -> Result<Flood> {
        Flood::streams(&self.sender, self.cpu, vec![stream.clone()], rate, longest)
    }

    /// Frames that arrived at the sink.
    pub fn arrived(&self) -> Result<u64> {
        Ok(self.sink.statistics()?.rx_packets)
    }
}

impl fmt::Display for Inserted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, each) =
            (self.time.as_secs_f64(), self.time.as_nanos() / self.routes.max(1) as u128);
        write!(
            f,
            "{} routes were given to the kernel in {seconds:.1} s ({each} ns each) and took about \
             {} MiB of its memory.",
            self.routes,
            self.memory >> 20
        )
    }
}

/// Packets that a routing program counted since the router was created.
pub fn statistics(program: &Object) -> Result<Stats> {
    let labels: Vec<_> =
        route::Reason::ALL.iter().map(|reason| reason.label().to_owned()).collect();
    Ok(Stats::read(program.map(stats::MAP)?, &labels)?)
}

fn attach(place: &Place, object: &Object, name: &str) -> Result<Link> {
    place.attach(object.program(name)?, Mode::Native)
}

/// `forward`, which translates nothing and routes between two interfaces.
fn program(places: [&Place; 2], memory: Memory) -> Result<Object> {
    let mut config = Config { nat: Nat::Off, ..Config::default() };
    if memory == Memory::Off {
        config.memory = 0;
    }
    let mut spec = Spec::parse("forward", route::OBJECT)?;
    config.apply(&mut spec)?;
    config.size_memory(&mut spec, sys::cpu::possible()?)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    let maps = Maps::find(|name| object.map(name))?;
    let ports = [port(places[0])?, port(places[1])?];
    places[1].run(|| route::update(&config, &ports, &maps).map(drop))??;
    if memory == Memory::Followed {
        // As a follower does for plain rules and routes; these do not change during a run.
        let control = Control { generation: 1, valid_until: u64::MAX, ..Control::default() };
        object.map(route::CONTROL)?.update(&[0; 4], &control.to_bytes(), Expect::Any)?;
    }
    Ok(object)
}

/// Next hops: the sink's address, and others that it also has.
const HOPS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(10, 0, 2, 2),
    Ipv4Addr::new(10, 0, 2, 3),
    Ipv4Addr::new(10, 0, 2, 4),
    Ipv4Addr::new(10, 0, 2, 5),
];
/// Length of a flood's list; the largest number of destinations that can be distinguished.
pub const LISTED: usize = 20_000;
/// MTU of the lab's links.
const MTU: usize = 1500;
/// Bytes of memory: for the machine, and for each route, which takes less than half of that.
const NEEDED: u64 = 256 << 20;
const NEEDED_FOR_ROUTE: u64 = 512;
