//! The built-in balancer: attached with services, or its services changed in place.
//!
//! Rule: the services are in the record of the program, so that a later process can change one
//! backend; what packets meet are the maps, which change in the order of `functions::balancer`.

pub mod announce;
mod declared;
pub mod health;
mod host;
mod listeners;
pub(crate) mod nat;
mod neighbours;
mod plan;
mod ports;
mod report;
pub mod sync;
mod top;
mod why;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use functions::balancer::{
    self, Backend, Config, Delivery, Live, Maps, Moved, Network, Out, State,
};
use kernel::{Map, Mode};
use packet::Prefix;
use serde::Serialize;
use spec::{Expect, Map as _, Runtime as _, Spec};
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use crate::error::{FunctionError, Result};
use crate::lockout;
use crate::notice::Notice;
use crate::record::Record;
use crate::state::{Generation, Slot, StagedMap, State as Pins, Transaction};
use crate::target::{Target, by_frame_size};
use crate::{Control, Placement};

pub(crate) use declared::{
    NewBalancer, completed, has_same_constants, is_secret, owner, text, texts_without_key,
};
pub use nat::remove;
pub use plan::{PlanReport, ServicePlan, plan};
pub use report::{BackendReport, BalanceReport, BalancerReport, HealthReport, ServiceReport, show};
pub use top::{BackendRate, BalanceMonitor, BalanceTop};
pub use why::{BalanceExplanation, BalanceTranslation, why};

/// How long a balancer that is declared waits for its peers before it is attached.
pub(crate) const WAIT_SYNC: Duration = Duration::from_secs(2);

/// Services, and how the program is attached.
#[derive(Clone, Debug, Default)]
pub struct BalanceOptions {
    pub config: Config,
    /// Interfaces that packets may leave by, beside that which they came in by.
    pub out: Vec<String>,
    pub placement: Placement,
    /// How long to wait for the state of a peer, where the configuration names peers and the
    /// program is attached.
    pub wait_sync: Duration,
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
    let mut config: Config = toml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    if let Some(sync) = &mut config.sync {
        // Other processes have other working directories.
        let dir = path.parent().unwrap_or(Path::new(""));
        let absolute = std::path::absolute(dir.join(&sync.key_file));
        sync.key_file = absolute.map_err(|error| malformed(error.to_string()))?;
    }
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
    let others = nat::others(&mut target, &options.config, &options.out)?;
    let targets: Vec<_> = std::iter::once(&target).chain(&others).collect();
    let config = prepare(&targets, options)?;
    let running = Running::find(&target.slot, target.ifindex)?;
    let out = ports::named(target.ifindex, &options.out)?;
    let announces = config.announce.is_some() || running.as_ref().is_some_and(announce::announces);
    match running {
        Some(running) if running.can_remain(&options.placement) => {
            target.require_confirmed()?;
            nat::check_same(control, &running, &targets, &config)?;
            let known = Record::read(&running.generation)?.and_then(|record| record.balance);
            if known.is_some_and(|known| !has_same_constants(&known, &config)) {
                let interface = interface.to_owned();
                return Err(FunctionError::BalanceConstants { interface }.into());
            }
            let record = Record::of_balancer(&config, &options.out, &options.placement);
            let together = nat::together(control, &running)?;
            let staged = stage(&record, &together)?;
            let moved = running.update(&config, &out)?;
            staged.into_iter().try_for_each(StagedMap::commit)?;
            let devices: Vec<_> = together.iter().map(|(_, one)| one.ifindex).collect();
            ports::update(&running, &devices, &Netlink::open()?.links()?)?;
            if announces {
                announce::update(control);
            }
            Ok(changed(&target, running.mode, true, &config, moved))
        }
        running => {
            let old = running.as_ref();
            // Programs that are not declared any more are detached after this.
            if let Some(running) = old.filter(|_| options.placement.declaration.is_none()) {
                nat::check_all_named(control, running, &targets)?;
            }
            let lost = old.map(|one| one.out(&config)).transpose()?.unwrap_or_default();
            let attachment = Attachment { config: &config, out: &out, options, lost: &lost };
            attach(control, &targets, &attachment, old)?;
            if announces {
                announce::update(control);
            }
            Ok(changed(&target, options.placement.mode, false, &config, Vec::new()))
        }
    }
}

