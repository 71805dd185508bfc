//! `bench`: what XDP does, measured beside what else there is.

mod compare;
mod interrupt;
mod progress_view;
mod run;
mod run_dir;
mod run_writer;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::BenchAction;

pub fn run(action: &BenchAction, context: &Context) -> Result<Exit> {
    match action {
        BenchAction::List => list(context),
        BenchAction::Run(args) => run::run(args, context),
        BenchAction::Compare(args) => compare::run(args, context),
    }
}

fn list(context: &Context) -> Result<Exit> {
    context.show(&bench::SCENARIOS)?;
    Ok(Exit::Done)
}
