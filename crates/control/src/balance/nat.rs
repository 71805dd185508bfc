//! A balancer that translates addresses: it runs on all interfaces that its packets use, because
//! the answers of backends come in at any of them. Its programs share all maps but their counts of
//! reasons.
//!
//! Rule: it is attached to all of its interfaces or to none, and detached from all.

use std::time::Duration;

use functions::balancer::{self, Config};
use functions::stats;
use kernel::Map;
use spec::Spec;
use sys::net::Netlink;

use super::{NAME, Running};
use crate::chain::{self, ChainReport};
use crate::composition::{self, LoadedChain, link::ChainLink};
use crate::counters::missing_labels;
use crate::detach::detach_all;
use crate::error::{FunctionError, Result};
use crate::notice::Notice;
use crate::record::Record;
use crate::state::Transaction;
use crate::target::{Loaded, Target};
use crate::{Control, Placement};

/// Finds the interfaces beside the first that the program must run on.
///
/// # Errors
/// One of them does not exist.
pub fn others(target: &mut Target, config: &Config, out: &[String]) -> Result<Vec<Target>> {
    if !config.translates() {
        return Ok(Vec::new());
    }
    let mut names: Vec<_> = out.iter().filter(|name| **name != target.interface).cloned().collect();
    names.sort();
    names.dedup();
    target.with_others(&names)
}

/// # Errors
/// An address that packets to backends come from is not one of this host: no answer would arrive.
pub fn check_addresses(interface: &str, config: &Config) -> Result<()> {
    let Some(nat) = config.nat.as_ref().filter(|_| config.translates()) else { return Ok(()) };
    let own = Netlink::open()?.addresses()?;
    match nat.addresses().find(|address| own.iter().all(|one| one.ip != *address)) {
        Some(address) => {
            let interface = interface.to_owned();
            Err(FunctionError::ForeignNatAddress { interface, address }.into())
        }
        None => Ok(()),
    }
}

/// The balancers that share their services with one, with the names of their interfaces, itself
/// among them.
///
/// # Errors
/// The state directory cannot be read.
pub fn together(control: &Control, running: &Running) -> Result<Vec<(String, Running)>> {
    let tables =
        |one: &Running| Ok::<_, crate::Error>(one.generation.map(balancer::SERVICES)?.info().id);
    let own = tables(running)?;
    let mut all = Vec::new();
    for (name, other) in super::balancers(control)? {
        if tables(&other)? == own {
            all.push((name, other));
        }
    }
    Ok(all)
}

/// # Errors
/// A running balancer was loaded for other translation, or does not run on all of the interfaces.
pub fn check_same(
    control: &Control,
    running: &Running,
    targets: &[&Target],
    config: &Config,
) -> Result<()> {
    let record = Record::read(&running.generation)?.and_then(|record| record.balance);
    let old = record.unwrap_or_default();
    let names: Vec<_> = together(control, running)?.into_iter().map(|(name, _)| name).collect();
    let is_new = targets.iter().any(|one| !names.contains(&one.interface));
    let differs = config.translates() && old.nat != config.nat;
    if is_new || differs || old.translates() != config.translates() {
        return Err(FunctionError::NatChanged { interface: targets[0].interface.clone() }.into());
    }
    Ok(())
}

/// # Errors
/// The balancer that is to be replaced runs on an interface that is not named.
pub fn check_all_named(control: &Control, running: &Running, targets: &[&Target]) -> Result<()> {
    let interfaces: Vec<_> =
        together(control, running)?.into_iter().map(|(name, _)| name).collect();
    let is_named = |name: &String| targets.iter().any(|one| one.interface == *name);
    match interfaces.iter().find(|name| !is_named(name)).cloned() {
        Some(omitted) => Err(FunctionError::BalanceOmitted { interfaces, omitted }.into()),
        None => Ok(()),
    }
}

/// A loaded program for one interface.
pub enum Program<'t> {
    Alone(Loaded),
    Member(Box<LoadedChain<'t>>),
}

