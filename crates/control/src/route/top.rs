//! `TopMonitor`: the busiest destination networks of the routers of this namespace.
//!
//! Rule: programs count one of several packets by network; figures here are estimates of all of
//! them.

use std::collections::BTreeMap;
use std::time::Instant;

use functions::route;
use functions::stats::Count;
use packet::Prefix;
use serde::Serialize;

use super::report::routers;
use crate::Control;
use crate::error::Result;
use crate::rates::Rate;

/// The busiest destination networks.
#[derive(Clone, Debug, Serialize)]
pub struct RouteTop {
    /// Time over which rates were measured, in seconds.
    pub interval_s: f64,
    /// Number of routed packets of which one is counted. The other figures are estimates of all
    /// packets, rough for networks with few samples.
    pub sampled_one_in: u64,
    /// Networks of routed packets, the busiest first.
    pub networks: Vec<NetworkRate>,
}

/// A destination network.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkRate {
    /// Network of 24 bits for IPv4 and 48 bits for IPv6.
    pub network: String,
    #[serde(flatten)]
    pub rate: Rate,
    /// Its share of the packets of the interval.
    pub share: f64,
}

/// Reads samples repeatedly: rates need those of the previous reading.
#[derive(Debug)]
pub struct TopMonitor {
    control: Control,
    at: Instant,
    last: BTreeMap<Prefix, Count>,
}

impl TopMonitor {
    /// Begins with a first reading.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub fn new(control: &Control) -> Result<Self> {
        let last = read(control)?;
        Ok(Self { control: control.clone(), at: Instant::now(), last })
    }

    /// Networks with rates since the previous reading.
    ///
    /// # Errors
    /// The state directory cannot be read.
    pub fn read(&mut self) -> Result<RouteTop> {
        let (now, at) = (read(&self.control)?, Instant::now());
        let seconds = at.duration_since(self.at).as_secs_f64();
        let before = std::mem::replace(&mut self.last, now);
        self.at = at;
        Ok(between(&before, &self.last, seconds))
    }
}

fn between(
    before: &BTreeMap<Prefix, Count>,
    now: &BTreeMap<Prefix, Count>,
    seconds: f64,
) -> RouteTop {
    let rate = |(network, count): (&Prefix, &Count)| {
        let old = before.get(network).copied().unwrap_or_default();
        (network.to_string(), Rate::between(old, *count, seconds))
    };
    let rates: Vec<_> = now.iter().map(rate).collect();
    let all: f64 = rates.iter().map(|(_, rate)| rate.pps).sum();
    let mut networks: Vec<_> = rates
        .into_iter()
        .map(|(network, rate)| {
            let share = if all > 0.0 { rate.pps / all } else { 0.0 };
            NetworkRate { network, rate, share }
        })
        .collect();
    networks.sort_by(|one, other| {
        let by_rate = other.rate.pps.total_cmp(&one.rate.pps);
        by_rate.then(other.rate.packets.cmp(&one.rate.packets))
    });
    RouteTop { interval_s: seconds, sampled_one_in: route::SAMPLED, networks }
}

/// Estimates of all packets by network, of all routers.
fn read(control: &Control) -> Result<BTreeMap<Prefix, Count>> {
    let mut sum: BTreeMap<Prefix, Count> = BTreeMap::new();
    let mut seen = Vec::new();
    for (_, router) in routers(control)? {
        let Some(map) = router.map_if_kept(route::NETWORKS)? else { continue };
        // The programs of a router share it.
        if seen.contains(&map.info().id) {
            continue;
        }
        seen.push(map.info().id);
        for (network, count) in route::networks(&map)? {
            *sum.entry(network).or_default() += count;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_network_is_first() {
        let networks = |counts: [u64; 3]| {
            let names = ["10.0.0.0/24", "10.0.1.0/24", "2001:db8::/48"];
            let count = |packets| Count { packets, bytes: 100 * packets };
            names.iter().zip(counts).map(|(name, n)| (name.parse().unwrap(), count(n))).collect()
        };
        let top = between(&networks([10, 0, 5]), &networks([10, 20, 65]), 2.0);
        let rows = top.networks.iter();
        let rows: Vec<_> = rows.map(|one| (&*one.network, one.rate.pps, one.share)).collect();
        let expected =
            [("2001:db8::/48", 30.0, 0.75), ("10.0.1.0/24", 10.0, 0.25), ("10.0.0.0/24", 0.0, 0.0)];
        assert_eq!(rows, expected);
        assert_eq!(top.networks[0].rate.bps, 24_000.0);
    }
}
