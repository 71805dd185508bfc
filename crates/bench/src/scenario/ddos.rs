//! `ddos`: the remaining share of a service while a flood hits another port of its host, by the
//! flood's rate and by the place where it is dropped.
//!
//! The stage is the lab's: server, clients and attacker, each on the processor that it was given.
//! Every turn has fresh connections, and is set up before the flood begins: defense, clients,
//! flood; it is removed in reverse order.

mod compare;
mod stack;
mod turn;

use std::time::Duration;

use anyhow::Result;
use lab::Stage;
use lab::stage::{ATTACKER_LINK, SERVER_LINK};
use report::Bench;
use report::number::human;

use crate::field::{Attack, Field, Place, SOURCES};
use crate::harness::{Arm, Harness};
use crate::hook::{self, Hook};
use crate::{Effort, Kind, Scenario, Testbed};
use turn::Turn;

/// The scenario `ddos`.
pub const SCENARIO: Scenario = Scenario {
    name: "ddos",
    kind: Kind::Picture,
    about: "TCP transactions, connections a second beside a flood, by its rate and where it ends",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    testbed.lab_only()?;
    let siege = Scene::build()?;
    let mut bench = Bench::new("ddos");
    bench.method(&siege.stage.placement());
    METHOD.iter().for_each(|step| _ = bench.method(step));
    let reach = siege.reach()?;
    bench.note(format!("the attacker's processor gives at most {} away", human(reach, "pps")));
    let mut arms = Vec::new();
    for defense in defenses() {
        bench.method(&format!("{}: {}.", defense.name, defense.about()));
        match siege.can(&defense) {
            Ok(()) => arms.extend(siege.arms(&mut bench, defense, reach)),
            Err(why) => _ = bench.absent(defense.name, format!("{why:#}")),
        }
    }
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    compare::add(&mut bench);
    Ok(bench)
}

/// The stage, and its server as a place for hooks.
struct Scene {
    stage: Stage,
    field: Field,
}

/// Where a flood is dropped, and the floods that are measured.
#[derive(Clone, Copy)]
struct Defense {
    name: &'static str,
    /// The hook; `None` for a port without a listener.
    hook: Option<&'static Hook>,
    attack: Attack,
    /// Rates of the flood, in frames per second.
    rates: &'static [u64],
    /// Whether the attacker's highest rate is measured too.
    most: bool,
}

impl Scene {
    fn build() -> Result<Self> {
        let stage = Stage::build()?;
        let attacker = Place::lab(stage.net.attacker.clone(), ATTACKER_LINK);
        let server = Place::lab(stage.net.server.clone(), SERVER_LINK);
        let field = Field::between(attacker, server, stage.attacker_cpu, stage.service_cpu);
        Ok(Self { stage, field })
    }

    /// Frames per second that the attacker sends without pacing.
    fn reach(&self) -> Result<f64> {
        let hook = Some(&hook::xdp::NATIVE);
        let turn = Turn { siege: self, hook, attack: Attack::Constant, rate: None };
        Ok(turn.take(PROBE)?.offered)
    }

    /// Whether it can be set up here.
    fn can(&self, defense: &Defense) -> Result<()> {
        defense.hook.map_or(Ok(()), |hook| (hook.set)(&self.field).map(drop))
    }

    /// An arm for each rate that the attacker reaches; the others are reported.
    fn arms(&self, bench: &mut Bench, defense: Defense, reach: f64) -> Vec<Arm<'_>> {
        let Defense { name, hook, attack, .. } = defense;
        let is_within = |rate: &Option<u64>| rate.is_none_or(|rate| rate as f64 <= reach);
        let (within, beyond): (Vec<_>, Vec<_>) = defense.rates().partition(is_within);
        let reached = human(reach, "pps");
        for rate in beyond {
            bench.absent(&point(name, rate), format!("the attacker reaches {reached} here"));
        }
        let arm = |rate| {
            let name = point(name, rate);
            let turn = Turn { siege: self, hook, attack, rate };
            Arm::wide(&name.clone(), move |window| Ok(turn.take(window)?.values(&name)))
        };
        within.into_iter().map(arm).collect()
    }
}

impl Defense {
    const fn new(name: &'static str, hook: &'static Hook, rates: &'static [u64]) -> Self {
        Self { name, hook: Some(hook), attack: Attack::Constant, rates, most: false }
    }

    const fn without(name: &'static str, rates: &'static [u64]) -> Self {
        Self { name, hook: None, attack: Attack::Constant, rates, most: false }
    }

    const fn against(self, attack: Attack) -> Self {
        Self { attack, ..self }
    }

    const fn and_most(self) -> Self {
        Self { most: true, ..self }
    }

