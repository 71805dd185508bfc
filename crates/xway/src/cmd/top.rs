//! `top`: interfaces, programs, processors and queues of this namespace, live.

use anyhow::Result;
use control::overview::OverviewMonitor;
use sys::signal::Stop;

use super::live::{self, Pace};
use super::{Context, Exit};
use crate::args::TopArgs;

pub fn run(args: &TopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = OverviewMonitor::new(&context.control, args.iface.as_deref())?;
    if args.run_time {
        monitor.measure_run_time()?;
    }
    let pace = Pace { interval: args.interval, count: args.count, once: args.once };
    live::show(&pace, &stop, context, || Ok(monitor.read()?))
}
