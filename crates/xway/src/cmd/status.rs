//! `status`: each interface of this namespace, its programs and their packets by verdict.

use std::io::{self, IsTerminal};
use std::time::Instant;

use anyhow::{Context as _, Result};
use control::status::StatusMonitor;
use sys::signal::Stop;

use super::{Context, Exit, POLL_INTERVAL};
use crate::args::StatusArgs;
use crate::view::browser::BrowserScreen;

pub fn run(args: &StatusArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = StatusMonitor::new(&context.control, args.iface.as_deref())?;
    if args.run_time {
        monitor.measure_run_time()?;
    }
    let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
    if args.watch && !context.json && is_terminal {
        return browse(args, &stop, &mut monitor);
    }
    while stop.wait(args.interval)?.is_none() {
        let status = monitor.read()?;
        if !args.watch {
            return context.show(&status).map(|()| Exit::Done);
        }
        if !context.show_next(&status)? {
            break;
        }
    }
    Ok(Exit::Done)
}

fn browse(args: &StatusArgs, stop: &Stop, monitor: &mut StatusMonitor) -> Result<Exit> {
    let mut screen = BrowserScreen::open().context("cannot take over the terminal")?;
    let mut next = Instant::now();
    while screen.react().context("cannot read keys")? {
        if Instant::now() >= next {
            screen.show(&monitor.read()?);
            next = Instant::now() + args.interval;
        }
        if stop.wait(POLL_INTERVAL)?.is_some() {
            break;
        }
    }
    Ok(Exit::Done)
}
