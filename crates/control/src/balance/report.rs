//! `BalanceReport`: services and backends of the balancers of this namespace, with what was sent.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use functions::balancer::sync::now_units;
use functions::balancer::{self, Backend, Live, Out, Service, State, abi};
use functions::stats::Count;
use packet::Prefix;
use serde::Serialize;
use spec::Map as _;
use sys::thread::monotonic_ns;

use super::health::Details;
use super::sync::{FlowMemory, SyncStatus};
use super::{Running, announce, balancers};
use crate::Control;
use crate::error::Result;
use crate::record::Record;

/// What the balancers of this network namespace do.
#[derive(Clone, Debug, Serialize)]
pub struct BalanceReport {
    /// Interfaces that run a balancer.
    pub balancers: Vec<BalancerReport>,
}

/// A balancer on an interface.
#[derive(Clone, Debug, Serialize)]
pub struct BalancerReport {
    /// Name of the interface.
    pub interface: String,
    /// Services, in the order of the file.
    pub services: Vec<ServiceReport>,
    /// What the memory of flows did, by event, since the program was attached.
    pub events: BTreeMap<&'static str, u64>,
    /// How it is synchronized with other balancers; null if its file names none and no process
    /// synchronizes it.
    pub sync: Option<SyncStatus>,
}

/// A service with its backends.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceReport {
    /// Name of the service.
    pub name: String,
    /// Address or network.
    pub address: String,
    /// `tcp`, `udp` or `icmp`.
    pub protocol: String,
    /// `any`, a port, or two.
    pub port: String,
    /// What is checked: `tcp`, `http`, `udp` or `icmp`; null if nothing is.
    pub check: Option<&'static str>,
    /// Whether backends that fail are in use because too many do (`most`).
    pub fails_open: bool,
    /// Whether the routing table of `announce` has a route to its address or network; null if the
    /// file does not announce it.
    pub announced: Option<bool>,
    /// Backends, also those that are in the file no more while they drain.
    pub backends: Vec<BackendReport>,
}

/// A backend of a service.
#[derive(Clone, Debug, Serialize)]
pub struct BackendReport {
    /// Where packets are delivered to.
    pub address: IpAddr,
    /// Share of new connections, relative to those of others.
    pub weight: u16,
    /// `up`, `drain` or `down`; what checks took out is `down`.
    pub state: &'static str,
    /// What its checks found; null if it is not checked.
    pub health: Option<HealthReport>,
    /// Packets that were sent to it.
    pub packets: u64,
    /// Bytes of these packets as they came in, from the Ethernet header on.
    pub bytes: u64,
    /// Flows that are remembered for it, translated ones among them.
    pub flows: u64,
}

/// What the checks of a backend found.
#[derive(Clone, Debug, Serialize)]
pub struct HealthReport {
    /// `unknown` before the first check, `up`, `failing` (in use only because too many fail), or
    /// `down`.
    pub state: String,
    /// Seconds since it was taken out or came back, or was found up first; null before the first
    /// check.
    pub for_s: Option<f64>,
    /// Why its last failed check failed; empty if none failed.
    pub reason: String,
}

/// Reads the balancers of this namespace.
///
/// # Errors
/// The state directory cannot be read.
pub fn show(control: &Control) -> Result<BalanceReport> {
    let all = balancers(control)?.into_iter();
    let reports = all.map(|(interface, running)| balancer(interface, &running));
    Ok(BalanceReport { balancers: reports.collect::<Result<_>>()? })
}

