//! `why`: which backend a flow has, and what decided that.

use std::net::{IpAddr, SocketAddr};

use functions::balancer::{
    self, Config, Constants, DecidedBy, Live, NAT_ENTRIES, NAT_GROUPS, NatMaps, Query, State,
    Translation,
};
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
    /// Name of the service; `null` if it is not in the file any more, and only answers of the flow
    /// are still translated.
    pub service: Option<String>,
    /// Slot of the flow in the table of the service; `null` without a service.
    pub slot: Option<u16>,
    /// Address of the backend that packets of the flow go to; `null` if the service has none.
    pub backend: Option<IpAddr>,
    /// What decided that: `slot`, `id` (the QUIC connection ID), `flow` (remembered since the last
    /// change), `former` (older than the last change), `drain` (the same, and the backend gets no
    /// new connections) or `translation` (the entry of a flow with delivery `nat`).
    pub by: &'static str,
    /// Address of the backend that a new connection of the flow goes to.
    pub new: Option<IpAddr>,
    /// The entry of a flow whose addresses are translated; `null` if it has none.
    pub translation: Option<BalanceTranslation>,
}

/// The entry of a flow whose addresses are translated. The ports of an echo are its identifier, or
/// 0 on the sides that have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BalanceTranslation {
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port that the client sends to.
    pub service: SocketAddr,
    /// Address and port of the balancer that packets to the backend come from.
    pub source: SocketAddr,
    /// Address and port of the backend.
    pub backend: SocketAddr,
    /// `unanswered`, `unconfirmed` (the client did not confirm the answer), `established`, `reset`
    /// (by the client's side) or `closed`.
    pub state: &'static str,
    /// Seconds since the last packet.
    pub age_s: u64,
}

impl BalanceTranslation {
    const fn of(found: &Translation) -> Self {
        let Translation { client, service, source, backend, age_s, .. } = *found;
        Self { client, service, source, backend, state: found.state.name(), age_s }
    }
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
    let nat = [NAT_GROUPS, NAT_ENTRIES].map(|name| running.generation.map_if_kept(name));
    let [groups, entries] = nat;
    let (groups, entries) = (groups?, entries?);
    let nat = groups.as_ref().zip(entries.as_ref());
    let nat = nat.map(|(groups, entries)| NatMaps { groups, entries });
    let maps = (&maps.named(), &live, nat);
    let found = balancer::explain(&config, &constants, maps, query, monotonic_ns())?;
    Ok(found.map(|found| {
        let address = |number: Option<u16>| live.address(number?);
        let backend = address(found.backend);
        let mut known = found.service.iter().flat_map(|one| &one.backends);
        let known = known.find(|one| Some(one.address) == backend);
        let drains = known.is_none_or(|one| one.state == State::Drain);
        let by = match found.by {
            DecidedBy::Former if drains => "drain",
            by => by.name(),
        };
        let service = found.service.map(|one| one.name.clone());
        let (flow, slot, new) = (query.flow.to_string(), found.slot, address(found.new));
        let translation = found.translation.as_ref().map(BalanceTranslation::of);
        BalanceExplanation { interface, flow, service, slot, backend, by, new, translation }
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
