//! `Reading`: everything that an overview is computed from, as totals at one moment.

use std::collections::BTreeMap;

use sys::cpu::CpuActivity;
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, XskListed, xsk_listed};

use super::queues::{QueueCounter, queue_counter};
use crate::snapshot::Snapshot;

/// Totals of a namespace and of the processors.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Interfaces and programs.
    pub snapshot: Snapshot,
    /// The drivers' own counters, by name, of interfaces with programs or sockets.
    pub driver: BTreeMap<Ifindex, BTreeMap<String, u64>>,
    /// `AF_XDP` sockets; none where the kernel does not list them.
    pub sockets: Vec<XskListed>,
    /// Processors that run, by number.
    pub cpus: BTreeMap<usize, CpuActivity>,
}

/// Counters of a queue: its direction and number, and what they count.
pub type Queues<'a> = BTreeMap<(&'static str, u32), Vec<(&'a str, &'a str, u64)>>;

impl Reading {
    /// Completes a snapshot. What a kernel or a driver does not have is left out.
    pub fn complete(snapshot: Snapshot, ethtool: &Ethtool) -> Self {
        let sockets: Vec<_> = xsk_listed().unwrap_or_default();
        let is_bound = |ifindex: Ifindex| {
            sockets.iter().any(|socket| socket.bound.is_some_and(|(at, _)| at == ifindex))
        };
        let observed = snapshot
            .interfaces
            .iter()
            .filter(|one| !one.programs.is_empty() || is_bound(one.link.ifindex));
        let driver = observed.map(|one| {
            let counters = ethtool.statistics(&one.link.name).unwrap_or_default();
            (one.link.ifindex, counters.into_iter().collect())
        });
        let (driver, cpus) = (driver.collect(), sys::cpu::activity().unwrap_or_default());
        Self { snapshot, driver, sockets, cpus }
    }

    /// A counter of an interface's driver.
    pub fn of_driver(&self, ifindex: Ifindex, name: &str) -> Option<u64> {
        self.driver.get(&ifindex)?.get(name).copied()
    }

    /// Counters of an interface's queues: what each counts, its name, and its value.
    pub fn queues(&self, ifindex: Ifindex) -> Queues<'_> {
        let mut queues = Queues::new();
        for (name, value) in self.driver.get(&ifindex).into_iter().flatten() {
            if let Some(QueueCounter { direction, queue, what }) = queue_counter(name) {
                queues.entry((direction, queue)).or_default().push((what, name, *value));
            }
        }
        queues
    }
}