impl<'t> Program<'t> {
    /// Loads the program for an interface, with the maps of another one.
    ///
    /// # Errors
    /// The kernel refuses it, or it cannot be composed with what runs.
    pub fn load(
        target: &'t Target,
        (spec, program): (&Spec, &str),
        placement: &Placement,
        shared: &[(String, Map)],
    ) -> Result<Self> {
        let shared = shared.iter().map(|(name, map)| Ok((name.clone(), map.duplicate()?)));
        let shared = shared.collect::<Result<Vec<_>>>()?;
        if !composition::joins(target, placement)? {
            return Ok(Self::Alone(target.load(spec, (program, &[]), placement, shared)?));
        }
        let mut chain = chain::open(target)?;
        let own = member(spec, program, placement);
        chain.place(placement, ChainLink { shared, ..own })?;
        Ok(Self::Member(Box::new(chain.load()?)))
    }

    pub fn map(&self, name: &str) -> kernel::Result<&Map> {
        match self {
            Self::Alone(object) => object.map(name),
            Self::Member(chain) => chain.map(NAME, name),
        }
    }

    /// # Errors
    /// Another owner's program runs, or the kernel refuses it.
    pub fn install(
        self,
        target: &Target,
        program: &str,
        placement: &Placement,
    ) -> Result<Transaction> {
        match self {
            Self::Alone(object) => target.install(NAME, &object, program, placement),
            Self::Member(chain) => chain.install(),
        }
    }

    /// All maps but constants and the counts of reasons.
    ///
    /// # Errors
    /// A map cannot be duplicated.
    pub fn tables(&self, spec: &Spec) -> Result<Vec<(String, Map)>> {
        tables(spec, |name| self.map(name))
    }
}

/// All maps but constants and the counts of reasons.
///
/// # Errors
/// A map cannot be duplicated.
pub fn tables<'m>(
    spec: &Spec,
    map: impl Fn(&str) -> kernel::Result<&'m Map>,
) -> Result<Vec<(String, Map)>> {
    let varying = spec.maps.iter().filter(|def| !def.frozen && def.name != stats::MAP);
    let found = varying.filter_map(|def| Some((&def.name, map(&def.name).ok()?)));
    found.map(|(name, map)| Ok((name.clone(), map.duplicate()?))).collect()
}

/// The interface that a balancer on several is saved for: the first that its packets do not only
/// leave by.
///
/// # Errors
/// The state directory cannot be read.
pub fn owner(control: &Control, running: &Running, out: &[String]) -> Result<Option<String>> {
    let mut names: Vec<_> = together(control, running)?.into_iter().map(|(name, _)| name).collect();
    names.sort_by_key(|name| out.contains(name));
    Ok(names.into_iter().next())
}

/// The program as a member of a chain.
pub fn member(spec: &Spec, program: &str, placement: &Placement) -> ChainLink {
    let mut spec = spec.clone();
    spec.maps.extend(missing_labels(&spec));
    ChainLink::new(placement.member(NAME, program), spec)
}

/// Removes a program from those that run on an interface, as [`chain::remove`], and the balancer
/// from all interfaces that it translates on.
///
/// # Errors
/// As [`chain::remove`], or the balancer on other interfaces cannot be removed.
pub fn remove(
    control: &Control,
    interface: &str,
    name: &str,
    confirm: Option<Duration>,
) -> Result<ChainReport> {
    // A change that must be confirmed is one of this interface alone, until it is.
    if name == NAME && confirm.is_none() {
        detach_others(control, &mut Target::open(control, interface)?)?;
    }
    chain::remove(control, interface, name, confirm)
}

/// Detaches the programs of the other interfaces of a balancer, if one runs on this interface.
/// Without one of them, answers that come in there would reach the stack, which resets connections.
/// Returns the names of the interfaces.
///
/// # Errors
/// The state directory cannot be read, or the kernel refuses it.
pub fn detach_others(control: &Control, target: &mut Target) -> Result<Vec<String>> {
    let found = Running::find(&target.slot, target.ifindex)?;
    let Some(running) = found else { return Ok(Vec::new()) };
    let mut names: Vec<_> =
        together(control, &running)?.into_iter().map(|(name, _)| name).collect();
    names.retain(|name| *name != target.interface);
    for other in target.with_others(&names)? {
        let mut chain = chain::open(&other)?;
        chain.remove(NAME);
        if chain.names().is_empty() {
            detach_all(&other, false)?;
            continue;
        }
        chain.load()?.commit()?;
        let (program, interface) = (NAME.to_owned(), other.interface.clone());
        control.notify(&Notice::Detached { program, interface });
    }
    Ok(names)
}
