//! `filter load`, `add`, `remove`, `flush`, `unload`: changes of the active rules.

use anyhow::Result;
use control::attach::Detached;
use control::filter::update::Update;
use control::filter::{ApplyOptions, Clock, source};
use filter::File;

use crate::args::{
    FilterAddArgs, FilterFlushArgs, FilterLoadArgs, FilterRemoveArgs, FilterUnloadArgs,
};
use crate::cmd::{Context, Exit};

pub fn load(args: &FilterLoadArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let file = source::read(&args.file)?;
    let update = Update::begin(&context.control, &args.iface)?;
    let options =
        ApplyOptions { reset: true, ..ApplyOptions::with_placement(&(&args.placement).into()) };
    put(&update, &file, &options, clock, context)
}

/// Adds a rule; without a filter, one with this rule alone is loaded.
pub fn add(args: &FilterAddArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let named = args.name.as_ref().map(|name| format!("{name}: {}", args.rule));
    let file = update.with_rule(named.as_ref().unwrap_or(&args.rule), args.before.as_deref())?;
    put(&update, &file, &ApplyOptions::with_placement(&(&args.placement).into()), clock, context)
}

/// Removes all of the rules or none.
pub fn remove(args: &FilterRemoveArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let file = update.without_rules(&args.names)?;
    let options = ApplyOptions::with_placement(&(&args.caution).into());
    put(&update, &file, &options, clock, context)
}

pub fn flush(args: &FilterFlushArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let file = update.without_all_rules()?;
    let options = ApplyOptions::with_placement(&(&args.caution).into());
    put(&update, &file, &options, clock, context)
}

/// Detaches the filter; other programs remain.
pub fn unload(args: &FilterUnloadArgs, context: &Context) -> Result<Exit> {
    let update = Update::begin(&context.control, &args.iface)?;
    if update.active().is_none() {
        let (interface, programs, also) = (args.iface.clone(), Vec::new(), Vec::new());
        context.show(&Detached { interface, programs, also })?;
        return Ok(Exit::No);
    }
    let detached = update.unload()?;
    context.show(&detached)?;
    Ok(if detached.programs.is_empty() { Exit::No } else { Exit::Done })
}

fn put(
    update: &Update,
    file: &File,
    options: &ApplyOptions,
    mut clock: Clock,
    context: &Context,
) -> Result<Exit> {
    let read_s = clock.lap();
    let mut report = update.apply(file, options)?;
    report.timings.read_s = read_s;
    context.show(&report)?;
    Ok(Exit::Done)
}
