//! `filter ban`, `unban`, `bans`: sources of which nothing is let in.

use anyhow::{Context as _, Result, bail};
use filter::maps::BANS;
use filter::runtime::bans::Bans;
use sys::thread::monotonic_ns;

use super::change::{Change, How};
use super::live::{Live, none};
use crate::args::{FilterBanArgs, FilterBansArgs, FilterUnbanArgs};
use crate::cmd::{Context, Exit};
use crate::view::filter::bans::{Ban, Banned};

pub fn ban(args: &FilterBanArgs, context: &Context) -> Result<Exit> {
    let mut change = Change::begin(context, &args.iface)?;
    let Some(live) = &change.live else { bail!(none(&args.iface)) };
    if !live.may_ban()? {
        // A program in which nobody can be banned does not look: one that does takes its place.
        let how = How { bans: true, ..How::default() };
        change.apply(&live.standing()?, &how)?;
        change.live = Live::find(&change.target.slot, change.target.ifindex)?;
    }
    let live = change.live.as_ref().context("the filter went away meanwhile")?;
    let map = live.map(BANS)?;
    let bans = Bans::new(&map);
    bans.sweep(monotonic_ns())?;
    for source in &args.sources {
        let added = bans.add(*source, args.time, monotonic_ns());
        added.with_context(|| format!("{source} was not banned"))?;
    }
    show(&args.iface, live, context)
}

/// # Errors
/// A source that is not banned: most likely it is misspelt.
pub fn unban(args: &FilterUnbanArgs, context: &Context) -> Result<Exit> {
    let change = Change::begin(context, &args.iface)?;
    let Some(live) = &change.live else { bail!(none(&args.iface)) };
    let map = live.map(BANS)?;
    let bans = Bans::new(&map);
    let known = bans.list(monotonic_ns())?;
    if let Some(free) = args.sources.iter().find(|one| known.iter().all(|ban| ban.source != **one))
    {
        bail!("{free} is not banned");
    }
    for source in &args.sources {
        bans.remove(*source)?;
    }
    show(&args.iface, live, context)
}

pub fn list(args: &FilterBansArgs, context: &Context) -> Result<Exit> {
    show(&args.iface, &Live::look(context, &args.iface)?, context)
}

fn show(interface: &str, live: &Live, context: &Context) -> Result<Exit> {
    context.show(&Banned { interface: interface.to_owned(), bans: bans(live)? })?;
    Ok(Exit::Done)
}

/// Those in force.
pub fn bans(live: &Live) -> Result<Vec<Ban>> {
    let bans = Bans::new(&live.map(BANS)?).list(monotonic_ns())?;
    Ok(bans.into_iter().map(|ban| Ban::from(&ban)).collect())
}
