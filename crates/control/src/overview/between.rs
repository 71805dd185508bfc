//! The difference of two readings.
//!
//! Rule: a pure function. A counter that went back, because it was made anew, has the rate 0; what
//! did not exist before has no rate yet.

use std::collections::{BTreeMap, HashSet};

use functions::stats::Count;
use spec::Verdict;
use sys::cpu::CpuActivity;
use sys::net::{Ifindex, Statistics, XskListed};

use super::reading::Reading;
use super::report::{
    CpuLoad, CpuVerdicts, InterfaceLoad, MemberLoad, Overview, ProgramLoad, QueueLoad, SocketLoad,
    Total, Traffic,
};
use crate::counters::{Counted, Counts};
use crate::rates::{Rate, Rates};
use crate::snapshot::{InterfaceTotals, MemberTotals, ProgramTotals};
use crate::status::Interval;

impl Overview {
    /// What happened between two readings. `cpus` are the numbers of the possible CPUs;
    /// `is_measured` if the kernel measured the time of runs.
    pub fn between(before: &Reading, now: &Reading, cpus: &[usize], is_measured: bool) -> Self {
        let interval = Interval::new(&before.snapshot, &now.snapshot, is_measured);
        let change = Change { before, now, cpus, interval };
        let interfaces = now.snapshot.interfaces.iter().map(|one| change.interface(one));
        Self {
            interval_s: change.interval.seconds,
            interfaces: interfaces.collect(),
            cpus: change.cpus(),
        }
    }
}

#[derive(Debug)]
struct Change<'a> {
    before: &'a Reading,
    now: &'a Reading,
    /// Numbers of the possible CPUs, in the order of per-CPU values.
    cpus: &'a [usize],
    interval: Interval<'a>,
}

/// Packets by the names of verdicts.
type Verdicts = BTreeMap<&'static str, Rate>;

