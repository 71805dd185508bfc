//! `run`: a program over a capture, in the engine or in the kernel, without an interface.
//!
//! Not here: the run itself, which is the library `runner`.

pub mod interrupt;
mod options;
mod progress;
mod trace;

use anyhow::Result;
use runner::{Callbacks, Job, Notice, Report};

use self::options::{options, wants_host};
use super::{Context, Exit, confine, folder, scenario};
use crate::args::{RunArgs, RuntimeArg};
use crate::view::say;

pub fn run(args: &RunArgs, context: &Context) -> Result<Exit> {
    let args = &args.clone().with_object()?;
    let host = wants_host(args).then(scenario::host_world).transpose()?;
    // Held until the end, so that signals do not end the process while a result is printed.
    let interrupt = interrupt::by_signals()?;
    if args.runtime == RuntimeArg::Vm && !args.diff {
        confine(args)?;
    }
    let options = options(args, host)?;
    let callbacks = Callbacks::default()
        .with_interrupt(interrupt.clone())
        .with_observer(notify)
        .with_progress(progress::shown());
    let job = Job::open(&options, callbacks)?;
    if let Some(file) = &args.save_world {
        folder::write(file, &job.world().to_toml()?)?;
    }
    if args.diff {
        let report = job.compare()?;
        context.show(&report)?;
        return Ok(exit(report.first_difference.is_none()));
    }
    if let Some(number) = args.explain {
        let explanation = job.explain(number)?;
        context.show(&explanation)?;
        return Ok(exit(explanation.fault.is_none()));
    }
    if args.trace {
        return trace::run(job, context);
    }
    let mut report = job.run()?;
    write_coverage(args, &mut report)?;
    context.show(&report)?;
    Ok(exit(report.tally.faults == 0))
}

fn exit(is_positive: bool) -> Exit {
    if is_positive { Exit::Done } else { Exit::No }
}

/// Writes the file of `--cover=FILE`.
fn write_coverage(args: &RunArgs, report: &mut Report) -> Result<()> {
    if let (Some(coverage), Some(Some(file))) = (&report.coverage, &args.cover) {
        folder::write(file, &runner::lcov(coverage))?;
        report.files.push(file.clone());
    }
    Ok(())
}

fn notify(notice: &Notice) {
    match notice {
        Notice::PlainProgram => say(&notice.to_string()),
        _ => say(&format!("xway: {notice}")),
    }
}

/// Confines the process to the named files. The engine needs no others.
fn confine(args: &RunArgs) -> Result<()> {
    let mut named = confine::begin()?;
    args.object.iter().for_each(|object| named.input(object));
    named.input(&args.input);
    scenario::permit(&mut named, &args.scenario, wants_host(args));
    let cover = args.cover.iter().flatten();
    cover.chain(&args.save_world).for_each(|file| named.output(file));
    if let Some(folder) = &args.out {
        named.output_dir(folder)?;
    }
    named.end()
}
