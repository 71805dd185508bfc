//! `filter load`, `add`, `remove`, `flush`, `unload`: which rules are in force.

use anyhow::{Context as _, Result, bail};
use functions::filter::File;

use super::change::{Change, How};
use super::live::none;
use super::rules;
use crate::args::{
    DetachArgs, FilterAddArgs, FilterFlushArgs, FilterLoadArgs, FilterPlacement, FilterRemoveArgs,
    FilterUnloadArgs,
};
use crate::cmd::{Context, Exit, detach};
use crate::view::filter::load::InForce;

pub fn load(args: &FilterLoadArgs, context: &Context) -> Result<Exit> {
    let file = rules::read(&args.file)?;
    let change = Change::begin(context, &args.iface)?;
    put(&change, &file, &args.placement, context)
}

/// Where no filter runs, one with this rule alone does then.
pub fn add(args: &FilterAddArgs, context: &Context) -> Result<Exit> {
    let change = Change::begin(context, &args.iface)?;
    let mut file = in_force(&change)?.unwrap_or_default();
    file.scope.compile = rules::expression;
    let at = match &args.before {
        Some(name) => file.ruleset.number(name).with_context(|| unknown(&file, name))?,
        None => usize::MAX,
    };
    let named = args.name.as_ref().map(|name| format!("{name}: {}", args.rule));
    file.insert(at, named.as_ref().unwrap_or(&args.rule))?;
    put(&change, &file, &args.placement, context)
}

/// All of them or none.
pub fn remove(args: &FilterRemoveArgs, context: &Context) -> Result<Exit> {
    let change = Change::begin(context, &args.iface)?;
    let Some(mut file) = in_force(&change)? else { bail!(none(&args.iface)) };
    for name in &args.names {
        if file.remove(name).is_err() {
            bail!(unknown(&file, name));
        }
    }
    put(&change, &file, &FilterPlacement::default(), context)
}

pub fn flush(args: &FilterFlushArgs, context: &Context) -> Result<Exit> {
    let change = Change::begin(context, &args.iface)?;
    let Some(mut file) = in_force(&change)? else { bail!(none(&args.iface)) };
    file.ruleset.rules.clear();
    put(&change, &file, &FilterPlacement::default(), context)
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
    match functions::filter::text::nearest(name, names) {
        Some(near) => format!("there is no rule `{name}`; did you mean `{near}`?"),
        None => format!("there is no rule `{name}`"),
    }
}

fn put(
    change: &Change,
    file: &File,
    placement: &FilterPlacement,
    context: &Context,
) -> Result<Exit> {
    let mode = change.apply(file, &How::at(placement))?;
    let rules = &file.ruleset;
    context.show(&InForce {
        interface: change.target.interface.clone(),
        mode: mode.name(),
        updated: change.live.is_some(),
        default: rules.default.verdict().name(),
        rules: rules.rules.iter().map(|rule| rule.name.clone()).collect(),
    })?;
    Ok(Exit::Done)
}
