//! `bench run`: scenarios one after the other; one that fails does not stop the next.

use anyhow::{Result, bail};
use bench::{Harness, Kind, Measurement, Plan, Progress, SCENARIOS, Scenario, Selection, Testbed};
use report::bench::Report;
use report::{Bench, Host, Run};

use super::interrupt::Interrupt;
use super::progress_view::{Output, ProgressView};
use super::run_dir::RunDir;
use super::run_writer::RunWriter;
use crate::args::BenchRunArgs;
use crate::cmd::{Context, Exit, rights};
use crate::view::say;

pub fn run(args: &BenchRunArgs, context: &Context) -> Result<Exit> {
    let scenarios = wanted(args)?;
    let host = Host::read();
    let run_dir = RunDir::choose(args.out.as_deref(), &host)?;
    let to = Output::choose(context.json);
    let interrupt = Interrupt::listen(to == Output::Lines)?;
    let progress_view = ProgressView::new(to, interrupt.clone());
    let run_writer = RunWriter::new(Run::new(typed()), run_dir, host);
    let asked = scenarios.len();
    let mut session =
        Session { asked, interrupt, progress_view, run_writer, failed: Vec::new(), is_cut: false };
    for (index, scenario) in scenarios.iter().enumerate() {
        session.progress_view.scenario(match asked {
            1 => scenario.name.to_owned(),
            _ => format!("{} ({} of {asked})", scenario.name, index + 1),
        });
        if !session.play(scenario, args, context)? {
            session.skips(&scenarios[index + 1..]);
            break;
        }
    }
    if to != Output::Silent {
        session.run_writer.told().iter().for_each(|words| say(words));
    }
    session.end()
}

/// What a run is made of.
struct Session {
    /// Scenarios.
    asked: usize,
    interrupt: Interrupt,
    progress_view: ProgressView,
    run_writer: RunWriter,
    /// Names and faults of scenarios.
    failed: Vec<(&'static str, anyhow::Error)>,
    is_cut: bool,
}

impl Session {
    /// Runs one scenario. Returns `false` if no further one must run.
    fn play(&mut self, one: &Scenario, args: &BenchRunArgs, context: &Context) -> Result<bool> {
        let mut reads_on = true;
        let done = match self.measure(one, args) {
            Ok(report) => {
                self.is_cut |= report.notes.cut.is_some();
                reads_on = context.show_next(&report)?;
                self.run_writer.save()
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
        let Self { interrupt, progress_view, run_writer, .. } = self;
        let is_over = || interrupt.is_asked();
        let rounds = args.rounds.unwrap_or(scenario.effort.rounds);
        let seconds = args.seconds.unwrap_or(scenario.effort.seconds);
        let mut told = Observers { progress_view, run_writer, round: 0, rounds };
        let harness = Harness::new(rounds, seconds, &mut told).interrupted_by(&is_over);
        let mut harness = harness.only(Selection::new(args.only.clone()));
        let measured = testbed(args).and_then(|testbed| scenario.run(&mut harness, &testbed));
        self.progress_view.end();
        let bench = measured.map_err(|fault| rights::explained(fault, rights::LAB))?;
        self.run_writer.finish(&bench)
    }

    fn fail(&mut self, scenario: &Scenario, fault: anyhow::Error) {
        let fault = fault.context(format!("benchmark \"{}\"", scenario.name));
        self.run_writer.fail(&format!("{fault:#}"));
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

/// Receivers of progress.
struct Observers<'s> {
    progress_view: &'s mut ProgressView,
    run_writer: &'s mut RunWriter,
    round: usize,
    rounds: usize,
}

impl Progress for Observers<'_> {
    fn begin(&mut self, plan: Plan<'_>) {
        self.progress_view.begin(plan);
    }

    fn turns(&mut self, arm: &str, round: usize) {
        self.round = round;
        self.progress_view.turns(arm, round);
    }

    fn value(&mut self, told: Measurement<'_>) {
        self.progress_view.value(told);
    }

    fn missed(&mut self, arm: &str, reason: &str) {
        self.progress_view.missed(arm, reason);
    }

    fn excluded(&mut self, arm: &str, reason: &str) {
        self.progress_view.excluded(arm, reason);
    }

    fn message(&mut self, text: &str) {
        self.progress_view.message(text);
    }

    fn prompt(&mut self, text: &str) {
        say(text);
    }

    fn round_ended(&mut self, so_far: &Bench) {
        self.run_writer.round_ended(so_far, self.round, self.rounds);
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
fn testbed(args: &BenchRunArgs) -> Result<Testbed> {
    let (Some(iface), Some(peer)) = (&args.iface, &args.peer) else { return Ok(Testbed::Lab) };
    for card in [iface, peer] {
        if let Some(client) = control::session::client_on(card)? {
            bail!("{card} carries your own SSH session (from {client}): name another card");
        }
    }
    Ok(Testbed::Nic { iface: iface.clone(), peer: peer.clone() })
}

/// The command line.
fn typed() -> String {
    let words = std::env::args().skip(1);
    ["xway".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
