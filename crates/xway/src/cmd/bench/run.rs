//! `bench run`: scenarios one after the other; one that fails does not stop the next.

use anyhow::{Result, bail};
use bench::{Ground, Harness, Kind, Plan, Progress, SCENARIOS, Scenario, Told};
use report::bench::Report;
use report::{Bench, Host, Run};

use super::home::Home;
use super::interrupt::Interrupt;
use super::keeper::Keeper;
use super::teller::{Teller, To};
use crate::args::BenchRunArgs;
use crate::cmd::generate::guard;
use crate::cmd::{Context, Exit, rights};
use crate::view::bench::Answer;
use crate::view::say;

pub fn run(args: &BenchRunArgs, context: &Context) -> Result<Exit> {
    let scenarios = wanted(args)?;
    let host = Host::read();
    let home = Home::choose(args.out.as_deref(), &host)?;
    let to = To::choose(context.json);
    let interrupt = Interrupt::listen(to == To::Lines)?;
    let teller = Teller::new(to, interrupt.clone());
    let keeper = Keeper::new(Run::new(typed()), home, host);
    let asked = scenarios.len();
    let mut session =
        Session { asked, interrupt, teller, keeper, failed: Vec::new(), is_cut: false };
    for (index, scenario) in scenarios.iter().enumerate() {
        session.teller.scenario(match asked {
            1 => scenario.name.to_owned(),
            _ => format!("{} ({} of {asked})", scenario.name, index + 1),
        });
        if !session.play(scenario, args, context)? {
            session.skips(&scenarios[index + 1..]);
            break;
        }
    }
    if to != To::Nobody {
        session.keeper.told().iter().for_each(|words| say(words));
    }
    session.end()
}

/// What a run is made of.
struct Session {
    /// Scenarios.
    asked: usize,
    interrupt: Interrupt,
    teller: Teller,
    keeper: Keeper,
    /// Names and faults of scenarios.
    failed: Vec<(&'static str, anyhow::Error)>,
    is_cut: bool,
}

impl Session {
    /// One scenario. `false` when there shall be no next one.
    fn play(&mut self, one: &Scenario, args: &BenchRunArgs, context: &Context) -> Result<bool> {
        let mut reads_on = true;
        let done = match self.measure(one, args) {
            Ok(report) => {
                self.is_cut |= report.story.cut.is_some();
                reads_on = context.show_next(&Answer(report))?;
                self.keeper.save()
            }
            Err(fault) if self.interrupt.is_asked() => {
                self.is_cut = true;
                say(&format!("{}: {fault:#}", one.name));
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        if let Err(fault) = done {
            self.fail(one, fault);
        }
        Ok(reads_on && !self.interrupt.is_asked())
    }

    /// These have no turn any more.
    fn skips(&mut self, rest: &[&Scenario]) {
        let names: Vec<_> = rest.iter().map(|scenario| scenario.name).collect();
        if !names.is_empty() {
            self.is_cut = true;
            say(&format!("ended early; not measured: {}", names.join(", ")));
        }
    }

    fn measure(&mut self, scenario: &Scenario, args: &BenchRunArgs) -> Result<Report> {
        let Self { interrupt, teller, keeper, .. } = self;
        let is_over = || interrupt.is_asked();
        let rounds = args.rounds.unwrap_or(scenario.effort.rounds);
        let seconds = args.seconds.unwrap_or(scenario.effort.seconds);
        let mut told = Both { teller, keeper, round: 0, rounds };
        let mut harness = Harness::new(rounds, seconds, &mut told).interrupted_by(&is_over);
        let measured = ground(args).and_then(|ground| scenario.run(&mut harness, &ground));
        self.teller.end();
        let bench = measured.map_err(|fault| rights::explained(fault, rights::LAB))?;
        self.keeper.finish(&bench)
    }

    fn fail(&mut self, scenario: &Scenario, fault: anyhow::Error) {
        let fault = fault.context(format!("benchmark \"{}\"", scenario.name));
        self.keeper.fail(&format!("{fault:#}"));
        if self.asked > 1 {
            say(&format!("xway: {fault:#}"));
        }
        self.failed.push((scenario.name, fault));
    }

    fn end(mut self) -> Result<Exit> {
        if self.failed.is_empty() {
            return Ok(if self.is_cut { Exit::No } else { Exit::Done });
        }
        let names: Vec<_> = self.failed.iter().map(|(name, _)| *name).collect();
        match self.failed.pop().filter(|_| self.asked == 1) {
            Some((_, fault)) => Err(fault),
            None => bail!("not measured, or not kept: {}", names.join(", ")),
        }
    }
}

/// Those who are told.
struct Both<'s> {
    teller: &'s mut Teller,
    keeper: &'s mut Keeper,
    round: usize,
    rounds: usize,
}

impl Progress for Both<'_> {
    fn begins(&mut self, plan: Plan<'_>) {
        self.teller.begins(plan);
    }

    fn turns(&mut self, arm: &str, round: usize) {
        self.round = round;
        self.teller.turns(arm, round);
    }

    fn value(&mut self, told: Told<'_>) {
        self.teller.value(told);
    }

    fn misses(&mut self, arm: &str, reason: &str) {
        self.teller.misses(arm, reason);
    }

    fn leaves(&mut self, arm: &str, reason: &str) {
        self.teller.leaves(arm, reason);
    }

    fn says(&mut self, text: &str) {
        self.teller.says(text);
    }

    fn asks(&mut self, text: &str) {
        say(text);
    }

    fn round_ends(&mut self, so_far: &Bench) {
        self.keeper.round_ends(so_far, self.round, self.rounds);
    }
}

/// Each once, in the order in which they were named.
fn wanted(args: &BenchRunArgs) -> Result<Vec<&'static Scenario>> {
    if args.all {
        return Ok(SCENARIOS.iter().filter(|one| one.kind == Kind::Picture).collect());
    }
    let mut wanted: Vec<&Scenario> = Vec::new();
    for name in &args.names {
        let scenario = Scenario::find(name)?;
        if wanted.iter().all(|known| known.name != scenario.name) {
            wanted.push(scenario);
        }
    }
    Ok(wanted)
}

/// Cards that carry the user's own session are refused even where it ends on another interface.
fn ground(args: &BenchRunArgs) -> Result<Ground> {
    let (Some(iface), Some(peer)) = (&args.iface, &args.peer) else { return Ok(Ground::Lab) };
    for card in [iface, peer] {
        if let Some(client) = guard::carried(card)? {
            bail!("{card} carries your own SSH session (from {client}): name another card");
        }
    }
    Ok(Ground::Nic { iface: iface.clone(), peer: peer.clone() })
}

/// The command line.
fn typed() -> String {
    let words = std::env::args().skip(1);
    ["xway".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
