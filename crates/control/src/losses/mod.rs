//! Lost frames of an interface: how many, why, and what to change.
//!
//! Programs at the kernel's tracepoints (`functions::losses`) count frames that XDP lost, each once
//! and with its cause. Beside them stand the packets that programs dropped on purpose, and the
//! counters of the interface and its driver that grew, which may contain the same frames again.
//! Rule: nothing that runs on the interface is changed. Not here: which packets are dropped
//! (`capture`).

mod cause;
mod report;

use std::collections::BTreeMap;
use std::time::Instant;

use functions::losses::{self, CAUSES, Key, LossCounts, NETNS, OTHER, PROGRAMS, Point};
use kernel::{Link, LoadOptions, Map, Object, Program};
use spec::{MapKind, Spec};
use sys::errno::ENOENT;
use sys::net::ethtool::Ethtool;
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;

pub use cause::Cause;
use cause::Subject;
pub use report::{DropRow, GrownCounter, Loss, LossReport};

use crate::Control;
use crate::error::Result;
use crate::inventory::{MapName, ProgramName};
use crate::status::{Running, StatusMonitor};
use crate::target::find_link;

/// Counts lost frames of an interface as long as it exists.
#[derive(Debug)]
pub struct LossMonitor {
    interface: String,
    ifindex: Ifindex,
    causes: Map,
    other: Map,
    status: StatusMonitor,
    /// Packets that programs had dropped before, and counters of the interface.
    drops: BTreeMap<DropKey, u64>,
    counters: BTreeMap<CounterKey, u64>,
    begin: Instant,
    _watching: Vec<Link>,
}

/// Id of the program, and the reason that it gives.
type DropKey = (u32, Option<String>);
/// Whether the driver has the counter, and its name.
type CounterKey = (bool, String);

impl LossMonitor {
    /// Begins to count.
    ///
    /// # Errors
    /// There is no such interface, or the process lacks `CAP_BPF` and `CAP_PERFMON`.
    pub fn start(control: &Control, interface: &str) -> Result<Self> {
        let status = StatusMonitor::new(control, Some(interface))?;
        let ifindex = find_link(interface)?.ifindex;
        let mut spec = Spec::parse("losses", losses::OBJECT)?;
        let netns = NetNs::current()?.id()?.inode as u32;
        spec.set_global(NETNS, &netns.to_ne_bytes())?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        let mut monitor = Self {
            interface: interface.to_owned(),
            ifindex,
            causes: object.map(CAUSES)?.duplicate()?,
            other: object.map(OTHER)?.duplicate()?,
            status,
            drops: BTreeMap::new(),
            counters: counters(interface)?,
            begin: Instant::now(),
            _watching: watch(&object)?,
        };
        monitor.drops = drops(&monitor.running()?).map(|row| (row.key(), row.packets)).collect();
        Ok(monitor)
    }

    /// Everything that was lost since the start.
    ///
    /// # Errors
    /// The interface no longer exists, or counters cannot be read.
    pub fn read(&mut self) -> Result<LossReport> {
        let counts = LossCounts::read(&self.causes, &self.other)?;
        let running = self.running()?;
        let mut rows: Vec<_> = drops(&running).collect();
        for row in &mut rows {
            let before = self.drops.get(&row.key()).copied().unwrap_or_default();
            row.packets = row.packets.saturating_sub(before);
        }
        rows.retain(|row| row.packets > 0);
        let names = Names::read(&running)?;
        let mut found: Vec<_> = counts
            .causes
            .iter()
            .filter_map(|(key, frames)| self.loss(key, *frames, &names))
            .collect();
        found.sort_by_key(|loss| std::cmp::Reverse(loss.frames));
        Ok(LossReport {
            interface: self.interface.clone(),
            seconds: self.begin.elapsed().as_secs_f64(),
            lost: found.iter().map(|loss| loss.frames).sum(),
            losses: found,
            uncounted: counts.other,
            drops: rows,
            counters: self.grown()?,
        })
    }

