//! `scan`: targets and plans of scans, and scans.
//!
//! Rule: commands that send nothing read files after they dropped privileges.

mod run;

use std::io::{self, BufWriter, ErrorKind, Write};

use anyhow::{Context as _, Result};
use control::text;
use traffic::scan::{Key, Plan, PlanReport, Reach, TargetLine, Targets};

use super::{Context, Exit, confine};
use crate::args::{ScanAction, ScanPlanArgs, ScanTargetsArgs, TargetArgs};
use crate::view::{Form, rendered};

pub fn run(action: &ScanAction, context: &Context) -> Result<Exit> {
    match action {
        ScanAction::Run(args) => run::run(args, context),
        ScanAction::Targets(args) => targets(args, context),
        ScanAction::Plan(args) => plan(args, context),
    }
}

fn targets(args: &ScanTargetsArgs, context: &Context) -> Result<Exit> {
    confine(&args.targets)?;
    let plan = read(&args.targets, seeded(&args.targets))?;
    let count = args.count.map_or(plan.len(), |count| plan.len().min(count.into()));
    let form = if context.json { Form::JsonLine } else { Form::Text };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut write = || -> io::Result<()> {
        for index in 0..count {
            let line = TargetLine::from(plan.target(index));
            writeln!(out, "{}", rendered(&line, form, context.style)?)?;
        }
        out.flush()
    };
    match write() {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
        other => other.map(|()| Exit::Done).context("cannot write to standard output"),
    }
}

fn plan(args: &ScanPlanArgs, context: &Context) -> Result<Exit> {
    confine(&args.targets)?;
    let plan = read(&args.targets, seeded(&args.targets))?;
    context.show(&PlanReport::new(&plan, args.rate))?;
    Ok(Exit::Done)
}

/// Confines a command that sends nothing.
fn confine(args: &TargetArgs) -> Result<()> {
    let mut named = confine::begin()?;
    args.targets.iter().chain(&args.blocklist).for_each(|path| named.input(path));
    named.end()
}

fn seeded(args: &TargetArgs) -> Key {
    Key::from_seed(args.seed.unwrap_or(1))
}

/// The plan of one pass.
fn read(args: &TargetArgs, key: Key) -> Result<Plan> {
    let mut targets = Targets::default();
    if args.public {
        targets.set_reach(Reach::Public);
    }
    for text in &args.target {
        targets.add(text)?;
    }
    for text in &args.exclude {
        targets.exclude(text)?;
    }
    for path in &args.targets {
        targets.add_lines(&text::read(path)?).with_context(|| path.display().to_string())?;
    }
    for path in &args.blocklist {
        targets.exclude_lines(&text::read(path)?).with_context(|| path.display().to_string())?;
    }
    let ports = args.port.clone().map(Vec::from).unwrap_or_default();
    Ok(Plan::new(targets.build()?, ports, key, args.pass - 1, args.shard)?)
}
