//! `filter ban`, `unban`, `bans`: sources whose packets are all dropped.

use anyhow::Result;
use control::filter::active::ActiveFilter;
use control::filter::update::Update;

use crate::args::{FilterBanArgs, FilterBansArgs, FilterUnbanArgs};
use crate::cmd::{Context, Exit};
use crate::view::filter::bans::{Ban, Banned};

pub fn ban(args: &FilterBanArgs, context: &Context) -> Result<Exit> {
    let mut update = Update::begin(&context.control, &args.iface)?;
    update.ban(&args.sources, args.time)?;
    show(&args.iface, update.required()?, context)
}

pub fn unban(args: &FilterUnbanArgs, context: &Context) -> Result<Exit> {
    let update = Update::begin(&context.control, &args.iface)?;
    update.unban(&args.sources)?;
    show(&args.iface, update.required()?, context)
}

pub fn list(args: &FilterBansArgs, context: &Context) -> Result<Exit> {
    show(&args.iface, &ActiveFilter::open(&context.control, &args.iface)?, context)
}

fn show(interface: &str, active: &ActiveFilter, context: &Context) -> Result<Exit> {
    let bans = active.ban_list()?.iter().map(Ban::from).collect();
    context.show(&Banned { interface: interface.to_owned(), bans })?;
    Ok(Exit::Done)
}
