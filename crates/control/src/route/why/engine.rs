//! A router in the user-space engine, where the kernel does not run a copy of the program.
//!
//! Rule: routes are the kernel's. The engine has all interfaces, routes, rules and neighbors of the
//! namespace, and for each packet the next hop that the kernel itself returns: so rules by ports
//! and the choice among several next hops are the kernel's, too.

use functions::route::{self, Config, Maps, Port, abi};
use functions::stats::{self, Stats};
use packet::AddressPrefix;
use spec::{Input, Map as _, Runtime as _, Spec};
use sys::errno::{EACCES, EHOSTUNREACH, EINVAL};
use sys::net::{Ifindex, Link, Netlink, RouteDecision};
use vm::world::{Route, RouteKind, Rule, RuleFamily, TableId};
use vm::{VmRuntime, World};

use super::{Ran, set_apart, steps};
use crate::Control;
use crate::composition::link;
use crate::error::{FunctionError, Result};
use crate::record::Record;
use crate::route::report::routers;
use crate::route::{NAME, extensions, ports};

/// A program, and what it is run in.
#[derive(Debug)]
pub(super) struct EngineRouter {
    spec: Spec,
    labels: Vec<String>,
    config: Config,
    ports: Vec<Port>,
    /// What ICMP errors state about the interfaces.
    interfaces: Vec<route::Interface>,
    world: World,
}

impl EngineRouter {
    /// The router that runs on an interface; if there is none, or it cannot be read, one without
    /// options on the interfaces that have programs, or on all.
    pub fn new(control: &Control, interface: &Link, links: &[Link]) -> Result<Self> {
        let running = routers(control).unwrap_or_default();
        let own = running.iter().find(|(link, _)| link.ifindex == interface.ifindex);
        let (mut spec, config) = match own {
            Some((_, router)) => {
                let record = Record::read(router)?.unwrap_or_default();
                let table = record.program.forward.as_ref();
                let config = table.map(|table| table.config()).unwrap_or_default();
                (link::router(router, &record)?, config)
            }
            None => {
                let config = Config::default();
                let mut spec = Spec::parse(NAME, config.object())?;
                config.apply(&mut spec)?;
                (spec, config)
            }
        };
        set_apart(&mut spec)?;
        let labels = spec.btf.as_ref().and_then(stats::labels).unwrap_or_default();
        let devices = match own {
            Some(_) => running.iter().map(|(link, _)| link.ifindex).collect(),
            None => devices(links),
        };
        let addresses = Netlink::open()?.addresses()?;
        Ok(Self {
            spec,
            labels,
            config,
            ports: ports::find(&devices, links),
            interfaces: links.iter().map(|one| extensions::interface(one, &addresses)).collect(),
            world: crate::host::snapshot()?.world,
        })
    }

    /// Runs a packet that arrives at an interface.
    pub fn run(&self, frame: &[u8], link: &Link) -> Result<Ran> {
        let ran = self.run_in(self.world.clone(), frame, link)?;
        // The route is that of the packet as it is translated.
        let sent = if ran.answers() { frame } else { &ran.packet };
        let Some(query) = steps::query(sent, link, 0) else { return Ok(ran) };
        let (kind, hop) = match Netlink::open()?.decide(&query) {
            Ok(RouteDecision { route, hop: Some(hop) }) if route.kind == steps::RTN_UNICAST => {
                (RouteKind::Unicast, Some((route, hop)))
            }
            Ok(_) => return Ok(ran),
            Err(error) => match error.errno {
                EHOSTUNREACH => (RouteKind::Unreachable, None),
                EACCES => (RouteKind::Prohibit, None),
                EINVAL => (RouteKind::Blackhole, None),
                _ => return Ok(ran),
            },
        };
        let bits = if query.to.is_ipv4() { 32 } else { 128 };
        let Some(to) = AddressPrefix::new(query.to, bits) else { return Ok(ran) };
        let mut own = Route::new(to).kind(kind).table(OWN_TABLE);
        if let Some((route, hop)) = hop {
            own.mtu = route.locked_mtu;
            own.via = hop.via;
            own.dev = self.name_of(hop.ifindex);
        }
        let mut world = self.world.clone();
        world.routes.push(own);
        let family = if query.to.is_ipv4() { RuleFamily::Ipv4 } else { RuleFamily::Ipv6 };
        world.rules.push(Rule { family, to: Some(to), ..Rule::new(0, OWN_TABLE) });
        self.run_in(world, frame, link)
    }

    fn name_of(&self, ifindex: Ifindex) -> Option<String> {
        let mut interfaces = self.world.interfaces.iter();
        interfaces.find(|one| one.index == ifindex.0).map(|one| one.name.clone())
    }

    fn run_in(&self, world: World, frame: &[u8], link: &Link) -> Result<Ran> {
        let programs = Some(vec![route::PROGRAM.to_owned()]);
        let mut engine = VmRuntime::new(vm::Options { world, programs, ..vm::Options::default() });
        engine.load(&self.spec).map_err(failed)?;
        let map = |name: &str| engine.map(name).ok_or_else(|| failed(format!("no map `{name}`")));
        route::update(&self.config, &self.ports, &Maps::find(map)?).map_err(failed)?;
        route::update_extensions(&self.interfaces, map(route::PORTS)?, map(route::EXTENSIONS)?)
            .map_err(failed)?;
        let (packet, ingress_ifindex) = (frame.to_vec(), link.ifindex.0);
        let input = Input { packet, ingress_ifindex, ..Input::default() };
        let outcome = engine.run(route::PROGRAM, &input).map_err(failed)?;
        let map = |name: &str| engine.map(name).ok_or_else(|| failed(format!("no map `{name}`")));
        let counts = Stats::read(map(stats::MAP)?, &self.labels).map_err(failed)?;
        let sent = route::sent(map(route::HOPS)?, map(route::HOP_COUNTS)?).map_err(failed)?;
        let number = sent.first().and_then(|sent| sent.hop).map(|(port, ..)| port);
        let port = match number {
            Some(number) => map(route::PORTS)?.lookup(&number.to_ne_bytes()).map_err(failed)?,
            None => None,
        };
        Ok(Ran {
            verdict: outcome.verdict,
            packet: outcome.packet,
            reason: counts.rows.first().map(|row| row.reason.clone()).unwrap_or_default(),
            port: port.as_deref().and_then(|bytes| bytes.first_chunk()).map(abi::Port::from_bytes),
        })
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> FunctionError {
    FunctionError::Engine(error.into())
}

/// Where a router without a record would run.
fn devices(links: &[Link]) -> Vec<Ifindex> {
    let programs = links.iter().filter(|link| !link.xdp.is_empty());
    let with_programs: Vec<_> = programs.map(|link| link.ifindex).collect();
    if !with_programs.is_empty() {
        return with_programs;
    }
    links.iter().filter(|link| link.up && link.vlan.is_none()).map(|one| one.ifindex).collect()
}

/// A table that no route of a host is in.
const OWN_TABLE: TableId = TableId(u32::MAX - 1);
