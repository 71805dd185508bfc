//! The half of the balancer that runs on backends: opens tunnels, and lowers the MSS of their
//! connections.
//!
//! Rule: the program that lowers the MSS is attached to another hook, with a link that is pinned
//! beside the member's generations and ends with the last of them (`state::egress`).

mod report;

use std::net::IpAddr;

use functions::backend::{self, Config, Maps};
use functions::balancer::Network;
use kernel::{LoadOptions, Map, Object, TcxSide};
use packet::Prefix;
use spec::{Runtime as _, Spec};
use sys::net::Netlink;
use sys::netns::NetNs;

use crate::chain;
use crate::composition::{self, link::ChainLink};
use crate::counters::missing_labels;
use crate::detach::detach_all;
use crate::error::{FunctionError, Result};
use crate::lockout;
use crate::notice::Notice;
use crate::record::Record;
use crate::state::Generation;
use crate::target::{Target, by_frame_size};
use crate::{Control, Placement};

pub use report::{Tunnels, show};

/// Which tunnels end at an interface, and how the program is attached.
#[derive(Clone, Debug, Default)]
pub struct TunnelOptions {
    pub config: Config,
    /// Announce the MSS of the stack.
    pub keep_mss: bool,
    pub placement: Placement,
}

/// Opens tunnels at an interface. If they are opened there already, only the settings change.
///
/// # Errors
/// The settings contradict each other, or the kernel refuses the change; then nothing has changed.
pub fn start(control: &Control, interface: &str, options: &TunnelOptions) -> Result<Tunnels> {
    let target = Target::open(control, interface)?;
    let config = complete(&target, options)?;
    config.check().map_err(FunctionError::Backend)?;
    let placement = &options.placement;
    check_lockout(control, &target, &config, placement)?;
    match running(&target)?.filter(|one| !renews(placement) && one.1.mode() == placement.mode) {
        Some((generation, _)) => {
            target.require_confirmed()?;
            let maps = OwnMaps::of(|name| generation.map(name))?;
            backend::update(&config, &maps.named())?;
            lower(&target, &config, &maps)?;
            Record::of_backend(&config, placement).replace(&generation)?;
        }
        None => attach(&target, &config, placement)?,
    }
    notice_forwarding(&target, &config);
    drop(target);
    show(control, interface)
}

/// Ends the opening of tunnels. Other members of the chain continue to run.
///
/// # Errors
/// No tunnels are opened at the interface, or the rest of the chain cannot be composed.
pub fn stop(control: &Control, interface: &str) -> Result<Tunnels> {
    let target = Target::open(control, interface)?;
    target.require_confirmed()?;
    if running(&target)?.is_none() {
        return Err(FunctionError::NoBackend { interface: interface.to_owned() }.into());
    }
    let mut chain = chain::open(&target)?;
    chain.remove(NAME);
    if chain.names().is_empty() {
        detach_all(&target, false)?;
    } else {
        chain.apply()?;
        let (program, interface) = (NAME.to_owned(), target.interface.clone());
        control.notify(&Notice::Detached { program, interface });
    }
    drop(target);
    show(control, interface)
}

/// Whether the program must be loaded again.
fn renews(placement: &Placement) -> bool {
    let confirms = placement.confirm.is_some();
    placement.replace || placement.renews() || confirms || !placement.set.is_empty()
}

/// The mode of a program that runs.
struct Running(kernel::Mode);

impl Running {
    fn mode(&self) -> kernel::Mode {
        self.0
    }
}

fn running(target: &Target) -> Result<Option<(Generation, Running)>> {
    let all = Netlink::open()?.link_by_index(target.ifindex)?.xdp;
    for (mode, id) in all.programs() {
        let mut generations = target.slot.generations_of(id)?.into_iter();
        if let Some(generation) = generations.find(|one| one.name() == NAME) {
            return Ok(Some((generation, Running(mode))));
        }
    }
    Ok(None)
}

/// The configuration with what depends on this host: its addresses, and the MTU.
fn complete(target: &Target, options: &TunnelOptions) -> Result<Config> {
    let mut config = options.config.clone();
    if config.address.is_empty() {
        let is_service = |ip: IpAddr| config.service.iter().any(|one| one.0.contains(ip));
        let own = Netlink::open()?.addresses()?.into_iter().map(|one| one.ip);
        let own = own.filter(|ip| !ip.is_loopback() && !is_service(*ip));
        let mut own: Vec<_> = own.filter_map(whole).map(Network).collect();
        own.sort();
        own.dedup();
        config.address = own;
    }
    if options.keep_mss {
        config.mtu = 0;
    } else if config.mtu == 0 {
        let own = u16::try_from(target.mtu).unwrap_or(u16::MAX);
        config.mtu = own.saturating_sub(backend::MOST_ADDED);
    }
    Ok(config)
}

fn whole(ip: IpAddr) -> Option<Prefix> {
    Prefix::new(ip, if ip.is_ipv4() { 32 } else { 128 })
}

