//! The built-in router: attaching it to all requested interfaces or to none, and detaching it.
//!
//! Rule: the kernel's pins, chain members, records and declarations call it `forward`, as earlier
//! versions do, so that a running router is found, continued and replaced whatever attached it.

mod conntrack;
mod constants;
mod extensions;
mod firewall;
pub(crate) mod hops;
pub(crate) mod host;
pub(crate) mod neighbours;
mod ports;
mod report;
mod stop;
mod top;
mod unfollowed;
mod why;

use functions::route::{self, Config, Maps, Nat, Port};
use functions::stats;
use kernel::Map;
use spec::{Runtime as _, Spec};
use sys::net::{Link, Netlink};
use sys::netns::NetNs;

use crate::composition::link::ChainLink;
use crate::composition::{self, Chain, LoadedChain};
use crate::counters::missing_labels;
use crate::error::{FunctionError, Result};
use crate::notice::Notice;
use crate::record::Record;
use crate::state::{Generation, Scope, Slot, Transaction, Writer};
use crate::tags::Tagging;
use crate::target::{Loaded, Target, by_frame_size};
use crate::{Configured, Control, Placement, chain, lockout};

use host::HostFacts;
pub(crate) use ports::{LivePorts, find as ports_of};
pub use report::{MemoryReport, NextHopReport, PortReport, RouteReport, show};
pub use stop::{Stopped, stop};
pub use top::{NetworkRate, RouteTop, TopMonitor};
pub use why::{RouteExplanation, RouteTracer, TraceOptions, ingress_of};

/// What to route, and how the program is attached.
#[derive(Clone, Debug, Default)]
pub struct RouteOptions {
    pub config: Config,
    /// Attach even if VLAN tags cannot be seen; tagged frames are then routed as untagged ones.
    pub ignore_stripped_tags: bool,
    pub placement: Placement,
}

/// Routes between interfaces of this namespace. If the router runs on exactly these interfaces,
/// only its maps are changed.
///
/// # Errors
/// It runs on further interfaces too, or the kernel refuses the change; then nothing has changed.
pub fn configure(
    control: &Control,
    interfaces: &[String],
    options: &RouteOptions,
) -> Result<Configured> {
    let writer = Writer::open(control)?;
    let scope = if interfaces.len() > 1 { Scope::Several } else { Scope::One };
    let mut targets: Vec<Target> =
        interfaces.iter().map(|name| Target::with(&writer, name)).collect::<Result<_>>()?;
    targets.iter_mut().for_each(|target| target.scope = scope);
    let config = &options.config;
    firewall::check(config)?;
    let unfollowed = unfollowed::unfollowed()?;
    let all: Vec<&Target> = targets.iter().collect();
    check_lockout(control, &all, options)?;
    let record = record(options, &all);
    let running = running(&writer, &targets, options)?;
    match &running {
        Some(generation) => {
            targets.iter().try_for_each(Target::require_confirmed)?;
            update(generation, config, &all)?;
            for target in &targets {
                let program = target.running(options.placement.mode)?;
                let own = program.map_or(Ok(None), |id| router(&target.slot, id))?;
                own.map_or(Ok(()), |(own, _)| record.replace(&own))?;
            }
        }
        None => attach(&all, options, &record)?,
    }
    for sentence in unfollowed {
        control.notify(&Notice::NotFollowed(sentence));
    }
    Ok(Configured {
        function: NAME,
        interfaces: targets.into_iter().map(|target| target.interface).collect(),
        mode: options.placement.mode.name(),
        updated: running.is_some(),
        rules: config.translations.iter().map(ToString::to_string).collect(),
    })
}

fn record(options: &RouteOptions, targets: &[&Target]) -> Record {
    let interfaces: Vec<_> = targets.iter().map(|target| target.interface.clone()).collect();
    let RouteOptions { config, ignore_stripped_tags, placement } = options;
    Record::of_forward(config, &interfaces, *ignore_stripped_tags, placement)
}

