//! Differences of readings that were made by hand.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use functions::stats::Count;
use kernel::Mode;
use spec::Verdict;
use sys::cpu::{CpuActivity, Times};
use sys::net::xsk::XskStatistics;
use sys::net::{Ifindex, Link, Statistics, XskListed};

use super::*;
use crate::counters::{Counted, Counts, Origin};
use crate::member::Member;
use crate::snapshot::{InterfaceTotals, MemberTotals, ProgramTotals};
use crate::state::ProgramIdentity;

/// Packets of 100 bytes that were passed and dropped.
fn counts([pass, drop]: [u64; 2]) -> Counts {
    let count = |packets| Count { packets, bytes: 100 * packets };
    let verdicts = [(Verdict::Pass, count(pass)), (Verdict::Drop, count(drop))];
    Counts { verdicts: verdicts.into(), ..Counts::default() }
}

/// Counters in a map, with the counts of two CPUs.
fn counted(map: u32, cpus: [[u64; 2]; 2]) -> Counted {
    let sum = |at: usize| cpus[0][at] + cpus[1][at];
    Counted {
        origin: Origin { map, ..Origin::default() },
        counts: counts([sum(0), sum(1)]),
        cpus: cpus.map(counts).into(),
    }
}

fn program(id: u32, counted: Option<Counted>) -> ProgramTotals {
    ProgramTotals {
        id,
        mode: Mode::Native,
        link_id: Some(1),
        identity: Some(ProgramIdentity { id, name: "drop".into(), tag: "00ff".into() }),
        owner: Some("xway drop".into()),
        counted,
        members: Vec::new(),
        dispatched: None,
        runs: (10, 1_000),
        unconfirmed_s: None,
        pins: Vec::new(),
    }
}

fn interface(ifindex: u32, rx_packets: u64, programs: Vec<ProgramTotals>) -> InterfaceTotals {
    let statistics = Statistics {
        rx_packets,
        rx_bytes: 100 * rx_packets,
        rx_dropped: 3,
        rx_missed: rx_packets / 10,
        ..Statistics::default()
    };
    let name = format!("eth{ifindex}");
    let link = Link { ifindex: Ifindex(ifindex), name, statistics, ..Link::default() };
    InterfaceTotals { link, programs }
}

/// A reading after some seconds.
fn reading(start: Instant, seconds: u64, interfaces: Vec<InterfaceTotals>) -> Reading {
    let times = Times { all: 100 * seconds, idle: 75 * seconds, softirq: 10 * seconds };
    let activity = CpuActivity { times, stack_packets: 10 * seconds as u32, ..Default::default() };
    let at = start + Duration::from_secs(seconds);
    Reading {
        snapshot: Snapshot { at, interfaces },
        driver: BTreeMap::new(),
        sockets: Vec::new(),
        cpus: [(0, activity), (4, activity)].into(),
    }
}

fn between(before: &Reading, now: &Reading) -> Overview {
    Overview::between(before, now, &[0, 4], false)
}

#[test]
fn rates_are_of_interfaces_programs_and_processors() {
    let start = Instant::now();
    let one = |rx, cpus| vec![interface(2, rx, vec![program(7, Some(counted(3, cpus)))])];
    let before = reading(start, 10, one(100, [[40, 10], [0, 50]]));
    let now = reading(start, 12, one(300, [[40, 30], [100, 130]]));
    let overview = between(&before, &now);
    assert_eq!(overview.interval_s, 2.0);
    let shown = &overview.interfaces[0];
    assert_eq!((shown.rx.rate.packets, shown.rx.rate.pps, shown.rx.rate.bps), (300, 100.0, 8e4));
    assert_eq!(shown.rx.dropped, Total { total: 33, per_s: 10.0 });
    let rates = shown.programs[0].running.rates.as_ref().unwrap();
    assert_eq!((rates.verdicts["drop"].packets, rates.verdicts["drop"].pps), (160, 50.0));
    let by_cpu = |cpu: &CpuVerdicts| (cpu.cpu, cpu.verdicts["drop"].packets);
    let cpus: Vec<_> = shown.programs[0].cpus.iter().map(by_cpu).collect();
    assert_eq!(cpus, [(0, 30), (4, 130)], "numbers of processors may have gaps");
    let [first, second] = &overview.cpus[..] else { panic!("{overview:?}") };
    assert_eq!((first.xdp.packets, first.xdp.pps), (70, 10.0));
    assert_eq!((second.cpu, second.xdp.packets, second.xdp.pps), (4, 230, 90.0));
    assert_eq!((second.verdicts["pass"].pps, second.stack.per_s), (50.0, 10.0));
    assert_eq!((second.busy, second.softirq), (Some(0.25), Some(0.1)));
}

