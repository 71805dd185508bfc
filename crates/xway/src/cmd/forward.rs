//! `forward`: the built-in router with destination NAT, on all its interfaces or on none.

use anyhow::{Context as _, Result, bail};
use functions::forward::{self, Config, Maps, Nat, Port};
use spec::{Map as _, Spec};
use sys::net::Netlink;

use super::attach::{Target, by_size, mode};
use super::{Context, Exit};
use crate::args::ForwardArgs;
use crate::state::{Change, Generation, Writer};
use crate::view::attach::Configured;

pub fn run(args: &ForwardArgs, context: &Context) -> Result<Exit> {
    let config = config(args)?;
    let writer = Writer::open(&context.state)?;
    let targets: Vec<Target> =
        args.ifaces.iter().map(|name| Target::with(&writer, name)).collect::<Result<_>>()?;
    let live = running(&targets, &config, args)?;
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
///
/// # Errors
/// It runs on others too, which would lose their way out; or it was loaded for another answer to
/// packets without a translation.
fn running(targets: &[Target], config: &Config, args: &ForwardArgs) -> Result<Option<Generation>> {
    if args.placement.replace || !args.placement.set.is_empty() {
        return Ok(None);
    }
    let mode = mode(args.placement.mode);
    let mut programs = Vec::new();
    for target in targets {
        programs.push(target.running(mode)?);
    }
    let Some((Some(program), target)) = programs.first().copied().zip(targets.first()) else {
        return Ok(None);
    };
    let ours = target.slot.generation_of(program).filter(|one| one.name() == NAME);
    let Some(generation) = ours else { return Ok(None) };
    if programs.iter().any(|other| *other != Some(program)) {
        return Ok(None);
    }
    let together = interfaces_of(program)?;
    let named = |name: &String| targets.iter().any(|target| target.interface == *name);
    if let Some(left_out) = together.iter().find(|name| !named(name)) {
        bail!(
            "forward runs on {} as one; name {left_out} too, or detach it first",
            together.join(" and ")
        );
    }
    if !is_alike(&generation, config)? {
        let without = if args.nat_only { "without" } else { "with" };
        bail!("forward runs on {} {without} --nat-only; --replace it", target.interface);
    }
    Ok(Some(generation))
}

/// Names of all interfaces here that run a program.
fn interfaces_of(program: u32) -> Result<Vec<String>> {
    let links = Netlink::open()?.links()?.into_iter();
    let running = links.filter(|link| link.xdp.programs().any(|(_mode, id)| id == program));
    Ok(running.map(|link| link.name).collect())
}

/// Whether it was loaded to treat packets without a translation as the configuration wants.
fn is_alike(generation: &Generation, config: &Config) -> Result<bool> {
    let mut spec = Spec::parse(NAME, forward::OBJECT)?;
    config.apply(&mut spec)?;
    let globals = spec.globals();
    let nat = globals.iter().find(|global| global.name == "forward_nat");
    let nat = nat.context("forward has no `forward_nat`")?;
    let live = generation.map(&nat.section)?.lookup(&0_u32.to_ne_bytes())?;
    let wanted = spec.map(&nat.section).and_then(|map| map.contents.as_deref());
    let place = nat.offset as usize..(nat.offset + nat.size) as usize;
    Ok(live.as_deref().and_then(|bytes| bytes.get(place.clone()))
        == wanted.and_then(|bytes| bytes.get(place)))
}

fn update(generation: &Generation, config: &Config, targets: &[Target]) -> Result<()> {
    let names = [forward::NAT4, forward::NAT6, forward::TX, forward::MACS];
    let [nat4, nat6, tx, macs] = names.map(|name| generation.map(name));
    let (nat4, nat6, tx, macs) = (nat4?, nat6?, tx?, macs?);
    let maps = Maps { nat4: &nat4, nat6: &nat6, tx: &tx, macs: &macs };
    forward::update(config, &ports(targets), &maps)?;
    Ok(())
}

/// One object for all interfaces: they share its tables and counters.
fn attach(config: &Config, targets: &[Target], args: &ForwardArgs) -> Result<()> {
    let mut spec = Spec::parse(NAME, forward::OBJECT)?;
    config.apply(&mut spec)?;
    for (name, value) in &args.placement.set {
        spec.set_global_text(name, value)?;
    }
    let first = targets.first().context("no interface")?;
    let large = targets.iter().any(Target::has_large_frames);
    by_size(large, [forward::PROGRAM, forward::PROGRAM_FRAGS], |program| {
        let object = first.load(&spec, vec![program.to_owned()], args.placement.mode)?;
        forward::update(config, &ports(targets), &Maps::find(|name| object.map(name))?)?;
        let mut changes = Vec::new();
        for target in targets {
            changes.push(target.install(NAME, &object, program, &args.placement)?);
        }
        changes.into_iter().try_for_each(Change::commit)
    })
}

fn ports(targets: &[Target]) -> Vec<Port> {
    let port =
        |target: &Target| Port { ifindex: target.ifindex.0, mac: target.mac.map(|mac| mac.0) };
    targets.iter().map(port).collect()
}

const NAME: &str = "forward";
