//! `ddos`: what is left of a service while a flood hits another port of its host, by the flood's
//! rate and by where it is ended.
//!
//! The stage is the lab's: server, clients and attacker, each on the processor that it was given.
//! Every turn has fresh connections, and is set up before the flood begins: defence, clients,
//! flood; it is taken down the other way round.

mod closed;
mod compare;
mod turn;

use std::time::Duration;

use anyhow::Result;
use lab::Stage;
use lab::stage::{ATTACKER_LINK, SERVER_LINK};
use report::Bench;
use report::number::human;

use crate::field::{Field, Place};
use crate::harness::{Arm, Harness};
use crate::hook::{self, Hook};
use crate::{Effort, Ground, Kind, Scenario};
use turn::Turn;

pub const SCENARIO: Scenario = Scenario {
    name: "ddos",
    kind: Kind::Picture,
    about: "TCP transactions a second beside a flood, by its rate and where it is ended",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, ground: &Ground) -> Result<Bench> {
    ground.lab_only()?;
    let siege = Siege::build()?;
    let mut bench = Bench::new("ddos");
    bench.method(&siege.stage.placement());
    METHOD.iter().for_each(|step| _ = bench.method(step));
    let reach = siege.reach()?;
    bench.note(format!("the attacker's processor gives at most {} away", human(reach, "pps")));
    let mut arms = Vec::new();
    for defence in defences() {
        bench.method(&format!("{}: {}.", defence.name, defence.hook.about));
        match siege.can(&defence) {
            Ok(()) => arms.extend(siege.arms(&mut bench, defence, reach)),
            Err(why) => _ = bench.absent(defence.name, format!("{why:#}")),
        }
    }
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    compare::add(&mut bench);
    Ok(bench)
}

/// The stage, and its server as something that hooks can be set up on.
struct Siege {
    stage: Stage,
    field: Field,
}

/// Where the flood is ended, and at which rates that is measured.
#[derive(Clone, Copy)]
struct Defence {
    name: &'static str,
    hook: &'static Hook,
    rates: &'static [u64],
}

impl Siege {
    fn build() -> Result<Self> {
        let stage = Stage::build()?;
        let attacker = Place::lab(stage.net.attacker.clone(), ATTACKER_LINK);
        let server = Place::lab(stage.net.server.clone(), SERVER_LINK);
        let field = Field::between(attacker, server, stage.attacker_cpu, stage.service_cpu);
        Ok(Self { stage, field })
    }

    /// Frames a second that the attacker sends when nothing holds it.
    fn reach(&self) -> Result<f64> {
        let turn = Turn { siege: self, hook: &hook::xdp::NATIVE, rate: None };
        Ok(turn.take(PROBE)?.offered)
    }

    /// Whether it can be set up here.
    fn can(&self, defence: &Defence) -> Result<()> {
        (defence.hook.set)(&self.field).map(drop)
    }

    /// One for each rate that the attacker reaches; the others are told.
    fn arms(&self, bench: &mut Bench, defence: Defence, reach: f64) -> Vec<Arm<'_>> {
        let Defence { name, hook, rates } = defence;
        let (within, beyond): (Vec<u64>, Vec<u64>) =
            rates.iter().partition(|rate| **rate as f64 <= reach);
        let reached = human(reach, "pps");
        for rate in beyond {
            bench.absent(&point(name, rate), format!("the attacker reaches {reached} here"));
        }
        let arm = |rate: u64| {
            let name = point(name, rate);
            let turn = Turn { siege: self, hook, rate: Some(rate) };
            Arm::wide(&name.clone(), move |window| Ok(turn.take(window)?.values(&name)))
        };
        within.into_iter().map(arm).collect()
    }
}

/// Those whose hooks there are.
fn defences() -> Vec<Defence> {
    let mut all = vec![Defence { name: NONE, hook: &closed::CLOSED, rates: RATES }];
    for (name, hook, rates) in
        [(XDP, "xdp-native", RATES), ("tc-bpf", "tc-bpf", FEWER), ("nft-raw", "nft-raw", FEWER)]
    {
        let found = hook::ALL.iter().find(|known| known.name == hook);
        all.extend(found.map(|hook| Defence { name, hook, rates }));
    }
    all
}

/// The row of a defence at a rate.
fn point(defence: &str, rate: u64) -> String {
    format!("{defence}@{rate}")
}

/// Without any, and with XDP in the driver.
const NONE: &str = "none";
const XDP: &str = "xdp-drop";
/// Of the flood, in frames a second.
const RATES: &[u64] = &[0, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000];
/// Of defences that stand between those two, where these differ.
const FEWER: &[u64] = &[500_000, 1_000_000, 2_000_000, 3_000_000];
/// How long the attacker shows what it can do.
const PROBE: Duration = Duration::from_millis(300);
const METHOD: &[&str] = &[
    "The attacker sends UDP frames of 60 bytes from an address that nobody has, to a port where \
     nothing listens, in batches as a network card would deliver them.",
    "Each turn has fresh connections, then the flood, and is measured once they had time to \
     notice it; a rate is one turn, so that rates and defences are interleaved.",
    "Counted are answers that clients got. Offered is what the attacker's driver took; lost is \
     the share of it that ended neither in the defence nor at the closed port, but in the full \
     ring in front of the server.",
    "Rates that the attacker does not reach are left out.",
];