    fn running(&mut self) -> Result<Vec<Running>> {
        let interfaces = self.status.read()?.interfaces;
        Ok(interfaces.into_iter().flat_map(|interface| interface.programs).collect())
    }

    /// What the interface has to do with a cause; `None` if nothing.
    fn loss(&self, key: &Key, frames: u64, names: &Names) -> Option<Loss> {
        let is_cpu = matches!(key.point(), Some(Point::CpuQueue | Point::CpuStack));
        let concerns = match is_cpu {
            true => names.uses(key.map),
            false => [key.ifindex, key.target].contains(&self.ifindex.0),
        };
        let target = if key.point() == Some(Point::Tx) { key.ifindex } else { key.target };
        let cause = Cause::of(key, names.is_veth(target)).filter(|_| concerns && frames > 0)?;
        let map = (key.map != 0).then(|| names.map(key.map));
        let subject = Subject {
            interface: self.interface.clone(),
            target: names.interface(target).unwrap_or_else(|| "the target".to_owned()),
            peer: names.peer(target),
            map: map.as_ref().map(|map| map.name.clone()),
            redirect_maps: names.redirect_maps(key.program),
        };
        Some(Loss {
            cause,
            frames,
            received_on: names.interface(key.ifindex),
            target: names.interface(target),
            errno: Cause::has_errno(key).then(|| cause::errno_name(key)),
            program: (key.program != 0).then(|| names.program(key.program)),
            key: map.is_some().then_some(key.index),
            map,
            reason: cause.reason(key, &subject),
            remedy: cause.remedy(&subject),
        })
    }

    /// Counters of the interface that stand for lost packets and grew.
    fn grown(&self) -> Result<Vec<GrownCounter>> {
        let now = counters(&self.interface)?;
        let grown = now.into_iter().filter_map(|((of_driver, name), value)| {
            let key = (of_driver, name);
            let before = self.counters.get(&key).copied().unwrap_or_default();
            let increase = value.saturating_sub(before);
            (increase > 0).then_some(GrownCounter { of_driver, name: key.1, increase })
        });
        Ok(grown.collect())
    }
}

/// Attaches all programs. A kernel without one of the tracepoints has no losses there.
fn watch(object: &Object) -> Result<Vec<Link>> {
    let mut watching = Vec::new();
    for (program, point) in PROGRAMS {
        match kernel::attach_raw_tracepoint(object.program(program)?, point) {
            Err(error) if error.errno() == Some(ENOENT) => {}
            link => watching.push(link?),
        }
    }
    Ok(watching)
}

/// Packets that programs dropped on purpose, by their own counters.
fn drops(running: &[Running]) -> impl Iterator<Item = DropRow> {
    running.iter().flat_map(|program| {
        let row = |reason: Option<&str>, packets| DropRow {
            program: ProgramName { id: program.id, name: program.name.clone().unwrap_or_default() },
            reason: reason.map(str::to_owned),
            packets,
        };
        let rates = program.rates.iter();
        rates.flat_map(move |rates| {
            let by_reason = rates.reasons.iter().filter(|reason| reason.verdict == DROP);
            let rows = by_reason.map(|one| row(Some(&one.reason), one.rate.packets));
            let all = rates.verdicts.get(DROP).filter(|_| rates.reasons.is_empty());
            rows.chain(all.map(|rate| row(None, rate.packets))).collect::<Vec<_>>()
        })
    })
}

