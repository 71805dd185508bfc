//! `filter show`: the rules in force, and what each counts.

use std::time::{Duration, Instant};

use anyhow::Result;
use filter::Rule;
use kernel::Program;
use sys::signal::Stop;

use super::limits;
use super::live::Live;
use crate::args::FilterShowArgs;
use crate::cmd::{Context, Exit};
use crate::view::filter::show::{File, Given, Moment, Shown};

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
    last: (Instant, Moment),
}

impl<'a> Looks<'a> {
    pub fn new(context: &'a Context, interface: &'a str) -> Result<Self> {
        let ask = |live: &Live| Ok((given(live)?, Instant::now(), live.read()?));
        let (live, (given, then, counts)) = Live::ask(context, interface, ask)?;
        Ok(Self { context, interface, live, given, last: (then, counts) })
    }

    /// Other rules may have come meanwhile: then rates begin anew. They go on where the same rules
    /// have another program, as in a trial and while somebody looks at packets.
    pub fn look(&mut self) -> Result<Shown> {
        let known = self.live.program.id();
        let old = &self.given.rules;
        let ask = |live: &Live| {
            let given = (live.program.id() != known).then(|| given(live)).transpose()?;
            let left = live.left(given.as_ref().map_or(old, |given| &given.rules))?;
            Ok((given, left, Instant::now(), live.read()?))
        };
        let (live, (given, left, now, counts)) = Live::ask(self.context, self.interface, ask)?;
        self.live = live;
        if let Some(given) = given {
            let is_same = given.rules == self.given.rules;
            self.given = given;
            if !is_same {
                self.last = (now, counts.clone());
            }
        }
        self.given.left = left;
        let (then, before) = std::mem::replace(&mut self.last, (now, counts));
        let elapsed: Duration = self.last.0 - then;
        let head = (self.interface, self.live.mode.name(), self.live.program.id());
        let between = (&before, &self.last.1);
        let mut shown = Shown::new(head, &self.given, between, elapsed.as_secs_f64());
        shown.limits = limits::read(&self.live, &self.given, &shown.rules)?;
        shown.bans = self.live.bans()?;
        Ok(shown)
    }

    /// What ran when it was looked at last.
    pub fn program(&self) -> &Program {
        &self.live.program
    }
}

fn given(live: &Live) -> Result<Given> {
    let file = live.file()?;
    let texts = file.ruleset.rules.iter().map(Rule::body).collect();
    let left = live.left(&file.ruleset)?;
    Ok(Given { rules: file.ruleset, sets: file.scope.sets, texts, left })
}