fn balancer(interface: String, running: &Running) -> Result<BalancerReport> {
    let maps = running.maps()?;
    let live = Live::read(&maps.named())?;
    let counts = running.generation.map(balancer::COUNTS)?.array()?;
    let mut flows: BTreeMap<u16, u64> = BTreeMap::new();
    FlowMemory::read_only(maps.named().flows)?
        .remembered(now_units(monotonic_ns()))
        .for_each(|flow| *flows.entry(flow.backend).or_default() += 1);
    let config = Record::read(&running.generation)?.and_then(|record| record.balance);
    let config = config.unwrap_or_default();
    let groups = running.generation.map_if_kept(balancer::NAT_GROUPS)?;
    if let (Some(groups), Some(nat)) = (groups, &config.nat) {
        for (backend, count) in balancer::nat_flows(&groups, nat, monotonic_ns())? {
            *flows.entry(backend).or_default() += count;
        }
    }
    let out = live.out(&config);
    let details = Details::read(&running.generation)?;
    let reading = Reading { live, counts, flows, out, details };
    let announced = announce::announced(&config)?;
    let services = config.services.iter().map(|service| {
        let announced = announced.as_ref().filter(|_| config.announces(service));
        let announced = announced.map(|all: &BTreeSet<Prefix>| all.contains(&service.address.0));
        ServiceReport { announced, ..reading.service(service) }
    });
    let services = services.collect();
    let events = running.generation.map(balancer::EVENTS)?.array()?;
    let events = abi::Event::ALL.iter().zip(events);
    let sum = |value: &[u8]| {
        let words = value.chunks_exact(8).filter_map(|word| word.first_chunk());
        words.map(|word| u64::from_le_bytes(*word)).sum()
    };
    let events = events.map(|(event, value)| (event.label(), sum(&value))).collect();
    Ok(BalancerReport { interface, services, events, sync: SyncStatus::of(running)? })
}

struct Reading {
    live: Live,
    /// By number of the backend.
    counts: Vec<Vec<u8>>,
    flows: BTreeMap<u16, u64>,
    out: Out,
    details: Details,
}

impl Reading {
    fn service(&self, service: &Service) -> ServiceReport {
        let mut backends: Vec<BackendReport> = service
            .backends
            .iter()
            .map(|one| {
                let number = self.live.number_of(&service.name, one.address);
                let health = self.health(service, one);
                let is_out = health.as_ref().is_some_and(|one| one.state == DOWN);
                let state = if is_out { State::Down } else { one.state };
                let report = self.backend(number, one.address, one.weight, state);
                BackendReport { health, ..report }
            })
            .collect();
        let gone = self.live.others(&service.name, |address| {
            service.backends.iter().any(|one| one.address == address)
        });
        backends.extend(
            gone.into_iter()
                .map(|(number, address)| self.backend(Some(number), address, 0, State::Drain)),
        );
        ServiceReport {
            name: service.name.clone(),
            address: String::from(service.address),
            protocol: service.protocol.to_string(),
            port: service.port.to_string(),
            check: service.health.as_ref().map(|one| one.check.name()),
            fails_open: self.details.services.get(&service.name).is_some_and(|one| one.fails_open),
            announced: None,
            backends,
        }
    }

    /// What is known of a backend that is checked; whether it is out is in the maps.
    fn health(&self, service: &Service, backend: &Backend) -> Option<HealthReport> {
        service.health.as_ref()?;
        let is_out = self.out.contains(&(service.name.clone(), backend.address));
        if backend.state == State::Down && !is_out {
            return None;
        }
        let detail = self.details.find(&service.name, backend.address);
        let state = detail.map(|one| &*one.state).filter(|state| (*state == DOWN) == is_out);
        let otherwise = if is_out { DOWN } else { "unknown" };
        let since = detail.filter(|_| state.is_some_and(|state| state != "unknown"));
        let now = monotonic_ns() / 1_000_000;
        Some(HealthReport {
            state: state.unwrap_or(otherwise).to_owned(),
            for_s: since.map(|one| now.saturating_sub(one.since_ms) as f64 / 1e3),
            reason: detail.map(|one| one.reason.clone()).unwrap_or_default(),
        })
    }

    fn backend(
        &self,
        number: Option<u16>,
        address: IpAddr,
        weight: u16,
        state: State,
    ) -> BackendReport {
        let count = number.and_then(|number| self.counts.get(usize::from(number)));
        let Count { packets, bytes } = count.map(|one| Count::sum(one)).unwrap_or_default();
        let flows = number.and_then(|number| self.flows.get(&number)).copied().unwrap_or_default();
        let (state, health) = (state.name(), None);
        BackendReport { address, weight, state, health, packets, bytes, flows }
    }
}

/// State of a backend that is taken out.
const DOWN: &str = "down";
