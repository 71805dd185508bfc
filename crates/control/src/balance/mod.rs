//! The built-in balancer: attached with services, or its services changed in place.
//!
//! Rule: the services are in the record of the program, so that a later process can change one
//! backend; what packets meet are the maps, which change in the order of `functions::balancer`.

pub(crate) mod nat;
mod neighbours;
mod plan;
mod report;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

use functions::balancer::{self, Backend, Config, Delivery, Maps, Moved, Network, State};
use kernel::{Map, Mode};
use packet::Prefix;
use serde::Serialize;
use spec::{Expect, Map as _, Runtime as _, Spec};
use sys::net::{Ifindex, Netlink};
use sys::thread::monotonic_ns;

use crate::error::{FunctionError, Result};
use crate::lockout;
use crate::record::Record;
use crate::state::{Generation, Slot, Transaction};
use crate::target::{Target, by_frame_size};
use crate::{Control, Placement};

pub use plan::{PlanReport, ServicePlan, plan};
pub use report::{BackendReport, BalanceReport, BalancerReport, ServiceReport, show};

/// Services, and how the program is attached.
#[derive(Clone, Debug, Default)]
pub struct BalanceOptions {
    pub config: Config,
    /// Interfaces that packets may leave by, beside that which they came in by.
    pub out: Vec<String>,
    pub placement: Placement,
}

/// A change of one backend.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Name of the service; `None` changes the backend in all services that have it.
    pub service: Option<String>,
    pub backend: IpAddr,
    pub state: Option<State>,
    pub weight: Option<u16>,
}

/// A balancer that was attached or changed.
#[derive(Clone, Debug, Serialize)]
pub struct Balanced {
    /// Name of the interface.
    pub interface: String,
    /// Mode in which the program runs.
    pub mode: &'static str,
    /// Whether it ran already, and only its services changed.
    pub updated: bool,
    /// Number of services.
    pub services: usize,
    /// Services whose slots moved.
    pub moved: Vec<MovedService>,
}

/// Slots of a service that have another backend.
#[derive(Clone, Debug, Serialize)]
pub struct MovedService {
    /// Name of the service.
    pub service: String,
    /// Slots that moved, of 65,536.
    pub slots: usize,
    /// Number of those whose older connections remain with the former backend.
    pub kept: usize,
}

/// What remained after the keeping of older connections ended.
#[derive(Clone, Debug, Serialize)]
pub struct Settled {
    /// Name of the interface.
    pub interface: String,
    /// Connections that are remembered for another backend than that of their slot.
    pub remembered: usize,
}

/// A file of services that can be loaded.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Number of services.
    pub services: usize,
    /// Number of backends of all services.
    pub backends: usize,
}

impl Checked {
    /// Counts what the file has.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let backends = config.services.iter().map(|one| one.backends.len()).sum();
        Self { services: config.services.len(), backends }
    }
}

/// Reads a file of services.
///
/// # Errors
/// It cannot be read, or is malformed.
pub fn read(path: &Path) -> Result<Config> {
    let malformed = |reason: String| FunctionError::BalanceFile {
        path: path.display().to_string(),
        reason: reason.trim_end().to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| malformed(error.to_string()))?;
    let config: Config = toml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    config.check().map_err(|error| malformed(error.to_string()))?;
    Ok(config)
}

/// Gives an interface these services. If a balancer runs there, only its services change, and
/// connections remain with their backends.
///
/// # Errors
/// The services contradict each other or do not fit, or the kernel refuses the change; then
/// nothing has changed.
pub fn load(control: &Control, interface: &str, options: &BalanceOptions) -> Result<Balanced> {
    let mut target = Target::open(control, interface)?;
    let config = with_sources(options.config.clone())?;
    let others = nat::others(&mut target, &config, &options.out)?;
    let running = Running::find(&target.slot, target.ifindex)?;
    for one in std::iter::once(&target).chain(&others) {
        neighbours::check_forwarding(&one.interface, &config)?;
    }
    nat::check_addresses(interface, &config)?;
    check_lockout(control, &target, &config, &options.placement)?;
    neighbours::resolve(control, &config)?;
    let out = interfaces(target.ifindex, &options.out)?;
    match running {
        Some(running) if running.can_remain(&options.placement) => {
            target.require_confirmed()?;
            nat::check_same(control, &running, (&target, &others), &config)?;
            let moved = running.update(&config, &out)?;
            for (_, one) in nat::together(control, &running)? {
                Record::of_balancer(&config, &options.placement).replace(&one.generation)?;
            }
            Ok(changed(&target, running.mode, true, &config, moved))
        }
        running => {
            if let Some(running) = &running {
                nat::check_all_named(control, running, (&target, &others))?;
            }
            let targets: Vec<_> = std::iter::once(&target).chain(&others).collect();
            attach(&targets, &config, &out, &options.placement)?;
            Ok(changed(&target, options.placement.mode, false, &config, Vec::new()))
        }
    }
}

