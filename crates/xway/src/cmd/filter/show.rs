//! `filter show`: the rules in force, and what each counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use functions::filter::Rule;
use sys::signal::Stop;

use super::live::{Live, Reading};
use crate::args::FilterShowArgs;
use crate::cmd::{Context, Exit};
use crate::view::filter::show::{File, Given, Shown};

pub fn run(args: &FilterShowArgs, context: &Context) -> Result<Exit> {
    let mut looks = Looks::new(context, &args.iface)?;
    if args.file {
        context.show(&File { interface: args.iface.clone(), file: looks.live.text()? })?;
        return Ok(Exit::Done);
    }
    if Stop::new()?.wait(args.interval)?.is_none() {
        context.show(&looks.look()?)?;
    }
    Ok(Exit::Done)
}

/// Looking again and again: rates need the counts of the time before.
#[derive(Debug)]
pub struct Looks<'a> {
    context: &'a Context,
    interface: &'a str,
    live: Live,
    given: Given,
    last: (Instant, Reading),
}

impl<'a> Looks<'a> {
    pub fn new(context: &'a Context, interface: &'a str) -> Result<Self> {
        let live = Live::look(context, interface)?;
        let given = given(&live)?;
        let last = (Instant::now(), live.read()?);
        Ok(Self { context, interface, live, given, last })
    }

    /// Other rules may have come meanwhile: then rates begin anew.
    pub fn look(&mut self) -> Result<Shown> {
        let live = Live::look(self.context, self.interface)?;
        if live.program.id() != self.live.program.id() {
            self.given = given(&live)?;
            self.last = (Instant::now(), live.read()?);
        }
        self.live = live;
        let now = (Instant::now(), self.live.read()?);
        let (then, before) = std::mem::replace(&mut self.last, now);
        let elapsed: Duration = self.last.0 - then;
        let head = (self.interface, self.live.mode.name(), self.live.program.id());
        let counts = |reading: &Reading| (reading.rules.clone(), reading.counts.clone());
        let between = (counts(&before), counts(&self.last.1));
        Ok(Shown::new(head, &self.given, between, elapsed.as_secs_f64()))
    }
}

fn given(live: &Live) -> Result<Given> {
    let file = live.file()?;
    let texts = file.ruleset.rules.iter().map(Rule::body).collect();
    Ok(Given { rules: file.ruleset, sets: file.scope.sets, texts })
}
