//! `filter ban`, `unban`, `bans`: sources whose packets are all dropped.

use anyhow::{Context as _, Result, bail};
use control::filter::active::ActiveFilter;
use control::filter::bans::BanReport;
use control::filter::update::Update;
use filter::maps::BANS;
use filter::runtime::bans::Bans;
use sys::thread::monotonic_ns;

use crate::args::{FilterBanArgs, FilterBansArgs, FilterUnbanArgs};
use crate::cmd::{Context, Exit};

pub fn ban(args: &FilterBanArgs, context: &Context) -> Result<Exit> {
    let mut update = Update::begin(&context.control, &args.iface)?;
    update.allow_bans()?;
    let active = update.required()?;
    let map = active.map(BANS)?;
    let bans = Bans::new(&map);
    bans.sweep(monotonic_ns())?;
    for source in &args.sources {
        let added = bans.add(*source, args.time, monotonic_ns());
        added.with_context(|| format!("{source} was not banned"))?;
    }
    show(&args.iface, active, context)
}

/// # Errors
/// A source that is not banned: most likely it is misspelt.
pub fn unban(args: &FilterUnbanArgs, context: &Context) -> Result<Exit> {
    let update = Update::begin(&context.control, &args.iface)?;
    let active = update.required()?;
    let map = active.map(BANS)?;
    let bans = Bans::new(&map);
    let known = bans.list(monotonic_ns())?;
    if let Some(free) = args.sources.iter().find(|one| known.iter().all(|ban| ban.source != **one))
    {
        bail!("{free} is not banned");
    }
    for source in &args.sources {
        bans.remove(*source)?;
    }
    show(&args.iface, active, context)
}

pub fn list(args: &FilterBansArgs, context: &Context) -> Result<Exit> {
    show(&args.iface, &ActiveFilter::open(&context.control, &args.iface)?, context)
}

fn show(interface: &str, active: &ActiveFilter, context: &Context) -> Result<Exit> {
    context.show(&BanReport::read(interface, active)?)?;
    Ok(Exit::Done)
}
