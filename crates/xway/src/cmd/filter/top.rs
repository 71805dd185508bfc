//! `filter top`: the active rules with their rates, the busiest first.

use std::time::Instant;

use anyhow::Result;
use control::filter::active::ActiveFilter;
use control::filter::monitor::FilterMonitor;
use control::filter::top::{TopSampler, TopSenders};
use control::metrics;
use control::state::{Holder, Writer};
use sys::signal::Stop;

use crate::args::FilterTopArgs;
use crate::cmd::watch::Watch;
use crate::cmd::{Context, Exit, POLL_INTERVAL};
use crate::view::filter::top::{Top, without};
use crate::view::say;

pub fn run(args: &FilterTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut senders = Senders::begin(args, context)?;
    show(args, context, &stop, &mut senders)
}

/// Senders and ports, as long as they are requested and available; without them, rules are shown.
struct Senders<'a> {
    args: &'a FilterTopArgs,
    context: &'a Context,
    is_wanted: bool,
    talkers: Option<TopSampler<'a>>,
    /// The process that samples packets or runs a trial, which excludes sampling here.
    held: Option<Holder>,
}

impl<'a> Senders<'a> {
    fn begin(args: &'a FilterTopArgs, context: &'a Context) -> Result<Self> {
        let is_wanted = !args.rules_only;
        let mut senders = Self { args, context, is_wanted, talkers: None, held: None };
        if is_wanted {
            // A filter that cannot be read at all is an error.
            ActiveFilter::open(&context.control, &args.iface)?;
            senders.start();
        }
        if let Some(holder) = &senders.held {
            say(&format!("xway: {}", without(&holder.to_string())));
        }
        Ok(senders)
    }

    fn start(&mut self) {
        match TopSampler::begin(&self.context.control, &self.args.iface, self.args.sample) {
            Ok(Ok(talkers)) => (self.talkers, self.held) = (Some(talkers), None),
            Ok(Err(holder)) => self.held = Some(holder),
            Err(error) => {
                let error = anyhow::Error::from(error);
                say(&format!("xway: no senders and ports are shown: {error:#}"));
                (self.is_wanted, self.held) = (false, None);
            }
        }
    }

    fn read(&mut self) -> Result<()> {
        Ok(self.talkers.as_mut().map_or(Ok(()), TopSampler::read)?)
    }

    /// Continues, or starts, sampling as soon as no other process prevents it.
    fn follow(&mut self, running: u32) -> Result<()> {
        match &mut self.talkers {
            Some(talkers) => self.held = talkers.follow(running)?,
            None if self.is_wanted && Writer::is_free(&self.context.control) => self.start(),
            None => {}
        }
        Ok(())
    }

    /// The senders, or the holder that prevents sampling.
    fn state(&self) -> (Option<TopSenders>, Option<String>) {
        match &self.held {
            Some(holder) => (None, Some(holder.to_string())),
            None => (self.talkers.as_ref().map(TopSampler::top), None),
        }
    }
}

fn show(
    args: &FilterTopArgs,
    context: &Context,
    stop: &Stop,
    senders: &mut Senders<'_>,
) -> Result<Exit> {
    let mut monitor_rules = FilterMonitor::new(&context.control, &args.iface)?;
    let monitor = (args.monitor.interval, args.monitor.prometheus);
    let mut watch = Watch::browse(monitor, context)?;
    let end = args.time.map(|time| Instant::now() + time);
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    while !is_over() && watch.react()? && stop.wait(POLL_INTERVAL)?.is_none() {
        senders.read()?;
        if !watch.is_due() {
            continue;
        }
        let shown = monitor_rules.read()?;
        senders.follow(monitor_rules.program_id())?;
        watch.publish(|| metrics::filter(&shown));
        let (talkers, talkers_held_by) = senders.state();
        if !watch.tell_tables(&Top { shown, talkers, talkers_held_by })? {
            break;
        }
    }
    Ok(Exit::Done)
}
