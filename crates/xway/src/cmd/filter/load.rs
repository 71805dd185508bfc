//! `filter load`, `add`, `remove`, `flush`, `unload`: which rules are in force.

use anyhow::{Context as _, Result, bail};
use control::filter::update::Update;
use control::filter::{ApplyOptions, Clock, source};
use filter::File;

use super::cut_off;
use crate::args::{
    FilterAddArgs, FilterFlushArgs, FilterLoadArgs, FilterRemoveArgs, FilterUnloadArgs,
};
use crate::cmd::{Context, Exit};

pub fn load(args: &FilterLoadArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let file = source::read(&args.file)?;
    let update = Update::begin(&context.control, &args.iface)?;
    let how = ApplyOptions {
        reset_globals: true,
        ..ApplyOptions::with_placement(&(&args.placement).into())
    };
    put(&update, &file, &how, clock, context)
}

/// Where no filter runs, one with this rule alone does then.
pub fn add(args: &FilterAddArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let mut file = update.rules()?.unwrap_or_default();
    file.scope.compile = source::expression;
    let at = match &args.before {
        Some(name) => file.ruleset.number(name).with_context(|| unknown(&file, name))?,
        None => usize::MAX,
    };
    let named = args.name.as_ref().map(|name| format!("{name}: {}", args.rule));
    file.insert(at, named.as_ref().unwrap_or(&args.rule))?;
    put(&update, &file, &ApplyOptions::with_placement(&(&args.placement).into()), clock, context)
}

/// All of them or none.
pub fn remove(args: &FilterRemoveArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let mut file = update.required()?.unexpired()?;
    for name in &args.names {
        if file.remove(name).is_err() {
            bail!(unknown(&file, name));
        }
    }
    put(&update, &file, &ApplyOptions::default(), clock, context)
}

pub fn flush(args: &FilterFlushArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let mut file = update.required()?.unexpired()?;
    file.ruleset.rules.clear();
    put(&update, &file, &ApplyOptions::default(), clock, context)
}

/// Programs other than a filter stay.
pub fn unload(args: &FilterUnloadArgs, context: &Context) -> Result<Exit> {
    let update = Update::begin(&context.control, &args.iface)?;
    update.required()?;
    let detached = update.unload()?;
    context.show(&detached)?;
    Ok(if detached.programs.is_empty() { Exit::No } else { Exit::Done })
}

fn unknown(file: &File, name: &str) -> String {
    let names = file.ruleset.rules.iter().map(|rule| rule.name.as_str());
    match filter::language::text::nearest(name, names) {
        Some(near) => format!("there is no rule `{name}`; did you mean `{near}`?"),
        None => format!("there is no rule `{name}`"),
    }
}

fn put(
    update: &Update,
    file: &File,
    options: &ApplyOptions,
    mut clock: Clock,
    context: &Context,
) -> Result<Exit> {
    let read_s = clock.lap();
    cut_off::warn(&file.ruleset, update.interface());
    let mut report = update.apply(file, options)?;
    report.timings.read_s = read_s;
    context.show(&report)?;
    Ok(Exit::Done)
}
