//! `route top`: the busiest destination networks, live.

use anyhow::Result;
use control::route::TopMonitor;
use sys::signal::Stop;

use crate::args::RouteTopArgs;
use crate::cmd::live::{self, Pace};
use crate::cmd::{Context, Exit};

pub fn run(args: &RouteTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = TopMonitor::new(&context.control)?;
    let pace = Pace { interval: args.interval, count: args.count, once: args.once };
    live::show(&pace, &stop, context, || Ok(monitor.read()?))
}
