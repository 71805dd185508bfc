//! `Ways`: next hops of backends, as the kernel has them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use packet::Mac;
use sys::net::{Hop, Ifindex, Netlink};

use crate::error::Result;

/// What is known about the way to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Out of this interface, to this address.
    Known(Ifindex, Mac),
    /// The kernel resolves the next hop.
    Resolving,
    /// There is no route.
    None,
}

/// Next hops that the kernel was requested to resolve.
#[derive(Debug)]
pub struct Ways {
    netlink: Netlink,
    routes: BTreeMap<IpAddr, (Duration, Option<Hop>)>,
    neighbours: BTreeMap<(Ifindex, IpAddr), Mac>,
    /// When the neighbors were read.
    read_at: Duration,
}

impl Ways {
    pub fn open() -> Result<Self> {
        let (routes, neighbours) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { netlink: Netlink::open()?, routes, neighbours, read_at: Duration::ZERO })
    }

    /// The way to a backend. What was resolved lately is not resolved again.
    pub fn find(&mut self, backend: IpAddr, now: Duration) -> Way {
        let known = self.routes.get(&backend).filter(|one| now < one.0 + FRESH);
        let hop = match known {
            Some((_, hop)) => *hop,
            None => {
                let hop = self.netlink.way_to(backend).ok().flatten();
                self.routes.insert(backend, (now, hop));
                hop
            }
        };
        let Some(hop) = hop else { return Way::None };
        let to = hop.via.unwrap_or(backend);
        if let Some(mac) = self.neighbours.get(&(hop.ifindex, to))
            && now < self.read_at + FRESH
        {
            return Way::Known(hop.ifindex, *mac);
        }
        if now >= self.read_at + PAUSE {
            self.read(now);
        }
        match self.neighbours.get(&(hop.ifindex, to)) {
            Some(mac) => Way::Known(hop.ifindex, *mac),
            None => {
                // An interface without neighbors refuses, such as a tunnel.
                let _ = self.netlink.ask_neighbour(hop.ifindex, to);
                Way::Resolving
            }
        }
    }

    /// Forgets backends that nothing asks for.
    pub fn forget(&mut self, now: Duration) {
        self.routes.retain(|_, (at, _)| now < *at + FRESH);
    }

    fn read(&mut self, now: Duration) {
        let Ok(all) = self.netlink.neighbours() else { return };
        let known = all.into_iter().filter(|one| !one.has_failed());
        self.neighbours = known.filter_map(|one| Some(((one.ifindex, one.ip), one.mac?))).collect();
        self.read_at = now;
    }
}

/// Time for which routes and neighbors that were read are used.
const FRESH: Duration = Duration::from_secs(1);
/// Shortest time between two readings of the neighbors.
const PAUSE: Duration = Duration::from_millis(100);
