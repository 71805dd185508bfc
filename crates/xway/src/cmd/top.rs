//! `top`: interfaces, programs, processors and queues of this namespace, live.

use std::io::{self, IsTerminal};
use std::time::Instant;

use anyhow::{Context as _, Result};
use control::overview::OverviewMonitor;
use sys::signal::Stop;

use super::{Context, Exit, POLL_INTERVAL};
use crate::args::TopArgs;
use crate::view::browser::BrowserScreen;

pub fn run(args: &TopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = OverviewMonitor::new(&context.control, args.iface.as_deref())?;
    if args.run_time {
        monitor.measure_run_time()?;
    }
    let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
    if is_terminal && !args.once && !context.json {
        return browse(args, &stop, &mut monitor);
    }
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 && stop.wait(args.interval)?.is_none() {
        let overview = monitor.read()?;
        if args.once {
            return context.show(&overview).map(|()| Exit::Done);
        }
        if !context.show_next(&overview)? {
            break;
        }
        left -= 1;
    }
    Ok(Exit::Done)
}

fn browse(args: &TopArgs, stop: &Stop, monitor: &mut OverviewMonitor) -> Result<Exit> {
    let mut screen = BrowserScreen::open().context("cannot take over the terminal")?;
    screen.show(&monitor.read()?);
    let mut next = Instant::now() + args.interval;
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 && screen.react().context("cannot read keys")? {
        if Instant::now() >= next {
            screen.show(&monitor.read()?);
            next = Instant::now() + args.interval;
            left -= 1;
        }
        if stop.wait(POLL_INTERVAL)?.is_some() {
            break;
        }
    }
    Ok(Exit::Done)
}
