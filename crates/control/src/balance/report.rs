//! `BalanceReport`: services and backends of the balancers of this namespace, with what was sent.

use std::collections::BTreeMap;
use std::net::IpAddr;

use functions::balancer::{self, Live, Service, State, abi};
use functions::stats::Count;
use serde::Serialize;
use spec::Map as _;
use sys::net::Netlink;
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use super::Running;
use crate::Control;
use crate::error::Result;
use crate::record::Record;
use crate::state::State as Pins;

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
    /// `up`, `drain` or `down`.
    pub state: &'static str,
    /// Packets that were sent to it.
    pub packets: u64,
    /// Bytes of these packets as they came in, from the Ethernet header on.
    pub bytes: u64,
    /// Flows that are remembered for it, translated ones among them.
    pub flows: u64,
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

/// The balancers of this namespace, with the names of their interfaces.
pub(super) fn balancers(control: &Control) -> Result<Vec<(String, Running)>> {
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

fn balancer(interface: String, running: &Running) -> Result<BalancerReport> {
    let maps = running.maps()?;
    let live = Live::read(&maps.named())?;
    let counts = running.generation.map(balancer::COUNTS)?.array()?;
    let mut flows: BTreeMap<u16, u64> = BTreeMap::new();
    for flow in balancer::flows(maps.named().flows, monotonic_ns())? {
        *flows.entry(flow.backend).or_default() += 1;
    }
    let config = Record::read(&running.generation)?.and_then(|record| record.balance);
    let config = config.unwrap_or_default();
    let groups = running.generation.map_if_kept(balancer::NAT_GROUPS)?;
    if let (Some(groups), Some(nat)) = (groups, &config.nat) {
        for (backend, count) in balancer::nat_flows(&groups, nat, monotonic_ns())? {
            *flows.entry(backend).or_default() += count;
        }
    }
    let reading = Reading { live, counts, flows };
    let services = config.services.iter().map(|service| reading.service(service)).collect();
    let events = running.generation.map(balancer::EVENTS)?.array()?;
    let events = abi::Event::ALL.iter().zip(events);
    let sum = |value: &[u8]| {
        let words = value.chunks_exact(8).filter_map(|word| word.first_chunk());
        words.map(|word| u64::from_le_bytes(*word)).sum()
    };
    let events = events.map(|(event, value)| (event.label(), sum(&value))).collect();
    Ok(BalancerReport { interface, services, events })
}

struct Reading {
    live: Live,
    /// By number of the backend.
    counts: Vec<Vec<u8>>,
    flows: BTreeMap<u16, u64>,
}

impl Reading {
    fn service(&self, service: &Service) -> ServiceReport {
        let mut backends: Vec<BackendReport> = service
            .backends
            .iter()
            .map(|one| {
                let number = self.live.number_of(&service.name, one.address);
                self.backend(number, one.address, one.weight, one.state)
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
            backends,
        }
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
        BackendReport { address, weight, state: state.name(), packets, bytes, flows }
    }
}
