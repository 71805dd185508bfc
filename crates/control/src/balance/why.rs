//! `why`: which backend a flow has, and what decided that.

use std::net::IpAddr;

use functions::balancer::{self, Config, Constants, DecidedBy, Live, Query, State};
use serde::Serialize;
use spec::Spec;
use sys::thread::monotonic_ns;

use super::{NAME, Running, balancers};
use crate::Control;
use crate::declaration::table::pairs;
use crate::error::{FunctionError, Result};
use crate::record::Record;

/// Which backend a flow has, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BalanceExplanation {
    /// Interface of the balancer.
    pub interface: String,
    /// The flow: protocol, client, service.
    pub flow: String,
    /// Name of the service.
    pub service: String,
    /// Slot of the flow in the table of the service.
    pub slot: u16,
    /// Address of the backend that packets of the flow go to; `null` if the service has none.
    pub backend: Option<IpAddr>,
    /// What decided that: `slot`, `id` (the QUIC connection ID), `flow` (remembered since the last
    /// change), `former` (older than the last change) or `drain` (the same, and the backend gets no
    /// new connections).
    pub by: &'static str,
    /// Address of the backend that a new connection of the flow goes to.
    pub new: Option<IpAddr>,
}

/// Explains a flow on each balancer of this namespace that has a service for it, or on that of an
/// interface.
///
/// # Errors
/// No balancer runs, or the state directory cannot be read.
pub fn why(
    control: &Control,
    interface: Option<&str>,
    query: Query<'_>,
) -> Result<Vec<BalanceExplanation>> {
    let mut all = balancers(control)?;
    all.retain(|(name, _)| interface.is_none_or(|only| only == name));
    if let (true, Some(interface)) = (all.is_empty(), interface) {
        return Err(FunctionError::NoBalancer { interface: interface.to_owned() }.into());
    }
    let explained = all.into_iter().map(|(name, running)| explain(name, &running, query));
    Ok(explained.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn explain(
    interface: String,
    running: &Running,
    query: Query<'_>,
) -> Result<Option<BalanceExplanation>> {
    let record = Record::read(&running.generation)?.unwrap_or_default();
    let config = record.balance.clone().unwrap_or_default();
    let constants = constants(&config, &record)?;
    let maps = running.maps()?;
    let live = Live::read(&maps.named())?;
    let maps = (&maps.named(), &live);
    let found = balancer::explain(&config, &constants, maps, query, monotonic_ns())?;
    Ok(found.map(|found| {
        let address = |number: Option<u16>| live.address(number?);
        let backend = address(found.backend);
        let known = found.service.backends.iter().find(|one| Some(one.address) == backend);
        let drains = known.is_none_or(|one| one.state == State::Drain);
        let by = match found.by {
            DecidedBy::Former if drains => "drain",
            by => by.name(),
        };
        let (flow, service) = (query.flow.to_string(), found.service.name.clone());
        let (slot, new) = (found.slot, address(found.new));
        BalanceExplanation { interface, flow, service, slot, backend, by, new }
    }))
}

/// What the running program was loaded with.
fn constants(config: &Config, record: &Record) -> Result<Constants> {
    let mut spec = Spec::parse(NAME, config.object())?;
    config.apply(&mut spec)?;
    for (name, value) in pairs(&record.program.set) {
        spec.set_global_text(&name, &value)?;
    }
    Ok(Constants::of(&spec)?)
}
