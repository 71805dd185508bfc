//! `bench`: what XDP does, measured beside what else there is.

mod run;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::BenchAction;
use crate::view::bench::{Item, List};

pub fn run(action: &BenchAction, context: &Context) -> Result<Exit> {
    match action {
        BenchAction::List => list(context),
        BenchAction::Run(args) => run::run(args, context),
    }
}

fn list(context: &Context) -> Result<Exit> {
    let item = |scenario: &bench::Scenario| Item { name: scenario.name, about: scenario.about };
    context.show(&List(bench::SCENARIOS.iter().map(item).collect()))?;
    Ok(Exit::Done)
}