/// The configuration with what it leaves to the host, once it is known that it can be loaded.
fn prepare(targets: &[&Target], options: &BalanceOptions) -> Result<Config> {
    let target = targets[0];
    let control = target.slot.control();
    let config = with_sources(options.config.clone())?;
    for one in targets {
        neighbours::check_forwarding(&one.interface, &config)?;
    }
    nat::check_addresses(&target.interface, &config)?;
    announce::check(&config)?;
    check_lockout(control, target, &config, &options.placement)?;
    host::check(control, targets, &config)?;
    listeners::report(control, &config)?;
    neighbours::resolve(control, &config)?;
    Ok(config)
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
    let record = Record { balance: Some(config.clone()), ..record };
    let staged = stage(&record, &nat::together(control, &running)?)?;
    let moved = balancer::update(&config, &running.maps()?.named())?.moved;
    staged.into_iter().try_for_each(StagedMap::commit)?;
    if config.announce.is_some() {
        announce::update(control);
    }
    Ok(changed(&target, running.mode, true, &config, moved))
}

/// Makes the record of balancers ready, before packets meet the change: if that fails, nothing has
/// changed, and a later change does not begin with the old services.
fn stage(record: &Record, together: &[(String, Running)]) -> Result<Vec<StagedMap>> {
    together.iter().map(|(_, one)| record.stage(&one.generation)).collect()
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
/// unknown: it sees none of the packets that a balancer sends. Also follows changes of MAC
/// addresses and VLAN devices.
///
/// # Errors
/// The state directory cannot be read.
pub fn refresh(control: &Control) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let all = balancers(control)?;
    if all.is_empty() {
        return Ok(());
    }
    let links = netlink.links()?;
    for (_, running) in &all {
        let record = Record::read(&running.generation)?.unwrap_or_default();
        neighbours::ask(&mut netlink, &record.balance.unwrap_or_default())?;
        let together = nat::together(control, running)?;
        let devices: Vec<_> = together.iter().map(|(_, one)| one.ifindex).collect();
        ports::update(running, &devices, &links)?;
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
    pub ifindex: Ifindex,
    pub mode: Mode,
    pub generation: Generation,
}

/// The maps of a balancer that services are in.
#[derive(Debug)]
pub(crate) struct OwnMaps([Map; 8]);

impl OwnMaps {
    pub fn named(&self) -> Maps<'_, Map> {
        let [patterns, active, services, tables, backends, flows, quic, ids] = &self.0;
        Maps { patterns, active, services, tables, backends, flows, quic, ids }
    }
}

impl Running {
    /// Finds it in any mode; `None` if none runs.
    pub fn find(slot: &Slot, ifindex: Ifindex) -> Result<Option<Self>> {
        let running = Netlink::open()?.link_by_index(ifindex)?.xdp;
        for (mode, id) in running.programs() {
            let mut generations = slot.generations_of(id)?.into_iter();
            if let Some(generation) = generations.find(|one| one.name() == NAME) {
                return Ok(Some(Self { ifindex, mode, generation }));
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
            map(balancer::quic::CONFIGS)?,
            map(balancer::quic::IDS)?,
        ]))
    }

    /// The backends of a configuration that checks took out.
    fn out(&self, config: &Config) -> Result<Out> {
        Ok(Live::read(&self.maps()?.named())?.out(config))
    }

    fn update(&self, config: &Config, out: &[Ifindex]) -> Result<Vec<Moved>> {
        let change = balancer::update(config, &self.maps()?.named())?;
        allow(&self.generation.map(balancer::TX)?, out)?;
        Ok(change.moved)
    }
}

