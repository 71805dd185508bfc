//! `route top`: the busiest destination networks, live.

use std::io::{self, IsTerminal};
use std::time::Instant;

use anyhow::{Context as _, Result};
use control::route::TopMonitor;
use sys::signal::Stop;

use crate::args::RouteTopArgs;
use crate::cmd::{Context, Exit, POLL_INTERVAL};
use crate::view::browser::BrowserScreen;

pub fn run(args: &RouteTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = TopMonitor::new(&context.control)?;
    let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
    if is_terminal && !args.once && !context.json {
        return browse(args, &stop, &mut monitor);
    }
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 && stop.wait(args.interval)?.is_none() {
        let top = monitor.read()?;
        if args.once {
            return context.show(&top).map(|()| Exit::Done);
        }
        if !context.show_next(&top)? {
            break;
        }
        left -= 1;
    }
    Ok(Exit::Done)
}

fn browse(args: &RouteTopArgs, stop: &Stop, monitor: &mut TopMonitor) -> Result<Exit> {
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
