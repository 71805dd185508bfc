//! `filter load`, `add`, `remove`, `flush`, `unload`: which rules are in force.

use anyhow::{Context as _, Result, bail};
use control::filter::update::Update;
use control::filter::{ApplyOptions, Clock, LoadReport, LoadTimings, no_filter, source};
use filter::File;

use super::cut_off;
use crate::args::{
    DetachArgs, FilterAddArgs, FilterFlushArgs, FilterLoadArgs, FilterRemoveArgs, FilterUnloadArgs,
};
use crate::cmd::{Context, Exit, attach};

pub fn load(args: &FilterLoadArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let file = source::read(&args.file)?;
    let update = Update::begin(&context.control, &args.iface)?;
    let how = ApplyOptions { reset_globals: true, ..ApplyOptions::at(&(&args.placement).into()) };
    put(&update, &file, &how, clock, context)
}

/// Where no filter runs, one with this rule alone does then.
pub fn add(args: &FilterAddArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let mut file = in_force(&update)?.unwrap_or_default();
    file.scope.compile = source::expression;
    let at = match &args.before {
        Some(name) => file.ruleset.number(name).with_context(|| unknown(&file, name))?,
        None => usize::MAX,
    };
    let named = args.name.as_ref().map(|name| format!("{name}: {}", args.rule));
    file.insert(at, named.as_ref().unwrap_or(&args.rule))?;
    put(&update, &file, &ApplyOptions::at(&(&args.placement).into()), clock, context)
}

/// All of them or none.
pub fn remove(args: &FilterRemoveArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let update = Update::begin(&context.control, &args.iface)?;
    let Some(mut file) = in_force(&update)? else { bail!(no_filter(&args.iface)) };
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
    let Some(mut file) = in_force(&update)? else { bail!(no_filter(&args.iface)) };
    file.ruleset.rules.clear();
    put(&update, &file, &ApplyOptions::default(), clock, context)
}

/// Whatever else runs there stays.
pub fn unload(args: &FilterUnloadArgs, context: &Context) -> Result<Exit> {
    if Update::begin(&context.control, &args.iface)?.active.is_none() {
        bail!(no_filter(&args.iface));
    }
    attach::detach(&DetachArgs { iface: args.iface.clone(), force: false }, context)
}

fn in_force(update: &Update) -> Result<Option<File>> {
    update.active.as_ref().map(|live| live.standing()).transpose()
}

fn unknown(file: &File, name: &str) -> String {
    let names = file.ruleset.rules.iter().map(|rule| rule.name.as_str());
    match filter::text::nearest(name, names) {
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
    let rules = &file.ruleset;
    cut_off::warn(rules, &update.target.interface);
    let (mode, memory, took) = update.apply(file, options)?;
    context.show(&LoadReport {
        interface: update.target.interface.clone(),
        mode: mode.name(),
        updated: update.active.is_some(),
        default: rules.default.verdict().name(),
        rules: rules.rules.iter().map(|rule| rule.name.clone()).collect(),
        memory,
        took: LoadTimings { read_s, ..took },
    })?;
    Ok(Exit::Done)
}
