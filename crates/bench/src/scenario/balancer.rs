//! `balancer`: nanoseconds that the load balancer takes for a packet, by test run, and those of
//! katran if its object is there; packets per second through a driver; changes and synchronization.
//!
//! Rule: all programs of a case meet the same frame, which the same code before each puts back.

mod alone;
mod case;
mod change;
mod end;
mod katran;
mod live;
mod ours;
mod put_back;
mod site;
mod synced;

use anyhow::Result;
use report::Bench;

use crate::harness::Harness;
use crate::{Effort, Kind, Scenario, Testbed};
use alone::Alone;
pub use case::Case;
pub use end::End;
pub use katran::KATRAN;
pub use live::Way;
use site::Site;

/// The scenario `balancer`.
pub const SCENARIO: Scenario = Scenario {
    name: "balancer",
    kind: Kind::Part,
    about: "nanoseconds of the load balancer by test run: IPv4, IPv6, UDP, new flows, 10M sources",
    effort: Effort { rounds: 11, seconds: 0.3 },
    run,
};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Flows that two balancers synchronize.
    pub flows: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Self { flows: 1_000_000 }
    }
}

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    measure(harness, Plan::default())
}

/// # Errors
/// As [`Scenario::run`]; a case that cannot be measured is reported as absent.
pub fn measure(harness: &mut Harness, plan: Plan) -> Result<Bench> {
    let mut bench = Bench::new("balancer");
    tell(&mut bench);
    let site = Site::build()?;
    let peer = katran::read();
    if let Err(fault) = &peer {
        bench.absent("katran", format!("{fault:#}"));
    }
    let peer = peer.ok();
    let mut arms: Vec<_> =
        Case::ALL.into_iter().map(|case| Alone::new(&site, case, peer.as_ref()).arm()).collect();
    arms.extend(End::ALL.map(|end| end.arm(&site)));
    arms.extend(live::arms(&site, harness, &mut bench)?);
    arms.extend(change::arms());
    arms.push(synced::arm(plan.flows));
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    conclude(&mut bench);
    live::conclude(&mut bench);
    Ok(bench)
}

/// Adds the notes of every run.
fn tell(bench: &mut Bench) {
    bench
        .method(
            "Rows are alone/CASE/PROGRAM: nanoseconds of a run in batches of the kernel's test \
             runs, the mean of the fastest quarter. The programs of a case take turns in short \
             batches. base: a program that does nothing after the code that puts the frame back; \
             extra/ROW: what the row has more than base in the same round.",
        )
        .method(
            "The frame is put back before each run: bytes that were added are removed, and the \
             Ethernet header is written again. So extra includes the program's own call of \
             bpf_xdp_adjust_head. none needs nothing put back.",
        )
        .method(
            "One service of each family and protocol, with 100 backends that are reached through \
             one next hop; packets leave by the interface that they came in by. v4, v6, udp: a \
             TCP segment of 60 bytes in IPv4, one of 80 in IPv6, a datagram of 60, each in IPIP \
             of its own family. syn: SYNs, each of another source. sources: segments, each of \
             another source, ten million of them. gue6: IPv6 in GUE over IPv6 with the outer \
             checksum. moved: a segment of a connection that is older than a change of all \
             backends. none: a segment to a port without a service. strays: segments to ten \
             million addresses without one. quic, quic-one-pass, quic-four-pass: datagrams as udp, \
             of a service with QUIC connection ids, which name their backend: not encrypted, with \
             one block of AES, and with four rounds, of which three suffice.",
        )
        .method(
            "nat: segments of an established connection with translated addresses, from either \
             side, and SYNs, each of another source. backend: a tunnel that the program of a \
             backend opens. live: a flood of 60 bytes from 1000 sources comes back to its sender \
             through our program, one that only swaps MAC addresses, nft, or IPVS; all share one \
             processor. change: one of 1000 backends leaves or returns. memory: values of maps. \
             sync: the code of synchronization for all flows, and for none that is new.",
        )
        .method(&format!(
            "katran: the unchanged program of the object that the environment variable {KATRAN} \
             names, built for IPIP. Its array of rings has two services, and its LRU map has \
             {} entries for the one processor that is used. Other settings are its defaults; \
             among them is that it adds at most 125,000 flows a second to its map.",
            katran::FLOWS,
        ));
}

/// The row of a program.
fn row(case: &str, program: &str) -> String {
    format!("alone/{case}/{program}")
}

/// Adds the nanoseconds of each program without those of the base, and their ratio.
fn conclude(bench: &mut Bench) {
    for case in Case::ALL.map(Case::name).into_iter().chain(End::ALL.map(End::name)) {
        let [ours, katran] = [OURS, PEER].map(|program| extra(bench, case, program));
        if let (Some(ours), Some(katran)) = (ours, katran) {
            bench.ratio(&ours, &katran);
        }
    }
    let is_there = |bench: &Bench, name: &str| bench.rounds().iter().any(|one| one.name == name);
    for case in [Case::Quic, Case::QuicOnePass, Case::QuicFourPass] {
        let [id, udp] = [case, Case::Udp].map(|case| format!("extra/{}", row(case.name(), OURS)));
        if is_there(bench, &id) && is_there(bench, &udp) {
            bench.ratio(&id, &udp);
        }
    }
}

/// Adds what a program takes longer than the base of the same round; returns the row's name.
fn extra(bench: &mut Bench, case: &str, program: &str) -> Option<String> {
    let find = |name: &str| bench.rounds().iter().find(|rounds| rounds.name == name);
    let pairs = find(&row(case, program))?.pairs(find(&row(case, BASE))?);
    let name = format!("extra/{}", row(case, program));
    for (round, whole, base) in pairs {
        bench.round_at(round, &name, "ns", whole - base);
    }
    Some(name)
}

/// Programs, as rows name them.
const OURS: &str = "ours";
const BASE: &str = "base";
const PEER: &str = "katran";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_compared_without_the_base_of_their_round() {
        let mut bench = Bench::new("balancer");
        for (round, [base, ours, katran]) in (1..).zip([[10.0, 30.0, 50.0], [20.0, 35.0, 80.0]]) {
            bench.round_at(round, &row(Case::V4.name(), BASE), "ns", base);
            bench.round_at(round, &row(Case::V4.name(), OURS), "ns", ours);
            bench.round_at(round, &row(Case::V4.name(), PEER), "ns", katran);
        }
        bench.round_at(1, &row(Case::Gue6.name(), BASE), "ns", 10.0);
        bench.round_at(1, &row(Case::Gue6.name(), OURS), "ns", 50.0);
        conclude(&mut bench);
        assert_eq!(bench.median("extra/alone/v4/ours"), Some(17.5));
        assert_eq!(bench.median("extra/alone/gue6/ours"), Some(40.0));
        assert_eq!(bench.median("extra/alone/gue6/katran"), None);
        let report = bench.finish(report::Host::default()).unwrap();
        let [ratio] = &report.ratios[..] else { panic!("{:?}", report.ratios) };
        assert_eq!([ratio.min, ratio.max], [0.25, 0.5]);
    }
}
