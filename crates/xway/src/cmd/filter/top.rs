//! `filter top`: the rules in force while packets meet them, the busiest first.

use std::time::Instant;

use anyhow::Result;
use control::filter::active::ActiveFilter;
use control::filter::monitor::FilterMonitor;
use control::filter::top::{TopSampler, TopSenders};
use control::metrics;
use control::state::{Holder, Writer};
use kernel::Program;
use sys::signal::Stop;

use crate::args::FilterTopArgs;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::view::filter::top::{Top, without};
use crate::view::say;

pub fn run(args: &FilterTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut senders = Senders::begin(args, context)?;
    tell(args, context, &stop, &mut senders)
}

/// Senders and ports, as long as they are wanted and can be had; without them there are the rules.
struct Senders<'a> {
    args: &'a FilterTopArgs,
    context: &'a Context,
    is_wanted: bool,
    talkers: Option<TopSampler<'a>>,
    /// Who else looks at packets, or tries something: one at a time.
    held: Option<Holder>,
}

impl<'a> Senders<'a> {
    fn begin(args: &'a FilterTopArgs, context: &'a Context) -> Result<Self> {
        let is_wanted = !args.rules_only;
        let mut senders = Self { args, context, is_wanted, talkers: None, held: None };
        if is_wanted {
            // What cannot be looked at at all is told as such.
            ActiveFilter::open(&context.control, &args.iface)?;
            senders.ask();
        }
        if let Some(holder) = &senders.held {
            say(&format!("xway: {}", without(&holder.to_string())));
        }
        Ok(senders)
    }

    fn ask(&mut self) {
        match TopSampler::begin(&self.context.control, &self.args.iface, self.args.sample) {
            Ok(Ok(talkers)) => (self.talkers, self.held) = (Some(talkers), None),
            Ok(Err(holder)) => self.held = Some(holder),
            Err(error) => {
                say(&format!("xway: no senders and ports are shown: {error:#}"));
                (self.is_wanted, self.held) = (false, None);
            }
        }
    }

    fn look(&mut self) -> Result<()> {
        Ok(self.talkers.as_mut().map_or(Ok(()), TopSampler::read)?)
    }

    /// Goes on, or begins, as soon as nobody else is in the way.
    fn follow(&mut self, running: &Program) -> Result<()> {
        match &mut self.talkers {
            Some(talkers) => self.held = talkers.follow(running)?,
            None if self.is_wanted && Writer::is_free(&self.context.control) => self.ask(),
            None => {}
        }
        Ok(())
    }

    /// What is told of them, or who is in the way.
    fn told(&self) -> (Option<TopSenders>, Option<String>) {
        match &self.held {
            Some(holder) => (None, Some(holder.to_string())),
            None => (self.talkers.as_ref().map(TopSampler::top), None),
        }
    }
}

fn tell(
    args: &FilterTopArgs,
    context: &Context,
    stop: &Stop,
    senders: &mut Senders<'_>,
) -> Result<Exit> {
    let mut looks = FilterMonitor::new(&context.control, &args.iface)?;
    let rows = ratatui::crossterm::terminal::size().map_or(ROWS, |(_, rows)| rows);
    let telling = (args.telling.interval, args.telling.prometheus);
    let mut watch = Watch::new(telling, rows, context)?;
    let end = args.time.map(|time| Instant::now() + time);
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    while !is_over() && stop.wait(LOOK_EVERY)?.is_none() {
        senders.look()?;
        if !watch.is_due() {
            continue;
        }
        let shown = looks.read()?;
        senders.follow(looks.program())?;
        watch.publish(|| metrics::filter(&shown));
        let (talkers, talkers_held_by) = senders.told();
        if !watch.tell(&Top { shown, talkers, talkers_held_by })? {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Of a terminal that does not say how many it has.
const ROWS: u16 = 24;