/// A generation of the router, if all interfaces run it with the same tables: changing these tables
/// changes all of them.
///
/// # Errors
/// It runs on other interfaces too, which would lose their output; or it was loaded for the other
/// treatment of packets without a translation.
fn running(
    writer: &Writer,
    targets: &[Target],
    options: &RouteOptions,
) -> Result<Option<Generation>> {
    let placement = &options.placement;
    let renews = placement.replace || placement.renews();
    if renews || !placement.set.is_empty() || placement.confirm.is_some() {
        return Ok(None);
    }
    let mode = placement.mode;
    let mut first = None;
    for target in targets {
        let program = target.running(mode)?;
        let live = program.map_or(Ok(None), |id| router(&target.slot, id))?;
        let Some(live) = live else { return Ok(None) };
        if first.get_or_insert((live.1, target, live.0)).0 != live.1 {
            return Ok(None);
        }
    }
    let Some((tables, target, generation)) = first else { return Ok(None) };
    let together = interfaces_of(writer, tables)?;
    let named = |name: &String| targets.iter().any(|target| target.interface == *name);
    if let Some(omitted) = together.iter().find(|name| !named(name)).cloned() {
        return Err(FunctionError::InterfaceOmitted { interfaces: together, omitted }.into());
    }
    if !has_memory(&generation, &options.config)? {
        let interface = target.interface.clone();
        return Err(FunctionError::MemorySize { interface }.into());
    }
    if generation.map_if_kept(route::TIMEOUTS)?.is_some() != options.config.conntrack {
        let (interface, conntrack) = (target.interface.clone(), !options.config.conntrack);
        return Err(FunctionError::Conntrack { interface, conntrack }.into());
    }
    if let Some(option) = constants::differing(&generation, &options.config)? {
        let interface = target.interface.clone();
        return Err(FunctionError::RouterOptions { interface, option }.into());
    }
    if !has_nat_mode(&generation, &options.config)? {
        let nat_only = options.config.nat != Nat::Required;
        let interface = target.interface.clone();
        return Err(FunctionError::NatMode { interface, nat_only }.into());
    }
    Ok(Some(generation))
}

/// The generation of a program if it is a router, and the id of its table of interfaces, which
/// programs that route between each other share.
pub(crate) fn router(slot: &Slot, program: u32) -> Result<Option<(Generation, u32)>> {
    let mut generations = slot.generations_of(program)?.into_iter();
    let Some(generation) = generations.find(|one| one.name() == NAME) else { return Ok(None) };
    if generation.map_if_kept(route::NEWEST)?.is_none() {
        // Of a version whose program had other maps: it can only be replaced.
        return Ok(None);
    }
    let tables = generation.map(route::TX)?.info().id;
    Ok(Some((generation, tables)))
}

/// Names of all interfaces of this namespace that run a router with these tables.
fn interfaces_of(writer: &Writer, tables: u32) -> Result<Vec<String>> {
    let netns = NetNs::current()?.id()?;
    let runs = |link: &Link| -> Result<bool> {
        let slot = writer.slot(netns, link.ifindex);
        let routers = link.xdp.programs().map(|(_mode, id)| router(&slot, id));
        let routers = routers.collect::<Result<Vec<_>>>()?;
        Ok(routers.into_iter().flatten().any(|(_, other)| other == tables))
    };
    let mut names = Vec::new();
    for link in Netlink::open()?.links()? {
        if runs(&link)? {
            names.push(link.name);
        }
    }
    Ok(names)
}

/// Whether it was loaded with a memory of the configured size.
fn has_memory(generation: &Generation, config: &Config) -> Result<bool> {
    let sets = generation.map(route::SETS[0])?.info().max_entries;
    Ok(sets == config.sets(sys::cpu::possible()?))
}

/// Whether it was loaded for the configuration's treatment of packets without a translation.
fn has_nat_mode(generation: &Generation, config: &Config) -> Result<bool> {
    constants::Constants::of(config)?.equal(generation, NAT_MODE)
}

/// # Errors
/// The program would end the session of this process on one of the interfaces.
fn check_lockout(control: &Control, targets: &[&Target], options: &RouteOptions) -> Result<()> {
    let RouteOptions { config, placement, .. } = options;
    conntrack::check(config)?;
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    let (program, lockout) = ((&spec, route::PROGRAM), placement.lockout());
    let routed = ports(targets)?;
    targets.iter().try_for_each(|target| {
        lockout::check_program(control, program, target.place(), lockout, |engine| {
            if let Ok(maps) = Maps::find(|name| engine.map(name).ok_or(())) {
                // Without translations the program routes, or passes packets to the stack.
                let _ = route::update(config, &routed, &maps);
            }
        })
    })
}