/// Changes one backend of a balancer.
///
/// # Errors
/// No balancer runs on the interface, or it has no such backend.
pub fn edit(control: &Control, interface: &str, edit: &Edit) -> Result<Balanced> {
    let target = Target::open(control, interface)?;
    let running = running(&target)?;
    target.require_confirmed()?;
    let record = Record::read(&running.generation)?.unwrap_or_default();
    let mut config = record.balance.clone().unwrap_or_default();
    let all: Vec<_> = config.services.iter().map(|one| one.name.clone()).collect();
    let missing = |what, name: String, known| FunctionError::NotBalanced {
        interface: interface.to_owned(),
        what,
        name,
        known,
    };
    let is_meant = |name: &str| edit.service.as_deref().is_none_or(|service| service == name);
    if !all.iter().any(|name| is_meant(name)) {
        return Err(missing("service", edit.service.clone().unwrap_or_default(), all).into());
    }
    let services = config.services.iter_mut().filter(|one| is_meant(&one.name));
    let mut backends: Vec<&mut Backend> = services.flat_map(|one| &mut one.backends).collect();
    let known = backends.iter().map(|one| one.address.to_string()).collect();
    backends.retain(|one| one.address == edit.backend);
    if backends.is_empty() {
        return Err(missing("backend", edit.backend.to_string(), known).into());
    }
    for backend in backends {
        backend.state = edit.state.unwrap_or(backend.state);
        backend.weight = edit.weight.unwrap_or(backend.weight);
    }
    neighbours::resolve(control, &config)?;
    let moved = running.update(&config, &[])?;
    let record = Record { balance: Some(config.clone()), ..record };
    for (_, one) in nat::together(control, &running)? {
        record.replace(&one.generation)?;
    }
    Ok(changed(&target, running.mode, true, &config, moved))
}

/// Ends the keeping of older connections with backends that their slots no longer name. Those that
/// are remembered one by one remain.
///
/// # Errors
/// No balancer runs on the interface.
pub fn settle(control: &Control, interface: &str) -> Result<Settled> {
    let target = Target::open(control, interface)?;
    let running = running(&target)?;
    let remembered = balancer::settle(&running.maps()?.named(), monotonic_ns())?;
    Ok(Settled { interface: interface.to_owned(), remembered })
}

/// Has the kernel confirm the next hops of the backends of this namespace, where they are stale or
/// unknown: it sees none of the packets that a balancer sends.
///
/// # Errors
/// The state directory cannot be read.
pub fn refresh(control: &Control) -> Result<()> {
    let mut netlink = Netlink::open()?;
    for (_, running) in report::balancers(control)? {
        let record = Record::read(&running.generation)?.unwrap_or_default();
        neighbours::ask(&mut netlink, &record.balance.unwrap_or_default())?;
    }
    Ok(())
}

fn changed(
    target: &Target,
    mode: Mode,
    updated: bool,
    config: &Config,
    moved: Vec<Moved>,
) -> Balanced {
    let moved = moved.into_iter().map(|one| {
        let Moved { service, slots, kept } = one;
        MovedService { service, slots, kept }
    });
    Balanced {
        interface: target.interface.clone(),
        mode: mode.name(),
        updated,
        services: config.services.len(),
        moved: moved.collect(),
    }
}

/// The balancer that runs on an interface.
pub(crate) struct Running {
    pub mode: Mode,
    pub generation: Generation,
}

/// The maps of a balancer that services are in.
pub(crate) struct OwnMaps([Map; 6]);

impl OwnMaps {
    pub fn named(&self) -> Maps<'_, Map> {
        let [patterns, active, services, tables, backends, flows] = &self.0;
        Maps { patterns, active, services, tables, backends, flows }
    }
}

impl Running {
    /// Finds it in any mode; `None` if none runs.
    pub fn find(slot: &Slot, ifindex: Ifindex) -> Result<Option<Self>> {
        let running = Netlink::open()?.link_by_index(ifindex)?.xdp;
        for (mode, id) in running.programs() {
            let mut generations = slot.generations_of(id)?.into_iter();
            if let Some(generation) = generations.find(|one| one.name() == NAME) {
                return Ok(Some(Self { mode, generation }));
            }
        }
        Ok(None)
    }

