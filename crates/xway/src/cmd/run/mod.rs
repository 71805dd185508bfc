//! `run`: a program over a capture, in the engine or in the kernel, without an interface.
//!
//! Not here: the run itself, which is the library `runner`.

mod interrupt;
mod options;
mod progress;
mod trace;

use anyhow::Result;
use runner::{Callbacks, Job, Notice, Report};
use vm::World;

use self::options::{options, wants_host};
use super::{Context, Exit, confine, folder};
use crate::args::{RunArgs, RuntimeArg};
use crate::view::{say, wrapped};

pub fn run(args: &RunArgs, context: &Context) -> Result<Exit> {
    let args = &args.clone().with_object()?;
    let host = wants_host(args).then(host_world).transpose()?;
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
    args.world.iter().for_each(|world| named.input(world));
    args.maps.iter().for_each(|(_, file)| named.input(file));
    if wants_host(args) {
        // The kernel's version and configuration, which objects may ask for.
        HOST_FILES.iter().for_each(|file| named.input(file));
        let release = sys::proc::kernel_release().unwrap_or_default();
        named.input(format!("/boot/config-{release}"));
    }
    let cover = args.cover.iter().flatten();
    cover.chain(&args.save_world).for_each(|file| named.output(file));
    if let Some(folder) = &args.out {
        named.output_dir(folder)?;
    }
    named.end()
}

fn host_world() -> Result<World> {
    let snapshot = control::host::snapshot()?;
    for words in &snapshot.omitted {
        say(&wrapped(&format!("the world omits {words}"), TEXT_WIDTH));
    }
    Ok(snapshot.world)
}

/// Files that describe the host's kernel; they remain readable with `--world host`.
const HOST_FILES: [&str; 2] = ["/proc/config.gz", "/proc/sys/kernel/osrelease"];
/// Columns of running text.
const TEXT_WIDTH: usize = 90;
