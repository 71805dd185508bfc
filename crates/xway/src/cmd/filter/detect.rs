//! `filter detect`: finds floods in observed traffic, and rules that would stop them.
//!
//! Rule: the active rules decide as before during the observation. Without a filter, the sampling
//! program ends with this process.

use anyhow::Result;
use control::filter::detector::Detector;
use control::filter::temporary::TemporaryRules;
use sys::signal::Stop;

use crate::args::FilterDetectArgs;
use crate::cmd::{Context, Exit};
use crate::view::say;

pub fn run(args: &FilterDetectArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let options = args.options();
    let mut detected = Detector::begin(&context.control, &args.iface, &options)?.finish(&stop)?;
    let exit = if detected.findings.is_empty() { Exit::No } else { Exit::Done };
    if !args.auto {
        context.show(&detected)?;
        return Ok(exit);
    }
    let rules = detected.load(&context.control, (PREFIX, options.max_rules), &options)?;
    context.show(&detected)?;
    if let Some(rules) = rules {
        hold(&rules, args, &stop, context)?;
    }
    Ok(exit)
}

/// Waits until the rules have expired or a signal arrives, and removes them.
fn hold(
    rules: &TemporaryRules,
    args: &FilterDetectArgs,
    stop: &Stop,
    context: &Context,
) -> Result<()> {
    let interrupted = stop.wait(args.hold)?.is_some();
    let why = if interrupted { "interrupted" } else { "their time has expired" };
    if let Some(packets) = rules.remove(&context.control)? {
        let names = rules.names().join(", ");
        say(&format!("xway: {why}: {names} removed after {packets} packets"));
    }
    Ok(())
}

/// Names of temporary rules begin with this.
const PREFIX: &str = "detect-";
