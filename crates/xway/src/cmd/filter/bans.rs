//! `filter ban`, `unban`, `bans`: sources whose packets are all dropped.

use anyhow::Result;
use control::filter::active::ActiveFilter;
use control::filter::bans::BanReport;
use control::filter::update::Update;

use crate::args::{FilterBanArgs, FilterBansArgs, FilterUnbanArgs};
use crate::cmd::{Context, Exit};

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
    context.show(&BanReport::read(interface, active)?)?;
    Ok(Exit::Done)
}
