//! `filter top`: the rules in force while packets meet them, the busiest first.

use std::time::Instant;

use anyhow::Result;
use sys::signal::Stop;

use super::live::Live;
use super::show::Looks;
use super::talkers::Talkers;
use crate::args::FilterTopArgs;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::metrics;
use crate::view::filter::top::Top;
use crate::view::say;

pub fn run(args: &FilterTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut talkers = talkers(args, context)?;
    tell(args, context, &stop, talkers.as_mut())
}

/// `None` where they are not wanted, or cannot be had: then there are the rules.
fn talkers<'a>(args: &'a FilterTopArgs, context: &'a Context) -> Result<Option<Talkers<'a>>> {
    if args.rules_only {
        return Ok(None);
    }
    // What cannot be looked at at all is told as such.
    Live::look(context, &args.iface)?;
    let talkers = Talkers::begin(context, &args.iface, args.sample);
    if let Err(error) = &talkers {
        say(&format!("xway: no senders and ports are shown: {error:#}"));
    }
    Ok(talkers.ok())
}

fn tell(
    args: &FilterTopArgs,
    context: &Context,
    stop: &Stop,
    mut talkers: Option<&mut Talkers<'_>>,
) -> Result<Exit> {
    let mut looks = Looks::new(context, &args.iface)?;
    let rows = ratatui::crossterm::terminal::size().map_or(ROWS, |(_, rows)| rows);
    let telling = (args.telling.interval, args.telling.prometheus);
    let mut watch = Watch::new(telling, rows, context)?;
    let end = args.time.map(|time| Instant::now() + time);
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    while !is_over() && stop.wait(LOOK_EVERY)?.is_none() {
        talkers.as_mut().map_or(Ok(()), |talkers| talkers.look())?;
        if !watch.is_due() {
            continue;
        }
        let shown = looks.look()?;
        talkers.as_mut().map_or(Ok(()), |talkers| talkers.follow(looks.program()))?;
        watch.publish(|| metrics::filter(&shown));
        let talkers = talkers.as_ref().map(|talkers| talkers.told());
        if !watch.tell(&Top { shown, talkers })? {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Of a terminal that does not say how many it has.
const ROWS: u16 = 24;
