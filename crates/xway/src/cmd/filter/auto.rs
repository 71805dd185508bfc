//! `filter detect --auto`: suggested rules in force for a time.
//!
//! Rule: the time is in the program, so it holds whatever becomes of this process; what is taken
//! back at the end is what was put in force here, and no rule of anybody else. New rules stand
//! behind all that are there, so whatever passes or decides now goes on to.

use std::time::Duration;

use anyhow::Result;
use control::filter::active::ActiveFilter;
use control::filter::update::Update;
use control::filter::{ApplyOptions, FilterPlacement, ruleset, source};
use filter::File;
use sys::signal::Stop;

use crate::args::FilterDetectArgs;
use crate::cmd::Context;
use crate::view::filter::detect::Detected;
use crate::view::say;

/// Rules that were put in force.
pub struct Applied {
    interface: String,
    names: Vec<String>,
    /// Names with texts.
    identities: Vec<String>,
    time: Duration,
    /// No filter ran before.
    is_alone: bool,
}

/// Puts what was chosen in force; `None` when nothing was.
pub fn apply(
    update: &Update,
    mut standing: File,
    detected: &mut Detected,
    args: &FilterDetectArgs,
) -> Result<Option<Applied>> {
    standing.scope.compile = source::expression;
    let mut names = Vec::new();
    for finding in detected.findings.iter_mut().filter(|finding| finding.chosen) {
        let free = (1..).map(|number| format!("{PREFIX}{number}"));
        let mut free = free.filter(|name| standing.ruleset.number(name).is_none());
        let Some(name) = free.next() else { break };
        standing.insert(usize::MAX, &format!("{name}: {}", finding.rule))?;
        finding.applied = Some(name.clone());
        names.push(name);
    }
    if names.is_empty() {
        return Ok(None);
    }
    let placement =
        FilterPlacement { mode: args.mode.map(Into::into), ..FilterPlacement::default() };
    update.apply(&standing, &ApplyOptions::with_placement(&placement))?;
    let all = ruleset::identities(&standing.ruleset).into_iter();
    let identities = all.skip(standing.ruleset.rules.len() - names.len()).collect();
    Ok(Some(Applied {
        interface: args.iface.clone(),
        names,
        identities,
        time: args.hold,
        is_alone: update.active().is_none(),
    }))
}

impl Applied {
    /// Until their time has expired or somebody interrupts, then takes them back.
    pub fn hold(&self, stop: &Stop, context: &Context) -> Result<()> {
        let interrupted = stop.wait(self.time)?.is_some();
        let why = if interrupted { "interrupted" } else { "their time has expired" };
        let update = Update::begin(&context.control, &self.interface)?;
        let Some(active) = update.active() else { return Ok(()) };
        let took = self.took(active)?;
        // Those whose time is over are gone already; what somebody else put there stays.
        let mut standing = active.unexpired()?;
        let mut is_own = ruleset::identities(&standing.ruleset).into_iter();
        let own =
            |identity: Option<String>| identity.is_some_and(|it| self.identities.contains(&it));
        standing.ruleset.rules.retain(|_| !own(is_own.next()));
        let is_empty = self.is_alone && standing.to_toml() == File::default().to_toml();
        if is_empty {
            update.unload()?;
        } else {
            update.apply(&standing, &ApplyOptions::default())?;
        }
        let names = self.names.join(", ");
        say(&format!("xway: {why}: {names} removed after {took} packets"));
        Ok(())
    }

    /// Packets that the rules matched.
    fn took(&self, active: &ActiveFilter) -> Result<u64> {
        let counts = active.read()?.rules;
        let all = ruleset::identities(&active.rules()?).into_iter().zip(&counts);
        let own = all.filter(|(identity, _)| self.identities.contains(identity));
        Ok(own.map(|(_, count)| count.packets).sum())
    }
}

/// Of the names of rules that are put in force.
const PREFIX: &str = "detect-";
