//! `BalanceMonitor`: what balancers send to each backend, as rates.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use functions::stats::Count;
use serde::Serialize;

use super::report::{BalanceReport, show};
use crate::Control;
use crate::error::Result;
use crate::rates::Rate;

/// The busiest backends.
#[derive(Clone, Debug, Serialize)]
pub struct BalanceTop {
    /// Time over which rates were measured, in seconds.
    pub interval_s: f64,
    /// Backends of all services, the busiest first.
    pub backends: Vec<BackendRate>,
}

/// A backend of a service.
#[derive(Clone, Debug, Serialize)]
pub struct BackendRate {
    /// Interface of the balancer.
    pub interface: String,
    /// Name of the service.
    pub service: String,
    /// Address of the backend.
    pub address: IpAddr,
    /// `up`, `drain` or `down`.
    pub state: &'static str,
    /// Flows that are remembered for it.
    pub flows: u64,
    #[serde(flatten)]
    pub rate: Rate,
    /// Its share of the packets that its service had in the interval.
    pub share: f64,
}

/// Reads balancers repeatedly: rates need the counts of the previous reading.
#[derive(Debug)]
pub struct BalanceMonitor {
    control: Control,
    at: Instant,
    last: BTreeMap<Place, Count>,
}

/// Interface, service and backend.
type Place = (String, String, IpAddr);

impl BalanceMonitor {
    /// Begins with a first reading.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub fn new(control: &Control) -> Result<Self> {
        let last = counts(&show(control)?);
        Ok(Self { control: control.clone(), at: Instant::now(), last })
    }

    /// Backends with rates since the previous reading.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub fn read(&mut self) -> Result<BalanceTop> {
        let (report, at) = (show(&self.control)?, Instant::now());
        let seconds = at.duration_since(self.at).as_secs_f64();
        let top = between(&self.last, &report, seconds);
        (self.last, self.at) = (counts(&report), at);
        Ok(top)
    }
}

fn counts(report: &BalanceReport) -> BTreeMap<Place, Count> {
    let mut counts = BTreeMap::new();
    for balancer in &report.balancers {
        for service in &balancer.services {
            for one in &service.backends {
                let place = (balancer.interface.clone(), service.name.clone(), one.address);
                counts.insert(place, Count { packets: one.packets, bytes: one.bytes });
            }
        }
    }
    counts
}

fn between(before: &BTreeMap<Place, Count>, now: &BalanceReport, seconds: f64) -> BalanceTop {
    let mut backends = Vec::new();
    for balancer in &now.balancers {
        for service in &balancer.services {
            let rates = service.backends.iter().map(|one| {
                let place = (balancer.interface.clone(), service.name.clone(), one.address);
                let old = before.get(&place).copied().unwrap_or_default();
                let count = Count { packets: one.packets, bytes: one.bytes };
                Rate::between(old, count, seconds)
            });
            let rates: Vec<_> = rates.collect();
            let all: f64 = rates.iter().map(|rate| rate.pps).sum();
            let rows = service.backends.iter().zip(rates);
            backends.extend(rows.map(|(one, rate)| BackendRate {
                interface: balancer.interface.clone(),
                service: service.name.clone(),
                address: one.address,
                state: one.state,
                flows: one.flows,
                rate,
                share: if all > 0.0 { rate.pps / all } else { 0.0 },
            }));
        }
    }
    backends.sort_by(|one, other| {
        let by_rate = other.rate.pps.total_cmp(&one.rate.pps);
        by_rate.then(other.rate.packets.cmp(&one.rate.packets))
    });
    BalanceTop { interval_s: seconds, backends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::{BackendReport, BalancerReport, ServiceReport};

    fn report(packets: [u64; 3]) -> BalanceReport {
        let backend = |n: u8, packets| BackendReport {
            address: [10, 0, 1, n].into(),
            weight: 1,
            state: "up",
            health: None,
            packets,
            bytes: 100 * packets,
            flows: 0,
        };
        let service = |name: &str, backends| ServiceReport {
            name: name.to_owned(),
            address: "192.0.2.1/32".to_owned(),
            protocol: "tcp".to_owned(),
            port: "80".to_owned(),
            check: None,
            fails_open: false,
            announced: None,
            backends,
        };
        let [one, two, three] = packets;
        let services = vec![
            service("web", vec![backend(1, one), backend(2, two)]),
            service("mail", vec![backend(1, three)]),
        ];
        let interface = "eth0".to_owned();
        BalanceReport {
            balancers: vec![BalancerReport {
                interface,
                services,
                events: BTreeMap::new(),
                sync: None,
            }],
        }
    }

    #[test]
    fn the_busiest_backend_is_first_and_shares_are_of_a_service() {
        let top = between(&counts(&report([10, 0, 5])), &report([20, 30, 25]), 2.0);
        let rows = top.backends.iter().map(|one| (&*one.service, one.rate.pps, one.share));
        let expected = [("web", 15.0, 0.75), ("mail", 10.0, 1.0), ("web", 5.0, 0.25)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        let empty = between(&BTreeMap::new(), &report([0, 0, 0]), 1.0);
        assert!(empty.backends.iter().all(|one| one.share == 0.0));
    }
}
