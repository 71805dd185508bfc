//! `gen-tcp`: payload that the kernel's TCP at the other end of a veth pair hands to a reader, in
//! bits a second, and which share of the data segments was sent more than once.
//!
//! Every arm uses the same pair, one after the other: 1500 bytes, no checksum offload (so that no
//! sender has segments made by the device), receivers that merge. `iperf3` sends by the kernel's
//! own TCP; how much it repeated is its own count. `iperf3-offload` and `ours-1-flow-offload` use
//! a pair as Linux makes it, where the kernel's packets of up to 64 KiB pass whole and unsummed.
//! `xdp-trafficgen` (IPv6 only) repeats blindly and does not count that. Either takes part when it
//! is on the path, or named by `XWAY_IPERF3` and `XDP_TRAFFICGEN`.

mod iperf;
mod judge;
mod trafficgen;

use std::cell::RefCell;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use lab::{LinkOptions, TwoHosts};
use report::Bench;
use traffic::tcp::{Config, Run};

use crate::harness::{Arm, Harness};
use crate::{Effort, Kind, Scenario, Testbed};
use judge::Judge;

/// The scenario `gen-tcp`.
pub const SCENARIO: Scenario = Scenario {
    name: "gen-tcp",
    kind: Kind::Part,
    about: "TCP payload that arrives, and what was sent again",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let net = &TwoHosts::build(&LinkOptions::default())?;
    let offload = LinkOptions { checksum_offload: true, ..LinkOptions::default() };
    let offload = &TwoHosts::build(&offload)?;
    let repeats = &Repeats::default();
    let iperf = program("iperf3", "XWAY_IPERF3");
    let trafficgen = program("xdp-trafficgen", "XDP_TRAFFICGEN");
    let mut arms = Vec::new();
    for (name, flows, is_offloaded) in OURS {
        let net = if is_offloaded { offload } else { net };
        let measure = move |window| repeats.note(name, ours(net, flows, window)?);
        arms.push(Arm::new(name, UNIT, measure));
    }
    if let Some(iperf) = &iperf {
        for (name, flows, is_offloaded) in IPERF {
            let net = if is_offloaded { offload } else { net };
            arms.push(Arm::new(name, UNIT, move |window| {
                repeats.note(name, iperf::measure(iperf, net, flows, window)?)
            }));
        }
    }
    if let Some(trafficgen) = &trafficgen {
        let measure = move |window| trafficgen::measure(trafficgen, net, window);
        arms.push(Arm::new(TRAFFICGEN, UNIT, measure));
    }
    let mut bench = Bench::new("gen-tcp");
    harness.interleave(&mut bench, &mut arms)?;
    repeats.tell(&mut bench);
    if iperf.is_some() {
        for (ours, iperf) in OURS.iter().zip(IPERF) {
            bench.ratio(ours.0, iperf.0);
        }
    }
    if trafficgen.is_some() {
        bench.ratio(OURS[0].0, TRAFFICGEN);
    }
    Ok(bench)
}

/// What one arm came to in one round.
struct Outcome {
    goodput_bps: f64,
    /// Share of repeated data segments, by the sender's count.
    repeated: f64,
}

/// The second value of each arm, by round; the harness carries one.
#[derive(Default)]
struct Repeats(RefCell<Vec<(&'static str, f64)>>);

impl Repeats {
    fn note(&self, arm: &'static str, outcome: Outcome) -> Result<f64> {
        self.0.borrow_mut().push((arm, outcome.repeated));
        Ok(outcome.goodput_bps)
    }

    /// The warm-up, each arm's first, does not count.
    fn tell(&self, bench: &mut Bench) {
        let noted = self.0.borrow();
        for (index, (arm, share)) in noted.iter().enumerate() {
            if noted[..index].iter().any(|(before, _)| before == arm) {
                bench.round(&format!("{arm}-repeated"), "%", share * 100.0);
            }
        }
    }
}

/// Our sender against the kernel's receiver.
fn ours(net: &TwoHosts, flows: u32, window: Duration) -> Result<Outcome> {
    let ip = IpAddr::from(net.b.ipv4(LINK)?);
    let judge = Judge::start(&net.b, ip, flows as usize)?;
    let mut config = Config::new(LINK, SocketAddr::new(ip, judge::PORT));
    (config.flows, config.duration) = (flows, Some(window + judge::START));
    let run = net.a.run(|| Run::start(&config))??;
    let goodput_bps = judge.goodput(window, || !run.is_done())?;
    let report = run.stop()?;
    let ends = report.totals.ends;
    ensure!(ends.closed == u64::from(flows), "not every flow was closed by FIN: {ends:?}");
    judge.join()?;
    Ok(Outcome { goodput_bps, repeated: report.retransmitted })
}

/// A program that takes part if it is installed; a note reports if it is not.
fn program(name: &str, variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let found = named.into_iter().chain(found).find(|path| path.is_file());
    if found.is_none() {
        let absent = format!("{name} is left out: it is not on the path, nor named by {variable}");
        // A courtesy, as all talk.
        let _ = writeln!(std::io::stderr(), "{absent}");
    }
    found
}

/// Name, flows, and whether on the pair with checksum offload.
const OURS: [(&str, u32, bool); 3] =
    [("ours-1-flow", 1, false), ("ours-8-flows", 8, false), ("ours-1-flow-offload", 1, true)];
const IPERF: [(&str, u32, bool); 3] =
    [("iperf3", 1, false), ("iperf3-8", 8, false), ("iperf3-offload", 1, true)];
const TRAFFICGEN: &str = "xdp-trafficgen-tcp";
const LINK: &str = "eth0";
const UNIT: &str = "bit/s";