/// Counters of lost packets of the interface and of its driver.
fn counters(interface: &str) -> Result<BTreeMap<CounterKey, u64>> {
    let stats = Netlink::open()?.link(interface)?.statistics;
    let own = [
        ("rx_errors", stats.rx_errors),
        ("rx_dropped", stats.rx_dropped),
        ("rx_missed_errors", stats.rx_missed),
        ("rx_fifo_errors", stats.rx_fifo_errors),
        ("rx_nohandler", stats.rx_unhandled),
        ("tx_errors", stats.tx_errors),
        ("tx_dropped", stats.tx_dropped),
    ];
    let own = own.map(|(name, value)| ((false, name.to_owned()), value));
    // A driver without counters has none to report.
    let of_driver = Ethtool::open()?.statistics(interface).unwrap_or_default();
    let of_driver = of_driver.into_iter().filter(|(name, _)| is_loss(name));
    Ok(own.into_iter().chain(of_driver.map(|(name, value)| ((true, name), value))).collect())
}

/// Whether a driver counts lost packets under this name.
fn is_loss(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LOSS_WORDS.iter().any(|word| name.contains(word))
}

/// Names of what keys have as numbers, read once for a report.
#[derive(Debug, Default)]
struct Names {
    links: Vec<sys::net::Link>,
    programs: BTreeMap<u32, kernel::ProgInfo>,
    /// A program of the interface could not be opened, so its maps are unknown.
    is_partial: bool,
}

impl Names {
    fn read(running: &[Running]) -> Result<Self> {
        let mut names = Self { links: Netlink::open()?.links()?, ..Self::default() };
        for program in running {
            match Program::from_id(program.id).and_then(|program| program.info()) {
                Ok(info) => drop(names.programs.insert(program.id, info)),
                Err(_) => names.is_partial = true,
            }
        }
        Ok(names)
    }

    fn link(&self, ifindex: u32) -> Option<&sys::net::Link> {
        self.links.iter().find(|link| link.ifindex.0 == ifindex)
    }

    fn interface(&self, ifindex: u32) -> Option<String> {
        self.link(ifindex).map(|link| link.name.clone())
    }

    fn is_veth(&self, ifindex: u32) -> bool {
        self.link(ifindex).is_some_and(|link| link.kind == "veth")
    }

    /// Name of a veth's other end, if it is in this namespace.
    fn peer(&self, ifindex: u32) -> Option<String> {
        let link = self.link(ifindex).filter(|link| link.kind == "veth" && !link.peer_elsewhere)?;
        self.interface(link.peer?.0)
    }

    /// Whether a program of the interface uses a map.
    fn uses(&self, map: u32) -> bool {
        self.is_partial || self.programs.values().any(|info| info.map_ids.contains(&map))
    }

    fn program(&self, id: u32) -> ProgramName {
        let name = self.programs.get(&id).map(|info| info.name.clone()).unwrap_or_default();
        ProgramName { id, name }
    }

    /// Opening a map by its id needs `CAP_SYS_ADMIN`; without it, the map goes by its id.
    fn map(&self, id: u32) -> MapName {
        let name = Map::from_id(id).map_or_else(|_| id.to_string(), |map| map.name().to_owned());
        MapName { id, name }
    }

    /// Maps of a program that hold targets of redirects.
    fn redirect_maps(&self, program: u32) -> Vec<String> {
        let ids = self.programs.get(&program).map(|info| info.map_ids.clone()).unwrap_or_default();
        let maps = ids.into_iter().filter_map(|id| Map::from_id(id).ok());
        maps.filter(|map| TARGETS.contains(&map.kind())).map(|map| map.name().to_owned()).collect()
    }
}

const DROP: &str = "drop";
const LOSS_WORDS: [&str; 10] =
    ["drop", "err", "miss", "discard", "overrun", "fifo", "no_buf", "full", "fail", "abort"];
const TARGETS: [MapKind; 4] =
    [MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::CPUMAP, MapKind::XSKMAP];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_losses_are_known_by_their_names() {
        for name in ["rx_queue_0_xdp_drops", "rx_missed_errors", "tx_busy_FIFO", "rx_xdp_aborted"] {
            assert!(is_loss(name), "{name}");
        }
        for name in ["rx_queue_0_xdp_packets", "tx_bytes", "peer_ifindex"] {
            assert!(!is_loss(name), "{name}");
        }
    }
}