/// # Errors
/// The program would end the session of this process.
fn check_lockout(
    control: &Control,
    target: &Target,
    config: &Config,
    placement: &Placement,
) -> Result<()> {
    let mut spec = Spec::parse(NAME, backend::OBJECT)?;
    config.apply(&mut spec);
    let program = (&spec, backend::PROGRAM);
    lockout::check_program(control, program, target.place(), placement.lockout(), |engine| {
        if let Ok(maps) = Maps::find(|name| engine.map(name).ok_or(())) {
            // Maps that cannot be filled leave a program that passes everything.
            let _ = backend::update(config, &maps);
        }
    })
}

fn attach(target: &Target, config: &Config, placement: &Placement) -> Result<()> {
    let mut spec = Spec::parse(NAME, backend::OBJECT)?;
    config.apply(&mut spec);
    for (name, value) in &placement.set {
        spec.set_global_text(name, value)?;
    }
    Record::of_backend(config, placement).add_to(&mut spec, placement.mode);
    let programs = [backend::PROGRAM, backend::PROGRAM_FRAGS];
    by_frame_size(target.has_large_frames(), programs, |program| {
        if composition::joins(target, placement)? {
            let mut chain = chain::open(target)?;
            let mut spec = spec.clone();
            spec.maps.extend(missing_labels(&spec));
            let link = ChainLink::new(placement.member(NAME, program), spec);
            chain.place(placement, link)?;
            let loaded = chain.load()?;
            let maps = OwnMaps::of(|name| loaded.map(NAME, name)?.duplicate())?;
            backend::update(config, &maps.named())?;
            loaded.commit()?;
            return lower(target, config, &maps);
        }
        let object = target.load(&spec, (program, &[]), placement, Vec::new())?;
        let maps = OwnMaps::of(|name| object.map(name)?.duplicate())?;
        backend::update(config, &maps.named())?;
        target.install(NAME, &object, program, placement)?.commit()?;
        lower(target, config, &maps)
    })
}

/// Handles on the maps that both programs have.
struct OwnMaps {
    prefixes: Map,
    settings: Map,
    lowered: Map,
}

impl OwnMaps {
    fn of<E>(map: impl Fn(&str) -> Result<Map, E>) -> Result<Self, E> {
        Ok(Self {
            prefixes: map(backend::PREFIXES)?,
            settings: map(backend::SETTINGS)?,
            lowered: map(backend::LOWERED)?,
        })
    }

    fn named(&self) -> Maps<'_, Map> {
        Maps { prefixes: &self.prefixes, settings: &self.settings }
    }

    /// The maps for another program of the object.
    fn reused(&self) -> kernel::Result<Vec<(String, Map)>> {
        let all = [
            (backend::PREFIXES, &self.prefixes),
            (backend::SETTINGS, &self.settings),
            (backend::LOWERED, &self.lowered),
        ];
        all.into_iter().map(|(name, map)| Ok((name.to_owned(), map.duplicate()?))).collect()
    }
}

/// Lowers the MSS that is announced to clients, by a program of its own. Kernels that have no place
/// for it leave the rest as it is, with a notice that has the remedy.
fn lower(target: &Target, config: &Config, maps: &OwnMaps) -> Result<()> {
    if config.mtu == 0 {
        return target.slot.end_egress(NAME);
    }
    let lowering = attach_mss(target, config, maps);
    if let Err(error) = lowering {
        let reason = error.to_string();
        let [mss, _] = config.mss();
        target.slot.notify(&Notice::NoMss { interface: target.interface.clone(), mss, reason });
    }
    Ok(())
}

fn attach_mss(target: &Target, config: &Config, maps: &OwnMaps) -> Result<()> {
    let mut spec = Spec::parse(NAME, backend::OBJECT)?;
    config.apply(&mut spec);
    let programs = Some(vec![backend::PROGRAM_MSS.to_owned()]);
    let options = LoadOptions { programs, reuse: maps.reused()?, ..LoadOptions::default() };
    let object = Object::load(&spec, &options)?;
    let program = object.program(backend::PROGRAM_MSS)?;
    if let Some(mut link) = target.slot.egress(NAME)?
        && link.ifindex()?.is_some()
    {
        return Ok(link.update(program, None)?);
    }
    let link = kernel::attach_tcx(target.ifindex, program, TcxSide::Egress)?;
    target.slot.keep_egress(NAME, link)
}

/// Segments can be sent to another backend only where the kernel answers lookups of routes.
fn notice_forwarding(target: &Target, config: &Config) {
    let Ok(netns) = NetNs::current() else { return };
    for (is_ipv4, family) in [(true, "ipv4"), (false, "ipv6")] {
        let has = config.address.iter().any(|one| one.0.address().is_ipv4() == is_ipv4);
        let path = format!("{family}/conf/{}/forwarding", target.interface);
        if has && netns.sysctl(&path).is_ok_and(|value| value.trim() == "0") {
            let sysctl = path.replace('/', ".");
            target.slot.notify(&Notice::NoSecondWay { sysctl });
        }
    }
}

/// Name of the member.
pub(crate) const NAME: &str = "backend";