    /// Whether the program can continue with other services.
    fn can_remain(&self, placement: &Placement) -> bool {
        let is_other = placement.replace || placement.renews() || placement.confirm.is_some();
        placement.mode == self.mode && !is_other && placement.set.is_empty()
    }

    pub fn maps(&self) -> Result<OwnMaps> {
        let map = |name| self.generation.map(name);
        Ok(OwnMaps([
            map(balancer::PATTERNS)?,
            map(balancer::ACTIVE)?,
            map(balancer::SERVICES)?,
            map(balancer::TABLES)?,
            map(balancer::BACKENDS)?,
            map(balancer::FLOWS)?,
        ]))
    }

    fn update(&self, config: &Config, out: &[Ifindex]) -> Result<Vec<Moved>> {
        let change = balancer::update(config, &self.maps()?.named())?;
        allow(&self.generation.map(balancer::TX)?, out)?;
        Ok(change.moved)
    }
}

fn running(target: &Target) -> Result<Running> {
    let running = Running::find(&target.slot, target.ifindex)?;
    running.ok_or_else(|| FunctionError::NoBalancer { interface: target.interface.clone() }.into())
}

/// The configuration with an outer source for each family that it tunnels in.
fn with_sources(mut config: Config) -> Result<Config> {
    for is_ipv4 in [true, false] {
        if config.source(is_ipv4).is_some() {
            continue;
        }
        let tunnelled = config
            .services
            .iter()
            .filter(|one| !matches!(one.delivery, Delivery::Mac | Delivery::Nat));
        let mut backends = tunnelled.flat_map(|one| &one.backends).map(|one| one.address);
        let Some(backend) = backends.find(|one| one.is_ipv4() == is_ipv4) else { continue };
        let source = source_to(backend)
            .map_err(|error| FunctionError::NoSource { backend, reason: error.to_string() })?;
        config.source.extend(Prefix::new(source, if is_ipv4 { 32 } else { 128 }).map(Network));
    }
    Ok(config)
}

/// The address from which the kernel sends to a destination. Nothing is sent.
fn source_to(destination: IpAddr) -> std::io::Result<IpAddr> {
    let any: SocketAddr = match destination {
        IpAddr::V4(_) => ([0; 4], 0).into(),
        IpAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect((destination, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Interfaces that packets may leave by.
fn interfaces(own: Ifindex, out: &[String]) -> Result<Vec<Ifindex>> {
    let mut netlink = Netlink::open()?;
    let mut all = vec![own];
    for name in out {
        all.push(netlink.link(name)?.ifindex);
    }
    Ok(all)
}

fn allow(tx: &Map, out: &[Ifindex]) -> kernel::Result<()> {
    for ifindex in out {
        // A devmap entry without a program: the interface's index alone.
        let entry = ifindex.0.to_le_bytes();
        tx.update(&entry, &entry, Expect::Any)?;
    }
    Ok(())
}

/// # Errors
/// The services would end the session of this process.
fn check_lockout(
    control: &Control,
    target: &Target,
    config: &Config,
    placement: &Placement,
) -> Result<()> {
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    let program = (&spec, balancer::PROGRAM);
    lockout::check_program(control, program, target.place(), placement.lockout(), |engine| {
        if let Ok(maps) = Maps::find(|name| engine.map(name).ok_or(())) {
            // Maps that cannot be filled leave a program that passes everything.
            let _ = balancer::update(config, &maps);
        }
    })
}

/// Attaches a program to each interface, which share their maps; several only with translation.
fn attach(
    targets: &[&Target],
    config: &Config,
    out: &[Ifindex],
    placement: &Placement,
) -> Result<()> {
    let spec = spec(config, placement)?;
    let programs = [balancer::PROGRAM, balancer::PROGRAM_FRAGS];
    let large = targets.iter().any(|target| target.has_large_frames());
    by_frame_size(large, programs, |program| {
        let (mut transactions, mut shared) = (Vec::new(), Vec::new());
        for (number, target) in targets.iter().enumerate() {
            let loaded = nat::Program::load(target, (&spec, program), placement, &shared)?;
            if number == 0 {
                balancer::update(config, &Maps::find(|name| loaded.map(name))?)?;
                allow(loaded.map(balancer::TX)?, out)?;
                shared = loaded.tables(&spec)?;
            }
            transactions.push(loaded.install(target, program, placement)?);
        }
        Transaction::commit_all(transactions)
    })
}

/// The object with its options.
fn spec(config: &Config, placement: &Placement) -> Result<Spec> {
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    for (name, value) in &placement.set {
        spec.set_global_text(name, value)?;
    }
    Record::of_balancer(config, placement).add_to(&mut spec, placement.mode);
    Ok(spec)
}

const NAME: &str = "balance";
