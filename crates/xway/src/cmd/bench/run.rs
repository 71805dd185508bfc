//! `bench run`: scenarios one after the other, their files kept up to date while they run.

use std::cell::Cell;

use anyhow::{Context as _, Result};
use bench::{Ground, Harness, Progress, Scenario, Told};
use report::number::human;
use report::{Bench, Host, Run};
use sys::signal::Stop;

use crate::args::BenchRunArgs;
use crate::cmd::folder::Folder;
use crate::cmd::{Context, Exit};
use crate::view::bench::Answer;
use crate::view::say;

pub fn run(args: &BenchRunArgs, context: &Context) -> Result<Exit> {
    let scenarios =
        args.names.iter().map(|name| Scenario::find(name)).collect::<Result<Vec<_>>>()?;
    let ground = match (&args.iface, &args.peer) {
        (Some(iface), Some(peer)) => Ground::Nic { iface: iface.clone(), peer: peer.clone() },
        _ => Ground::Lab,
    };
    let (stop, asked) = (Stop::new()?, Cell::new(false));
    let is_over = || {
        asked.set(asked.get() || stop.pending().is_some());
        asked.get()
    };
    let folder = args.out.as_deref().map(Folder::make).transpose()?;
    let mut keeper = Keeper { run: Run::new(typed()), folder, fault: None };
    let mut is_cut = false;
    for scenario in scenarios {
        let mut harness =
            Harness::new(args.rounds, args.seconds, &mut keeper).interrupted_by(&is_over);
        let bench = scenario.run(&mut harness, &ground);
        let bench = bench.with_context(|| format!("benchmark \"{}\"", scenario.name))?;
        is_cut |= bench.story().cut.is_some();
        keeper.finish(&bench)?;
        let measured = keeper.run.scenarios.last().context("it was put there")?;
        if !context.show_next(&Answer(measured.report.clone()))? || is_cut {
            break;
        }
    }
    Ok(if is_cut { Exit::No } else { Exit::Done })
}

/// Tells how it goes, and keeps the files up to date.
struct Keeper {
    run: Run,
    folder: Option<Folder>,
    /// The first file that could not be written.
    fault: Option<anyhow::Error>,
}

impl Progress for Keeper {
    fn value(&mut self, told: Told<'_>) {
        let round = match told.round {
            0 => "warm-up".to_owned(),
            round => format!("round {round} of {}", told.rounds),
        };
        say(&format!("{}, {round}: {}", told.arm, human(told.value, told.unit)));
    }

    fn says(&mut self, text: &str) {
        say(text);
    }

    fn round_ends(&mut self, so_far: &Bench) {
        let mut bench = so_far.clone();
        bench.cut("it was not at its end when this was written");
        if !bench.rounds().is_empty() && self.fault.is_none() {
            self.fault = self.keep(&bench).err();
        }
    }
}

impl Keeper {
    fn finish(&mut self, bench: &Bench) -> Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.keep(bench)?;
        let Some(folder) = &self.folder else { return Ok(()) };
        for (name, figure) in self.run.figures() {
            folder.put(&format!("{name}.svg"), figure.as_str())?;
        }
        folder.put("summary.md", &self.run.summary())?;
        folder.put("report.html", &self.run.page().to_html())?;
        Ok(())
    }

    /// Every value so far.
    fn keep(&mut self, bench: &Bench) -> Result<()> {
        self.run.put(bench, Host::read())?;
        let Some(folder) = &self.folder else { return Ok(()) };
        folder.put("raw.json", &serde_json::to_string_pretty(&self.run)?)?;
        Ok(())
    }
}

/// The command line.
fn typed() -> String {
    let words = std::env::args().skip(1);
    ["xway".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
