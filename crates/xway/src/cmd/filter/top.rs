//! `filter top`: the rules in force while packets meet them, the busiest first.

use std::time::{Duration, Instant};

use anyhow::Result;
use sys::signal::Stop;

use super::show::Looks;
use crate::args::FilterTopArgs;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit};
use crate::metrics;
use crate::view::filter::top::Top;

pub fn run(args: &FilterTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut looks = Looks::new(context, &args.iface)?;
    let rows = ratatui::crossterm::terminal::size().map_or(ROWS, |(_, rows)| rows);
    let telling = (args.telling.interval, args.telling.prometheus);
    let mut watch = Watch::new(telling, rows, context)?;
    let end = args.time.map(|time| Instant::now() + time);
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    while !is_over() && stop.wait(LOOK_EVERY)?.is_none() {
        if !watch.is_due() {
            continue;
        }
        let shown = looks.look()?;
        watch.publish(|| metrics::filter(&shown));
        if !watch.tell(&Top(shown))? {
            break;
        }
    }
    Ok(Exit::Done)
}

/// How soon the end is seen.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Of a terminal that does not say how many it has.
const ROWS: u16 = 24;