    /// The rates of its points; `None` is the highest rate.
    fn rates(self) -> impl Iterator<Item = Option<u64>> {
        self.rates.iter().copied().map(Some).chain(self.most.then_some(None))
    }

    /// A description of the defense and its flood.
    fn about(&self) -> String {
        let what = self.hook.map_or(stack::about(self.attack), |hook| hook.about);
        match self.attack {
            Attack::Constant => what.to_owned(),
            Attack::Udp => format!("{what}; the flood comes from {SOURCES} addresses in turn"),
            Attack::Syn => format!("{what}; {SOURCES} addresses ask for connections in turn"),
        }
    }
}

/// The defenses whose hooks exist.
fn defenses() -> Vec<Defense> {
    let none = Defense::without(NONE, RATES);
    let invented = Defense::without(INVENTED, DEADLY).against(Attack::Udp);
    let mut all = vec![none, invented];
    all.push(Defense::new(XDP, &hook::xdp::NATIVE, RATES).and_most());
    all.push(Defense::new(XDP_INVENTED, &hook::xdp::NATIVE, DEADLY).against(Attack::Udp));
    all.push(Defense::new(FILTER, &hook::filter::DROP, FILTERED).and_most());
    let limits = Defense::new(LIMITS, &hook::filter::LIMITS, FILTERED);
    all.push(limits.against(Attack::Udp).and_most());
    all.push(Defense::without(SYN_NONE, ASKED).against(Attack::Syn));
    all.push(Defense::new(SYN_PROXY, &hook::filter::PROXY, ASKED).against(Attack::Syn));
    for name in ["tc-bpf", "nft-raw"] {
        let found = hook::ALL.iter().find(|known| known.name == name);
        all.extend(found.map(|hook| Defense::new(name, hook, FEWER)));
    }
    all
}

/// The row of a defense at a rate; `None` is the highest rate.
fn point(defense: &str, rate: Option<u64>) -> String {
    match rate {
        Some(rate) => format!("{defense}@{rate}"),
        None => format!("{defense}@max"),
    }
}

/// Rows without a defense, against one address and against forged ones.
const NONE: &str = "none";
const INVENTED: &str = "none-invented";
/// Rows with the drop program, and with the filter: a rule that drops, limits.
const XDP: &str = "xdp-drop";
/// The row against forged addresses, where each frame is new to the receiver's cache.
const XDP_INVENTED: &str = "xdp-drop-invented";
const FILTER: &str = "filter-drop";
const LIMITS: &str = "filter-limits";
/// Rows of new connections during a SYN flood: without defense, and with the filter's proxy.
const SYN_NONE: &str = "syn-none";
const SYN_PROXY: &str = "syn-proxy";
/// Rates of the flood, in frames per second.
const RATES: &[u64] = &[0, 250_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000];
/// Rates for the defenses between those two, where they differ.
const FEWER: &[u64] = &[500_000, 1_000_000, 2_000_000, 3_000_000];
/// Rates for the filter, whose cost depends on the packets only.
const FILTERED: &[u64] = &[0, 500_000, 1_000_000];
/// Rates of a flood of connection requests.
const ASKED: &[u64] = &[0, 250_000, 500_000, 1_000_000];
/// The row that the filter's limits are compared with.
const DEADLY: &[u64] = &[500_000, 1_000_000];
/// Duration of the measurement of the attacker's highest rate.
const PROBE: Duration = Duration::from_millis(300);
const METHOD: &[&str] = &[
    "The attacker sends UDP frames of 60 bytes from an unused address, to a port where \
     nothing listens, in batches as a network card would deliver them. Where its addresses make a \
     difference, which is with limits for each, it invents ten million, each of which has its turn \
     before one comes again; `none-invented` is without defense against these, \
     `xdp-drop-invented` the least one.",
    "Each turn has fresh connections, then the flood, and is measured once they had time to \
     notice it; a rate is one turn, so that rates and defenses are interleaved.",
    "Counted are answers that clients got. Offered is what the attacker's driver took; lost is \
     the share of it that ended neither in the defense nor in the stack, but in the full \
     ring of the server. Busy is the share of its processor that the receive thread took, \
     in its programs and in the stack.",
    "`syn-none` and `syn-proxy` are of new connections: each client opens one, asks once, closes \
     it and opens the next one after 10 ms; the flood asks for connections to the same port, which \
     is opened for each turn. What the server answers to invented addresses leaves it by its link \
     and ends at the attacker's end of that. With the proxy net.ipv4.tcp_syncookies is 2, as it \
     must be; it begins when there are more requests in a second than its rule allows.",
    "Rates that the attacker does not reach are left out; `max` is all that it can send.",
];
