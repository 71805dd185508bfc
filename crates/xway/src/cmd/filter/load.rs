//! `filter load`, `add`, `remove`, `flush`, `unload`: which rules are in force.

use anyhow::{Context as _, Result, bail};
use filter::File;

use super::change::{Change, How};
use super::clock::Clock;
use super::live::none;
use super::{cut_off, rules};
use crate::args::{
    DetachArgs, FilterAddArgs, FilterFlushArgs, FilterLoadArgs, FilterRemoveArgs, FilterUnloadArgs,
};
use crate::cmd::{Context, Exit, detach};
use crate::view::filter::load::{InForce, Took};

pub fn load(args: &FilterLoadArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let file = rules::read(&args.file)?;
    let change = Change::begin(context, &args.iface)?;
    let how = How { anew: true, ..How::at(&args.placement) };
    put(&change, &file, &how, clock, context)
}

/// Where no filter runs, one with this rule alone does then.
pub fn add(args: &FilterAddArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let change = Change::begin(context, &args.iface)?;
    let mut file = in_force(&change)?.unwrap_or_default();
    file.scope.compile = rules::expression;
    let at = match &args.before {
        Some(name) => file.ruleset.number(name).with_context(|| unknown(&file, name))?,
        None => usize::MAX,
    };
    let named = args.name.as_ref().map(|name| format!("{name}: {}", args.rule));
    file.insert(at, named.as_ref().unwrap_or(&args.rule))?;
    put(&change, &file, &How::at(&args.placement), clock, context)
}

/// All of them or none.
pub fn remove(args: &FilterRemoveArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let change = Change::begin(context, &args.iface)?;
    let Some(mut file) = in_force(&change)? else { bail!(none(&args.iface)) };
    for name in &args.names {
        if file.remove(name).is_err() {
            bail!(unknown(&file, name));
        }
    }
    put(&change, &file, &How::default(), clock, context)
}

pub fn flush(args: &FilterFlushArgs, context: &Context) -> Result<Exit> {
    let clock = Clock::start();
    let change = Change::begin(context, &args.iface)?;
    let Some(mut file) = in_force(&change)? else { bail!(none(&args.iface)) };
    file.ruleset.rules.clear();
    put(&change, &file, &How::default(), clock, context)
}

/// Whatever else runs there stays.
pub fn unload(args: &FilterUnloadArgs, context: &Context) -> Result<Exit> {
    if Change::begin(context, &args.iface)?.live.is_none() {
        bail!(none(&args.iface));
    }
    detach::run(&DetachArgs { iface: args.iface.clone(), force: false }, context)
}

fn in_force(change: &Change) -> Result<Option<File>> {
    change.live.as_ref().map(|live| live.standing()).transpose()
}

fn unknown(file: &File, name: &str) -> String {
    let names = file.ruleset.rules.iter().map(|rule| rule.name.as_str());
    match filter::language::text::nearest(name, names) {
        Some(near) => format!("there is no rule `{name}`; did you mean `{near}`?"),
        None => format!("there is no rule `{name}`"),
    }
}

fn put(
    change: &Change,
    file: &File,
    how: &How,
    mut clock: Clock,
    context: &Context,
) -> Result<Exit> {
    let read_s = clock.lap();
    let rules = &file.ruleset;
    cut_off::warn(rules, &change.target.interface);
    let (mode, memory, took) = change.apply(file, how)?;
    context.show(&InForce {
        interface: change.target.interface.clone(),
        mode: mode.name(),
        updated: change.live.is_some(),
        default: rules.default.verdict().name(),
        rules: rules.rules.iter().map(|rule| rule.name.clone()).collect(),
        memory,
        took: Took { read_s, ..took },
    })?;
    Ok(Exit::Done)
}
