//! `ddos`: what is left of a service while a flood hits another port of its host, by the flood's
//! rate and by where it is ended.
//!
//! The stage is the lab's: server, clients and attacker, each on the processor that it was given.
//! Every turn has fresh connections, and is set up before the flood begins: defence, clients,
//! flood; it is taken down the other way round.

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
    for defence in defences() {
        bench.method(&format!("{}: {}.", defence.name, defence.about()));
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
struct Scene {
    stage: Stage,
    field: Field,
}

/// Where the flood is ended, and of which floods that is measured.
#[derive(Clone, Copy)]
struct Defence {
    name: &'static str,
    /// None: at a port where nothing listens.
    hook: Option<&'static Hook>,
    attack: Attack,
    /// Rates of the flood, in frames per second.
    rates: &'static [u64],
    /// Also of all that the attacker can send.
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

    /// Frames a second that the attacker sends when nothing holds it.
    fn reach(&self) -> Result<f64> {
        let hook = Some(&hook::xdp::NATIVE);
        let turn = Turn { siege: self, hook, attack: Attack::Constant, rate: None };
        Ok(turn.take(PROBE)?.offered)
    }

    /// Whether it can be set up here.
    fn can(&self, defence: &Defence) -> Result<()> {
        defence.hook.map_or(Ok(()), |hook| (hook.set)(&self.field).map(drop))
    }

    /// An arm for each rate that the attacker reaches; the others are reported.
    fn arms(&self, bench: &mut Bench, defence: Defence, reach: f64) -> Vec<Arm<'_>> {
        let Defence { name, hook, attack, .. } = defence;
        let is_within = |rate: &Option<u64>| rate.is_none_or(|rate| rate as f64 <= reach);
        let (within, beyond): (Vec<_>, Vec<_>) = defence.rates().partition(is_within);
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

impl Defence {
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

    /// What is done there, and against whom.
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
fn defences() -> Vec<Defence> {
    let none = Defence::without(NONE, RATES);
    let invented = Defence::without(INVENTED, DEADLY).against(Attack::Udp);
    let mut all = vec![none, invented];
    all.push(Defence::new(XDP, &hook::xdp::NATIVE, RATES).and_most());
    all.push(Defence::new(XDP_INVENTED, &hook::xdp::NATIVE, DEADLY).against(Attack::Udp));
    all.push(Defence::new(FILTER, &hook::filter::DROP, FILTERED).and_most());
    let limits = Defence::new(LIMITS, &hook::filter::LIMITS, FILTERED);
    all.push(limits.against(Attack::Udp).and_most());
    all.push(Defence::without(SYN_NONE, ASKED).against(Attack::Syn));
    all.push(Defence::new(SYN_PROXY, &hook::filter::PROXY, ASKED).against(Attack::Syn));
    for name in ["tc-bpf", "nft-raw"] {
        let found = hook::ALL.iter().find(|known| known.name == name);
        all.extend(found.map(|hook| Defence::new(name, hook, FEWER)));
    }
    all
}

/// The row of a defence at a rate; none for all that can be sent.
fn point(defence: &str, rate: Option<u64>) -> String {
    match rate {
        Some(rate) => format!("{defence}@{rate}"),
        None => format!("{defence}@max"),
    }
}

/// Without any, against one address and against invented ones.
const NONE: &str = "none";
const INVENTED: &str = "none-invented";
/// With the drop program, and with the filter: a rule that drops, limits.
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
/// What the filter's limits are compared with.
const DEADLY: &[u64] = &[500_000, 1_000_000];
/// How long the attacker shows what it can do.
const PROBE: Duration = Duration::from_millis(300);
const METHOD: &[&str] = &[
    "The attacker sends UDP frames of 60 bytes from an unused address, to a port where \
     nothing listens, in batches as a network card would deliver them. Where its addresses make a \
     difference, which is with limits for each, it invents ten million, each of which has its turn \
     before one comes again; `none-invented` is without defence against these, \
     `xdp-drop-invented` the least one.",
    "Each turn has fresh connections, then the flood, and is measured once they had time to \
     notice it; a rate is one turn, so that rates and defences are interleaved.",
    "Counted are answers that clients got. Offered is what the attacker's driver took; lost is \
     the share of it that ended neither in the defence nor in the stack, but in the full \
     ring of the server. Busy is the share of its processor that the receive thread took, \
     in its programs and in the stack.",
    "`syn-none` and `syn-proxy` are of new connections: each client opens one, asks once, closes \
     it and opens the next one after 10 ms; the flood asks for connections to the same port, which \
     is opened for each turn. What the server answers to invented addresses leaves it by its link \
     and ends at the attacker's end of that. With the proxy net.ipv4.tcp_syncookies is 2, as it \
     must be; it begins when there are more requests in a second than its rule allows.",
    "Rates that the attacker does not reach are left out; `max` is all that it can send.",
];
