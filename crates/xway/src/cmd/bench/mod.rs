//! `bench`: what XDP does, measured beside what else there is.

mod compare;
mod interrupt;
mod progress_view;
mod run;
mod run_dir;
mod run_writer;

use anyhow::Result;
use bench::Kind;

use super::{Context, Exit};
use crate::args::BenchAction;
use crate::view::bench::{Item, List};

pub fn run(action: &BenchAction, context: &Context) -> Result<Exit> {
    match action {
        BenchAction::List => list(context),
        BenchAction::Run(args) => run::run(args, context),
        BenchAction::Compare(args) => compare::run(args, context),
    }
}

fn list(context: &Context) -> Result<Exit> {
    let item = |scenario: &bench::Scenario| Item {
        name: scenario.name,
        kind: match scenario.kind {
            Kind::Picture => "picture",
            Kind::Part => "part",
        },
        about: scenario.about,
        rounds: scenario.effort.rounds,
        seconds: scenario.effort.seconds,
    };
    context.show(&List(bench::SCENARIOS.iter().map(item).collect()))?;
    Ok(Exit::Done)
}