/// The balancers of this namespace, with the names of their interfaces.
fn balancers(control: &Control) -> Result<Vec<(String, Running)>> {
    let mut links = Netlink::open()?.links()?;
    links.retain(|link| !link.xdp.is_empty());
    let mut balancers = Vec::new();
    if links.is_empty() {
        return Ok(balancers);
    }
    let (pins, netns) = (Pins::read(control)?, NetNs::current()?.id()?);
    for link in links {
        let running = Running::find(&pins.slot(netns, link.ifindex), link.ifindex)?;
        balancers.extend(running.map(|running| (link.name, running)));
    }
    Ok(balancers)
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

/// Lets packets leave by these interfaces, and by no others.
fn allow(tx: &Map, out: &[Ifindex]) -> kernel::Result<()> {
    for key in tx.keys()? {
        if !out.iter().any(|one| one.0.to_le_bytes()[..] == key[..]) {
            tx.delete(&key)?;
        }
    }
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

/// A program that is about to be attached.
struct Attachment<'a> {
    config: &'a Config,
    out: &'a [Ifindex],
    options: &'a BalanceOptions,
    /// Backends that checks took out.
    lost: &'a Out,
}

impl Attachment<'_> {
    /// Fills the maps before packets meet them.
    fn fill(&self, control: &Control, maps: &Maps<'_, Map>, old: Option<&OwnMaps>) -> Result<()> {
        sync::start(old, maps, self.config, self.lost)?;
        let wait = self.options.wait_sync;
        if let Some(sync) = self.config.sync.as_ref().filter(|_| !wait.is_zero()) {
            let options = sync::SyncOptions::of(sync)?;
            if !sync::from_peers(maps, self.config, &options, wait)? {
                control.notify(&Notice::NotSynchronized(wait));
            }
        }
        Ok(())
    }
}

/// Attaches a program to each interface, in place of `old`; they share their maps. There are
/// several only with translation.
fn attach(
    control: &Control,
    targets: &[&Target],
    attachment: &Attachment<'_>,
    old: Option<&Running>,
) -> Result<()> {
    let Attachment { config, out, options, .. } = attachment;
    let (placement, mut spec) = (&options.placement, spec(config, options)?);
    let old = old.map(|old| sync::prepare(old, config, &mut spec)).transpose()?.flatten();
    let programs = [balancer::PROGRAM, balancer::PROGRAM_FRAGS];
    let links = Netlink::open()?.links()?;
    let devices: Vec<_> = targets.iter().map(|target| target.ifindex).collect();
    let large = targets.iter().any(|target| target.has_large_frames());
    by_frame_size(large, programs, |program| {
        let (mut transactions, mut shared, mut flows) = (Vec::new(), Vec::new(), None);
        for (number, target) in targets.iter().enumerate() {
            let loaded = nat::Program::load(target, (&spec, program), placement, &shared)?;
            if number == 0 {
                attachment.fill(control, &Maps::find(|name| loaded.map(name))?, old.as_ref())?;
                allow(loaded.map(balancer::TX)?, out)?;
                ports::write(|name| loaded.map(name), &devices, &links)?;
                flows = Some(loaded.map(balancer::FLOWS)?.duplicate()?);
                shared = loaded.tables(&spec)?;
            }
            transactions.push(loaded.install(target, program, placement)?);
        }
        Transaction::commit_all(transactions)?;
        match (&old, &flows) {
            (Some(old), Some(flows)) => sync::continue_flows(old.named().flows, flows),
            _ => Ok(()),
        }
    })
}

/// The object with its options.
fn spec(config: &Config, options: &BalanceOptions) -> Result<Spec> {
    let placement = &options.placement;
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    for (name, value) in &placement.set {
        spec.set_global_text(name, value)?;
    }
    Record::of_balancer(config, &options.out, placement).add_to(&mut spec, placement.mode);
    Ok(spec)
}

pub(crate) const NAME: &str = "balance";