impl Change<'_> {
    fn interface(&self, now: &InterfaceTotals) -> InterfaceLoad {
        let link = &now.link;
        let before = self.before.snapshot.interface(link.ifindex);
        let before = before.map_or(link.statistics, |one| one.link.statistics);
        let stats = (&before, &link.statistics);
        InterfaceLoad {
            name: link.name.clone(),
            ifindex: link.ifindex.0,
            up: link.up,
            mtu: link.mtu,
            rx: self.traffic(stats, |of| {
                let count = Count { packets: of.rx_packets, bytes: of.rx_bytes };
                (count, of.rx_errors, of.rx_dropped.wrapping_add(of.rx_missed))
            }),
            tx: self.traffic(stats, |of| {
                let count = Count { packets: of.tx_packets, bytes: of.tx_bytes };
                (count, of.tx_errors, of.tx_dropped)
            }),
            programs: now.programs.iter().map(|one| self.program(one)).collect(),
            queues: self.queues(link.ifindex),
            sockets: self.sockets(link.ifindex),
        }
    }

    /// `part` selects packets, errors and dropped packets.
    fn traffic(
        &self,
        (before, now): (&Statistics, &Statistics),
        part: impl Fn(&Statistics) -> (Count, u64, u64),
    ) -> Traffic {
        let ((then, old_errors, old_dropped), (now, errors, dropped)) = (part(before), part(now));
        Traffic {
            rate: Rate::between(then, now, self.interval.seconds),
            errors: self.total(old_errors, errors),
            dropped: self.total(old_dropped, dropped),
        }
    }

    fn total(&self, before: u64, now: u64) -> Total {
        let count = |packets| Count { packets, bytes: 0 };
        let rate = Rate::between(count(before), count(now), self.interval.seconds);
        Total { total: now, per_s: rate.pps }
    }

    /// A counter of 32 bits, which wraps around.
    fn wrapping(&self, before: u32, now: u32) -> Total {
        let increase = u64::from(now.wrapping_sub(before));
        Total { total: u64::from(now), per_s: self.total(0, increase).per_s }
    }

    fn program(&self, now: &ProgramTotals) -> ProgramLoad {
        ProgramLoad {
            running: self.interval.running(now),
            chain: now.members.iter().map(|one| self.member(one)).collect(),
            cpus: self.by_cpu(now),
            pins: now.pins.iter().map(|path| path.display().to_string()).collect(),
        }
    }

    fn member(&self, now: &MemberTotals) -> MemberLoad {
        let rates = now.counted.as_ref().map(|now| {
            let before = &self.interval.before(now).counts;
            Rates::between(before, &now.counts, self.interval.seconds)
        });
        MemberLoad {
            name: now.member.name.clone(),
            program: now.member.program.clone(),
            priority: now.member.priority,
            continue_on: now.member.continue_on.clone(),
            rates,
            ns: now.ns,
        }
    }

    /// The processors on which a program counted packets.
    fn by_cpu(&self, now: &ProgramTotals) -> Vec<CpuVerdicts> {
        let all = self.cpus.iter().enumerate().filter_map(|(index, cpu)| {
            let of_cpu = |one: &Counted| one.cpus.get(index).cloned().unwrap_or_default();
            let before = now.counts(|one| of_cpu(self.interval.before(one)))?;
            let verdicts = self.verdicts(&before, &now.counts(of_cpu)?);
            Some(CpuVerdicts { cpu: *cpu, verdicts })
        });
        all.filter(|one| !one.verdicts.is_empty()).collect()
    }

    fn verdicts(&self, before: &Counts, now: &Counts) -> Verdicts {
        let rate = |before, now| Rate::between(before, now, self.interval.seconds);
        let of = |one: Verdict| (one.name(), rate(before.verdict(one), now.verdict(one)));
        let mut all: Verdicts = Verdict::ALL.into_iter().map(of).collect();
        all.insert("invalid", rate(before.invalid, now.invalid));
        all.retain(|_, rate| rate.packets > 0);
        all
    }

    fn cpus(&self) -> Vec<CpuLoad> {
        let mut xdp: BTreeMap<usize, Verdicts> = BTreeMap::new();
        // A program that runs on several interfaces has the same counters on each.
        let mut seen = HashSet::new();
        let programs = self.now.snapshot.interfaces.iter().flat_map(|one| &one.programs);
        for program in programs {
            let is_new = |one: &Counted| seen.insert(one.origin);
            if program.all_counted().map(is_new).filter(|is_new| *is_new).count() == 0 {
                continue;
            }
            for CpuVerdicts { cpu, verdicts } in self.by_cpu(program) {
                let of_cpu = xdp.entry(cpu).or_default();
                for (verdict, rate) in verdicts {
                    *of_cpu.entry(verdict).or_default() += rate;
                }
            }
        }
        let cpus = self.now.cpus.iter();
        cpus.map(|(cpu, now)| self.cpu(*cpu, now, xdp.remove(cpu).unwrap_or_default())).collect()
    }

    fn cpu(&self, cpu: usize, now: &CpuActivity, verdicts: Verdicts) -> CpuLoad {
        let before = self.before.cpus.get(&cpu).unwrap_or(now);
        let passed = now.times.all.saturating_sub(before.times.all);
        let share = |before: u64, now: u64| {
            (passed > 0).then(|| (now.saturating_sub(before) as f64 / passed as f64).min(1.0))
        };
        let mut xdp = Rate::default();
        verdicts.values().for_each(|rate| xdp += *rate);
        CpuLoad {
            cpu,
            xdp,
            verdicts,
            stack: self.wrapping(before.stack_packets, now.stack_packets),
            backlog_dropped: self.wrapping(before.backlog_dropped, now.backlog_dropped),
            squeezed: self.wrapping(before.squeezed, now.squeezed),
            busy: share(before.times.idle, now.times.idle).map(|idle| 1.0 - idle),
            softirq: share(before.times.softirq, now.times.softirq),
        }
    }

    fn queues(&self, ifindex: Ifindex) -> Vec<QueueLoad> {
        let queues = self.now.queues(ifindex).into_iter();
        queues
            .map(|((direction, queue), counters)| {
                let counters = counters.into_iter().map(|(what, name, now)| {
                    let before = self.before.of_driver(ifindex, name).unwrap_or(now);
                    (what.to_owned(), self.total(before, now))
                });
                QueueLoad { direction, queue, counters: counters.collect() }
            })
            .collect()
    }

    fn sockets(&self, ifindex: Ifindex) -> Vec<SocketLoad> {
        let here = self.now.sockets.iter().filter_map(|one| {
            let (_, queue) = one.bound.filter(|(at, _)| *at == ifindex)?;
            Some(self.socket(queue, one))
        });
        let mut all: Vec<_> = here.collect();
        all.sort_by_key(|one| (one.queue, one.inode));
        all
    }

    fn socket(&self, queue: u32, now: &XskListed) -> SocketLoad {
        let before = self.before.sockets.iter().find(|one| one.inode == now.inode);
        let (before, stats) = (before.unwrap_or(now).statistics, now.statistics);
        SocketLoad {
            queue,
            inode: now.inode,
            uid: now.uid,
            rx_dropped: self.total(before.rx_dropped, stats.rx_dropped),
            rx_ring_full: self.total(before.rx_ring_full, stats.rx_ring_full),
            fill_ring_empty: self.total(before.fill_ring_empty, stats.fill_ring_empty),
            tx_invalid: self.total(before.tx_invalid, stats.tx_invalid),
        }
    }
}
