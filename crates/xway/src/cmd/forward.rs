//! `forward`: the built-in router with destination NAT, on all its interfaces or on none.

use anyhow::{Context as _, Result};
use functions::forward::{self, Config, Maps, Nat};
use kernel::{LoadOptions, Object};
use spec::Spec;

use super::attach::{Target, mode};
use super::{Context, Exit};
use crate::args::ForwardArgs;
use crate::state::{Change, Generation, Writer};
use crate::view::attach::Configured;

pub fn run(args: &ForwardArgs, context: &Context) -> Result<Exit> {
    let config = config(args)?;
    let writer = Writer::open(&context.state)?;
    let targets: Vec<Target> =
        args.ifaces.iter().map(|name| Target::with(&writer, name)).collect::<Result<_>>()?;
    let live = running(&targets, args)?;
    match &live {
        Some(generation) => update(generation, &config, &targets)?,
        None => attach(&config, &targets, args)?,
    }
    context.show(&Configured {
        function: NAME,
        interfaces: targets.into_iter().map(|target| target.interface).collect(),
        mode: mode(args.placement.mode).name(),
        updated: live.is_some(),
        rules: config.translations.iter().map(ToString::to_string).collect(),
    })?;
    Ok(Exit::Done)
}

fn config(args: &ForwardArgs) -> Result<Config> {
    let translations = args.nat.iter().map(|rule| Ok(rule.parse()?)).collect::<Result<Vec<_>>>()?;
    let nat = if args.nat_only { Nat::Required } else { Nat::Optional };
    Ok(Config { nat, translations, replies: !args.no_replies, ..Config::default() })
}

/// The one generation that all interfaces run, so that changing its tables changes them all.
fn running(targets: &[Target], args: &ForwardArgs) -> Result<Option<Generation>> {
    if args.placement.replace || args.nat_only || !args.placement.set.is_empty() {
        return Ok(None);
    }
    let mut programs = Vec::new();
    for target in targets {
        programs.push(target.running(mode(args.placement.mode))?);
    }
    let Some((Some(program), target)) = programs.first().copied().zip(targets.first()) else {
        return Ok(None);
    };
    if programs.iter().any(|other| *other != Some(program)) {
        return Ok(None);
    }
    Ok(target.slot.generation_of(program).filter(|one| one.name() == NAME))
}

fn update(generation: &Generation, config: &Config, targets: &[Target]) -> Result<()> {
    let [nat4, nat6, tx] =
        [forward::NAT4, forward::NAT6, forward::TX].map(|name| generation.map(name));
    let (nat4, nat6, tx) = (nat4?, nat6?, tx?);
    forward::update(config, &egress(targets), &Maps { nat4: &nat4, nat6: &nat6, tx: &tx })?;
    Ok(())
}

/// One object for all interfaces: they share its tables and counters.
fn attach(config: &Config, targets: &[Target], args: &ForwardArgs) -> Result<()> {
    let mut spec = Spec::parse(NAME, forward::OBJECT)?;
    config.apply(&mut spec)?;
    for (name, value) in &args.placement.set {
        spec.set_global_text(name, value)?;
    }
    let binding = targets.first().context("no interface")?.binding(&args.placement);
    let object = Object::load(&spec, &LoadOptions { binding, ..LoadOptions::default() })?;
    forward::update(config, &egress(targets), &Maps::find(|name| object.map(name))?)?;
    let mut changes = Vec::new();
    for target in targets {
        changes.push(target.install(NAME, &object, forward::PROGRAM, &args.placement)?);
    }
    changes.into_iter().try_for_each(Change::commit)
}

fn egress(targets: &[Target]) -> Vec<u32> {
    targets.iter().map(|target| target.ifindex.0).collect()
}

const NAME: &str = "forward";
