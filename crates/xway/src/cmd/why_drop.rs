//! `why-drop`: lost frames of an interface, with causes and remedies.

use std::time::Instant;

use anyhow::Result;
use control::losses::LossMonitor;
use sys::signal::Stop;

use super::{Context, Exit, wait_is_over};
use crate::args::WhyDropArgs;
use crate::view::say;

pub fn run(args: &WhyDropArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = LossMonitor::start(&context.control, &args.iface)?;
    say(&format!("xway: counting lost frames of {}", args.iface));
    let begin = Instant::now();
    let mut shown = begin;
    loop {
        let is_over = wait_is_over(&stop, begin, args.time)?;
        let is_due = args.interval.is_some_and(|interval| shown.elapsed() >= interval);
        if !is_over && !is_due && args.count.is_none() {
            continue;
        }
        let report = monitor.read()?;
        let is_over = is_over || args.count.is_some_and(|count| report.lost >= count);
        if !is_over && !is_due {
            continue;
        }
        let is_read = context.show_next(&report)?;
        if is_over || !is_read {
            return Ok(if report.is_empty() { Exit::No } else { Exit::Done });
        }
        shown = Instant::now();
    }
}