#[test]
fn what_is_new_or_was_counted_anew_has_no_rate() {
    let start = Instant::now();
    let old = program(7, Some(counted(3, [[0, 500], [0, 0]])));
    let before = reading(start, 1, vec![interface(2, 100, vec![old])]);
    // Another program with a map of its own, an interface that was made again, and a new one.
    let replaced = program(8, Some(counted(9, [[0, 20], [0, 0]])));
    let now =
        reading(start, 2, vec![interface(2, 40, vec![replaced.clone()]), interface(3, 9, vec![])]);
    let overview = between(&before, &now);
    for shown in &overview.interfaces {
        assert_eq!(shown.rx.rate.pps, 0.0, "{}", shown.name);
    }
    let rates = overview.interfaces[0].programs[0].running.rates.as_ref().unwrap();
    assert_eq!((rates.verdicts["drop"].packets, rates.verdicts["drop"].pps), (20, 0.0));
    assert!(overview.interfaces[0].programs[0].running.run_time.is_none());
    // Another program with the same map continues to count.
    let continued = ProgramTotals { counted: Some(counted(9, [[0, 25], [0, 0]])), ..replaced };
    let later =
        reading(start, 3, vec![interface(2, 40, vec![ProgramTotals { id: 9, ..continued }])]);
    let overview = between(&now, &later);
    let rates = overview.interfaces[0].programs[0].running.rates.as_ref().unwrap();
    assert_eq!(rates.verdicts["drop"].pps, 5.0);
    // Nothing is left.
    let empty = between(&later, &reading(start, 4, Vec::new()));
    assert!(empty.interfaces.is_empty());
    assert_eq!(empty.cpus.len(), 2);
}

#[test]
fn members_have_rates_and_the_chain_the_final_verdicts() {
    let start = Instant::now();
    let chain = |first: [u64; 2], last: [u64; 2]| {
        let member = |name: &str, slot, now: [u64; 2]| MemberTotals {
            member: Member { slot: Some(slot), counted: true, ..Member::new(name, name) },
            counted: Some(Counted {
                origin: Origin { map: 5, slot, before: 0 },
                ..counted(5, [now, [0, 0]])
            }),
            ns: Some(20.0),
        };
        let members = vec![member("filter", 0, first), member("drop", 1, last)];
        vec![interface(2, 0, vec![ProgramTotals { members, ..program(7, None) }])]
    };
    let before = reading(start, 0, chain([60, 40], [50, 10]));
    let overview = between(&before, &reading(start, 1, chain([160, 50], [140, 20])));
    let program = &overview.interfaces[0].programs[0];
    let rates = program.running.rates.as_ref().unwrap();
    let pps = |verdict: &str| (rates.verdicts[verdict].packets, rates.verdicts[verdict].pps);
    assert_eq!((pps("drop"), pps("pass")), ((70, 20.0), (140, 90.0)));
    let filter = program.chain[0].rates.as_ref().unwrap();
    assert_eq!((filter.verdicts["pass"].packets, filter.verdicts["pass"].pps), (160, 100.0));
    assert_eq!(overview.cpus[0].xdp.packets, 210, "each packet once");
}

#[test]
fn a_program_on_two_interfaces_counts_once_for_a_processor() {
    let start = Instant::now();
    let both = |packets| {
        let shared = || vec![program(7, Some(counted(3, [[packets, 0], [0, 0]])))];
        vec![interface(2, 0, shared()), interface(3, 0, shared())]
    };
    let overview = between(&reading(start, 0, both(5)), &reading(start, 1, both(9)));
    assert_eq!((overview.cpus[0].xdp.packets, overview.cpus[0].xdp.pps), (9, 4.0));
}

#[test]
fn queues_and_sockets_are_those_of_the_interface() {
    let start = Instant::now();
    let at = |seconds, packets: u64, full: u64| {
        let mut reading = reading(start, seconds, vec![interface(2, 0, vec![program(7, None)])]);
        let counters = [("rx_queue_1_xdp_packets", packets), ("rx_queue_1_drops", 2), ("peer", 7)];
        let counters = counters.map(|(name, value)| (name.to_owned(), value));
        reading.driver.insert(Ifindex(2), counters.into());
        let statistics = XskStatistics { rx_ring_full: full, ..XskStatistics::default() };
        let socket = |at: u32, inode| XskListed {
            inode,
            bound: Some((Ifindex(at), 1)),
            statistics,
            ..XskListed::default()
        };
        reading.sockets = vec![socket(2, 77), socket(3, 78), XskListed::default()];
        reading
    };
    let overview = between(&at(0, 10, 1), &at(2, 30, 7));
    let shown = &overview.interfaces[0];
    let [queue] = &shown.queues[..] else { panic!("{shown:?}") };
    assert_eq!((queue.direction, queue.queue), ("rx", 1));
    assert_eq!(queue.packets(), Some(Total { total: 30, per_s: 10.0 }));
    assert_eq!(queue.counters["drops"], Total { total: 2, per_s: 0.0 });
    let [socket] = &shown.sockets[..] else { panic!("{shown:?}") };
    assert_eq!((socket.queue, socket.inode), (1, 77));
    assert_eq!(socket.rx_ring_full, Total { total: 7, per_s: 3.0 });
}

/// The counters of the stack have 32 bits.
#[test]
fn counters_that_wrap_around_have_no_negative_rate() {
    let start = Instant::now();
    let at = |seconds, stack_packets| {
        let mut reading = reading(start, seconds, Vec::new());
        reading.cpus.insert(0, CpuActivity { stack_packets, ..CpuActivity::default() });
        reading
    };
    let overview = between(&at(0, u32::MAX), &at(1, 9));
    assert_eq!(overview.cpus[0].stack, Total { total: 9, per_s: 10.0 });
    assert_eq!(overview.cpus[0].busy, None, "no time passed");
}