fn update(generation: &Generation, config: &Config, targets: &[&Target]) -> Result<()> {
    let names = [
        route::NAT4,
        route::NAT6,
        route::TRANSLATES,
        route::TX,
        route::PORTS,
        route::INDEX,
        route::TAGGED,
        route::VLANS,
    ];
    let [nat4, nat6, translates, tx, own, index, tagged, vlans] =
        names.map(|name| generation.map(name));
    let (nat4, nat6, translates) = (nat4?, nat6?, translates?);
    let (tx, own, index, tagged, vlans) = (tx?, own?, index?, tagged?, vlans?);
    let maps = Maps {
        nat4: &nat4,
        nat6: &nat6,
        translates: &translates,
        tx: &tx,
        ports: &own,
        index: &index,
        tagged: &tagged,
        vlans: &vlans,
    };
    route::update(config, &ports(targets)?, &maps)?;
    HostFacts::read()?.write(|name| generation.map(name))
}

/// Attaches a program of its own to each interface, because a program that queries a device for
/// tags is bound to that device. All programs share tables; each counts its own packets. Where
/// programs of this project run already, it joins their chain.
fn attach(targets: &[&Target], options: &RouteOptions, record: &Record) -> Result<()> {
    let RouteOptions { config, placement, .. } = options;
    let spec = spec(options, record)?;
    let large = targets.iter().any(|target| target.has_large_frames());
    let (routed, facts) = (ports(targets)?, HostFacts::read()?);
    by_frame_size(large, [route::PROGRAM, route::PROGRAM_FRAGS], |program| {
        let (mut transactions, mut taggings) = (Vec::new(), Vec::new());
        let mut shared = None;
        for target in targets {
            let (own, tagging) = tagged(target, (&spec, program), &routed, options)?;
            let router = load(target, own, program, placement, shared.as_ref())?;
            if shared.is_none() {
                route::update(config, &routed, &Maps::find(|name| router.map(name))?)?;
                facts.write(|name| router.map(name))?;
                shared = Some(tables(&spec, |name| router.map(name))?);
            }
            transactions.push(router.install(target, program, placement)?);
            taggings.push(tagging);
        }
        Transaction::commit_all(transactions)?;
        taggings.into_iter().for_each(Tagging::keep);
        Ok(())
    })
}

/// The object, with everything that is the same on all interfaces.
fn spec(options: &RouteOptions, record: &Record) -> Result<Spec> {
    let RouteOptions { config, placement, .. } = options;
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    conntrack::apply(config, &mut spec)?;
    for (name, value) in &placement.set {
        spec.set_global_text(name, value)?;
    }
    record.add_to(&mut spec, placement.mode);
    config.size_memory(&mut spec, sys::cpu::possible()?)?;
    Ok(spec)
}

/// The object for an interface, on which the program sees VLAN tags and knows its port's number.
fn tagged(
    target: &Target,
    (spec, program): (&Spec, &str),
    ports: &[Port],
    options: &RouteOptions,
) -> Result<(Spec, Tagging)> {
    let (mode, ignore) = (options.placement.mode, options.ignore_stripped_tags);
    let tagging = Tagging::prepare(target, mode, ignore)?;
    let mut own = spec.clone();
    if let Some(number) = route::number_of(target.ifindex.0, ports) {
        own.set_global(route::INGRESS, &number.to_le_bytes())?;
    }
    route::size_vlans(&mut own, ports);
    tagging.apply(&mut own, &[program])?;
    Ok((own, tagging))
}

/// All maps but constants and the counts of reasons, for the programs of the other interfaces.
fn tables<'m>(
    spec: &Spec,
    map: impl Fn(&str) -> kernel::Result<&'m Map>,
) -> Result<Vec<(String, Map)>> {
    let varying = spec.maps.iter().filter(|def| !def.frozen && def.name != stats::MAP);
    let found = varying.filter_map(|def| Some((&def.name, map(&def.name).ok()?)));
    found.map(|(name, map)| Ok((name.clone(), map.duplicate()?))).collect()
}

/// A new router in a chain that changes in other members as well, on the first of its
/// interfaces.
#[derive(Debug)]
pub(crate) struct NewRouter<'a> {
    targets: &'a [&'a Target],
    options: &'a RouteOptions,
    spec: Spec,
    program: &'static str,
    taggings: Vec<Tagging>,
}

