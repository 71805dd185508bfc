//! `forward`: the built-in router with destination NAT, on all its interfaces or on none.

use anyhow::{Context as _, Result, bail};
use functions::forward::{self, Config, Maps, Nat, Port};
use kernel::Object;
use spec::{Map as _, Spec};
use sys::net::{Link, Netlink};
use sys::netns::NetNs;

use super::attach::{Target, by_size, mode};
use super::tags::Tagging;
use super::{Context, Exit};
use crate::args::{ForwardArgs, ModeArg};
use crate::state::{Change, Generation, Scope, Slot, Writer};
use crate::view::attach::Configured;

pub fn run(args: &ForwardArgs, context: &Context) -> Result<Exit> {
    let config = config(args)?;
    let writer = Writer::open(&context.state)?;
    let scope = if args.ifaces.len() > 1 { Scope::Several } else { Scope::One };
    let mut targets: Vec<Target> =
        args.ifaces.iter().map(|name| Target::with(&writer, name)).collect::<Result<_>>()?;
    targets.iter_mut().for_each(|target| target.scope = scope);
    let live = running(&writer, &targets, &config, args)?;
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

/// One generation of those that all interfaces run with the same tables: changing them changes all.
///
/// # Errors
/// It runs on others too, which would lose their way out; or it was loaded for another answer to
/// packets without a translation.
fn running(
    writer: &Writer,
    targets: &[Target],
    config: &Config,
    args: &ForwardArgs,
) -> Result<Option<Generation>> {
    if args.placement.replace || !args.placement.set.is_empty() {
        return Ok(None);
    }
    let mode = mode(args.placement.mode);
    let mut first = None;
    for target in targets {
        let program = target.running(mode)?;
        let live = program.map_or(Ok(None), |id| router(&target.slot, id))?;
        let Some(live) = live else { return Ok(None) };
        if first.get_or_insert((live.1, target, live.0)).0 != live.1 {
            return Ok(None);
        }
    }
    let Some((tables, target, generation)) = first else { return Ok(None) };
    let together = interfaces_of(writer, tables)?;
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

/// The generation of a program if it is a forward, and the number of its table of interfaces, which
/// those that route between each other share.
fn router(slot: &Slot, program: u32) -> Result<Option<(Generation, u32)>> {
    let generation = slot.generation_of(program)?.filter(|one| one.name() == NAME);
    let Some(generation) = generation else { return Ok(None) };
    let tables = generation.map(forward::TX)?.info().id;
    Ok(Some((generation, tables)))
}

/// Names of all interfaces here that run a forward with these tables.
fn interfaces_of(writer: &Writer, tables: u32) -> Result<Vec<String>> {
    let netns = NetNs::current()?.id()?;
    let runs = |link: &Link| -> Result<bool> {
        let slot = writer.slot(netns, link.ifindex);
        let routers = link.xdp.programs().map(|(_mode, id)| router(&slot, id));
        let routers = routers.collect::<Result<Vec<_>>>()?;
        Ok(routers.into_iter().flatten().any(|(_, other)| other == tables))
    };
    let mut names = Vec::new();
    for link in Netlink::open()?.links()? {
        if runs(&link)? {
            names.push(link.name);
        }
    }
    Ok(names)
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

/// A program for each interface, because one that asks a device for tags is of that device alone.
/// All share tables and counters.
fn attach(config: &Config, targets: &[Target], args: &ForwardArgs) -> Result<()> {
    let mut spec = Spec::parse(NAME, forward::OBJECT)?;
    config.apply(&mut spec)?;
    for (name, value) in &args.placement.set {
        spec.set_global_text(name, value)?;
    }
    let large = targets.iter().any(Target::has_large_frames);
    by_size(large, [forward::PROGRAM, forward::PROGRAM_FRAGS], |program| {
        let (mut changes, mut taggings) = (Vec::new(), Vec::new());
        let mut shared = None;
        for target in targets {
            let (mode, ignore) = (args.placement.mode, args.ignore_stripped_tags);
            let tagging = Tagging::prepare(target, mode, ignore)?;
            let mut own = spec.clone();
            tagging.apply(&mut own, &[program])?;
            let object = load(target, &own, program, mode, shared.as_ref())?;
            if shared.is_none() {
                forward::update(config, &ports(targets), &Maps::find(|name| object.map(name))?)?;
            }
            changes.push(target.install(NAME, &object, program, &args.placement)?);
            taggings.push(tagging);
            shared.get_or_insert(object);
        }
        Change::commit_all(changes)?;
        taggings.into_iter().for_each(Tagging::keep);
        Ok(())
    })
}

/// Loads a program for an interface, with all maps but constants of another one.
fn load(
    target: &Target,
    spec: &Spec,
    program: &str,
    mode: ModeArg,
    shared: Option<&Object>,
) -> Result<Object> {
    let mut reuse = Vec::new();
    for def in spec.maps.iter().filter(|def| !def.frozen) {
        if let Some(map) = shared.and_then(|object| object.map(&def.name).ok()) {
            reuse.push((def.name.clone(), map.duplicate()?));
        }
    }
    target.load_sharing(spec, vec![program.to_owned()], mode, reuse)
}

fn ports(targets: &[Target]) -> Vec<Port> {
    let port =
        |target: &Target| Port { ifindex: target.ifindex.0, mac: target.mac.map(|mac| mac.0) };
    targets.iter().map(port).collect()
}

const NAME: &str = "forward";
