//! `filter show`: the loaded rules, and what each counts.

use anyhow::Result;
use control::filter::monitor::FilterMonitor;
use sys::signal::Stop;

use crate::args::FilterShowArgs;
use crate::cmd::{Context, Exit};
use crate::view::filter::show::File;

pub fn run(args: &FilterShowArgs, context: &Context) -> Result<Exit> {
    let mut monitor = FilterMonitor::new(&context.control, &args.iface)?;
    if args.file {
        let file = monitor.active().text()?;
        context.show(&File { interface: args.iface.clone(), file })?;
        return Ok(Exit::Done);
    }
    if Stop::new()?.wait(args.interval)?.is_none() {
        context.show(&monitor.read()?)?;
    }
    Ok(Exit::Done)
}