impl<'a> NewRouter<'a> {
    /// Puts it into the chain of the first interface.
    ///
    /// # Errors
    /// It would end the session of this process, VLAN tags cannot be seen, or the chain runs in
    /// another mode.
    pub fn put(
        chain: &mut Chain<'_>,
        targets: &'a [&'a Target],
        (options, large): (&'a RouteOptions, bool),
    ) -> Result<Self> {
        let first = targets[0];
        firewall::check(&options.config)?;
        check_lockout(first.slot.control(), targets, options)?;
        let spec = spec(options, &record(options, targets))?;
        let program = if large { route::PROGRAM_FRAGS } else { route::PROGRAM };
        let (own, tagging) = tagged(first, (&spec, program), &ports(targets)?, options)?;
        chain.place(&options.placement, link(own, program, &options.placement))?;
        Ok(Self { targets, options, spec, program, taggings: vec![tagging] })
    }

    /// Fills the tables, and loads the programs of the other interfaces.
    pub fn load_others(&mut self, first: &LoadedChain<'_>) -> Result<Vec<Router<'a>>> {
        let RouteOptions { config, placement, .. } = self.options;
        let map = |name: &str| first.map(NAME, name);
        let routed = ports(self.targets)?;
        route::update(config, &routed, &Maps::find(map)?)?;
        HostFacts::read()?.write(map)?;
        let shared = tables(&self.spec, map)?;
        let mut all = Vec::new();
        for target in &self.targets[1..] {
            let (own, tagging) = tagged(target, (&self.spec, self.program), &routed, self.options)?;
            all.push(load(target, own, self.program, placement, Some(&shared))?);
            self.taggings.push(tagging);
        }
        Ok(all)
    }

    /// Attaches the programs of the other interfaces.
    pub fn install_others(&self, routers: Vec<Router<'_>>) -> Result<Vec<Transaction>> {
        let others = self.targets[1..].iter().zip(routers);
        let placement = &self.options.placement;
        others.map(|(target, router)| router.install(target, self.program, placement)).collect()
    }

    /// Completes the change, after the programs were attached.
    pub fn keep(self) {
        self.taggings.into_iter().for_each(Tagging::keep);
    }
}

/// A loaded program for one interface.
#[derive(Debug)]
pub(crate) enum Router<'t> {
    Alone(Loaded),
    Member(Box<LoadedChain<'t>>),
}

/// Loads a program for an interface, with the existing maps `shared`.
fn load<'t>(
    target: &'t Target,
    spec: Spec,
    program: &str,
    placement: &Placement,
    shared: Option<&Vec<(String, Map)>>,
) -> Result<Router<'t>> {
    let shared = shared.into_iter().flatten();
    let shared = shared.map(|(name, map)| Ok((name.clone(), map.duplicate()?)));
    let shared = shared.collect::<Result<Vec<_>>>()?;
    if !composition::joins(target, placement)? {
        return Ok(Router::Alone(target.load(&spec, (program, &[]), placement, shared)?));
    }
    let mut chain = chain::open(target)?;
    chain.place(placement, ChainLink { shared, ..link(spec, program, placement) })?;
    Ok(Router::Member(Box::new(chain.load()?)))
}

/// The program as a member of a chain.
fn link(mut spec: Spec, program: &str, placement: &Placement) -> ChainLink {
    spec.maps.extend(missing_labels(&spec));
    ChainLink::new(placement.member(NAME, program), spec)
}

impl Router<'_> {
    fn map(&self, name: &str) -> kernel::Result<&Map> {
        match self {
            Self::Alone(object) => object.map(name),
            Self::Member(chain) => chain.map(NAME, name),
        }
    }

    fn install(self, target: &Target, program: &str, placement: &Placement) -> Result<Transaction> {
        match self {
            Self::Alone(object) => target.install(NAME, &object, program, placement),
            Self::Member(chain) => chain.install(),
        }
    }
}

/// The ports of a router that is attached to these interfaces.
fn ports(targets: &[&Target]) -> Result<Vec<Port>> {
    let devices: Vec<_> = targets.iter().map(|target| target.ifindex).collect();
    Ok(ports::find(&devices, &Netlink::open()?.links()?))
}

const NAME: &str = "forward";
/// The global variable that selects the treatment of packets without a translation.
const NAT_MODE: &str = "route_nat";
