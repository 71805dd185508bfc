//! `xsk bench`: AF_XDP sockets in one role, with numbered packets.
//!
//! Interfaces and sockets are opened (`open`); the caller is notified; workers of the load engine
//! (`bench::load`) run while this thread shows progress and waits for a signal; the engine sums
//! their counters.

mod open;
mod packet;

use std::thread;
use std::time::Duration;

use anyhow::Result;
use bench::load::{self, Interval, LoadReport, Plan, Progress, Tally, Task};
use sys::net::{Netlink, Statistics};
use sys::signal::Stop;
use xsk::workers;

use self::open::Opened;
use crate::args::BenchArgs;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit};
use crate::view::say;
use crate::view::xsk::{HEIGHT, Ready, setup_line};

pub fn run(args: &BenchArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let opened = Opened::new(args, &stop)?;
    if !context.json {
        say(&setup_line(&opened.setup));
    }
    let before = counters(args)?;
    if args.ready {
        Context { json: true, ..context.clone() }.show_next(&Ready { ready: true })?;
    }
    let Opened { plan, tasks, setup } = opened;
    let tallies = play(args, &plan, tasks, &stop, context)?;
    let mut report = LoadReport::new(setup, &tallies);
    // An interface removed during the run has no counters.
    if let Ok(after) = counters(args) {
        report.note_interfaces(&before, &after);
    }
    context.show_next(&report)?;
    Ok(if report.sent + report.received == 0 { Exit::No } else { Exit::Done })
}

/// Runs the workers until they end, a signal arrives or the reader of the output is gone.
fn play(
    args: &BenchArgs,
    plan: &Plan,
    tasks: Vec<(workers::Place, Task)>,
    stop: &Stop,
    context: &Context,
) -> Result<Vec<Tally>> {
    let over = xsk::Stop::new();
    let mut watch = Watch::new((args.interval, None), HEIGHT, context)?;
    let work = |task, worker: &xsk::Worker<'_>| load::run(task, plan, worker.stop);
    thread::scope(|scope| {
        let run = || workers::run(tasks, &over, work);
        let all = sys::thread::spawn_scoped(scope, "workers", run)?;
        let seen = monitor(plan, || all.is_finished(), (stop, &over), &mut watch);
        over.set();
        let tallies = all.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        seen.and(tallies)
    })
}

fn monitor(
    plan: &Plan,
    is_finished: impl Fn() -> bool,
    (stop, over): (&Stop, &xsk::Stop),
    watch: &mut Watch<'_>,
) -> Result<()> {
    let mut before = Progress::default();
    watch.begin();
    while !is_finished() {
        if stop.wait(CHECK_EVERY)?.is_some() {
            over.set();
        }
        if watch.is_due() {
            let now = plan.progress();
            if !watch.tell(&Interval::between(before, now))? {
                over.set();
            }
            before = now;
        }
    }
    Ok(())
}

/// Counters of each interface of the run.
fn counters(args: &BenchArgs) -> Result<Vec<(String, Statistics)>> {
    let mut netlink = Netlink::open()?;
    let names = [Some(&args.dev), args.out_dev.as_ref()];
    names
        .into_iter()
        .flatten()
        .map(|name| Ok((name.clone(), netlink.link(name)?.statistics)))
        .collect()
}

/// How often signals and the end of the run are checked.
const CHECK_EVERY: Duration = Duration::from_millis(20);
