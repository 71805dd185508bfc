//! `Change`: rules put in force, in one step, on an interface that may run others.
//!
//! Rule: everything is made beside what runs and becomes real with one update of the link. What
//! fails before leaves the old rules deciding; who is killed after it leaves the new ones.

use anyhow::{Context as _, Result};
use functions::filter::ban::{BANS, Bans};
use functions::filter::{Carried, Compiled, File, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::Mode;

use super::before::Before;
use super::file;
use super::live::{Live, NAME, keeping};
use crate::args::{FilterPlacement, ModeArg, Placement};
use crate::cmd::Context;
use crate::cmd::attach::{Target, by_size, mode};

/// An interface whose rules are to be changed; nobody else changes them meanwhile.
#[derive(Debug)]
pub struct Change {
    pub target: Target,
    pub live: Option<Live>,
}

/// How rules are put in force.
#[derive(Clone, Debug, Default)]
pub struct How {
    pub placement: FilterPlacement,
    /// Somebody is to be banned by hand.
    pub bans: bool,
}

impl Change {
    pub fn begin(context: &Context, interface: &str) -> Result<Self> {
        let target = Target::open(context, interface)?;
        let live = Live::find(&target.slot, target.ifindex)?;
        Ok(Self { target, live })
    }

    /// Puts the rules of a file in force. Answers the mode.
    pub fn apply(&self, file: &File, how: &How) -> Result<Mode> {
        let rules = &file.ruleset;
        let mut made = file::compiled(rules, how.bans || self.has_bans()?, &self.target)
            .context("the rules were not put in force")?;
        for (name, value) in &how.placement.set {
            made.spec.set_global_text(name, value)?;
        }
        made.spec.maps.push(keeping(&file::to_keep(file)));
        made.spec.maps.push(self.carried(rules)?.map());
        let placement = self.placement(&how.placement);
        by_size(self.target.has_large_frames(), [PROGRAM, PROGRAM_FRAGS], |program| {
            self.install(&made, rules, program, &placement)
        })?;
        Ok(mode(placement.mode))
    }

    /// A filter makes room for the next one unasked, and stays where it is.
    pub fn placement(&self, asked: &FilterPlacement) -> Placement {
        let runs = self.live.as_ref().map(|live| match live.mode {
            Mode::Native => ModeArg::Native,
            Mode::Generic => ModeArg::Generic,
            Mode::Offload => ModeArg::Offload,
        });
        Placement {
            mode: asked.mode.or(runs).unwrap_or(ModeArg::Native),
            replace: asked.replace || runs.is_some(),
            set: Vec::new(),
        }
    }

    fn install(
        &self,
        made: &Compiled,
        rules: &Ruleset,
        program: &str,
        placement: &Placement,
    ) -> Result<()> {
        let programs = vec![program.to_owned()];
        let before = self.live.as_ref().map(|live| Before::of(live, made, rules)).transpose()?;
        let shared = before.as_ref().map_or(Ok(Vec::new()), |before| before.shared(&made.spec))?;
        let object = self.target.load_sharing(&made.spec, programs, placement.mode, shared)?;
        made.acts.fill(|name| object.map(name))?;
        if let Some(before) = &before {
            before.hand_over(&object)?;
        }
        self.target.install(NAME, &object, program, placement)?.commit()
    }

    /// Which of the rules in force go on counting.
    fn carried(&self, rules: &Ruleset) -> Result<Carried> {
        let new = file::identities(rules);
        let Some(live) = &self.live else { return Ok(Carried::nothing(new.len())) };
        Ok(Carried::after(live.program.id(), &file::identities(&live.rules()?), &new))
    }

    /// Whether somebody banned by hand, and that shall hold under other rules.
    fn has_bans(&self) -> Result<bool> {
        let Some(live) = &self.live else { return Ok(false) };
        Ok(!Bans::new(&live.map(BANS)?).list(sys::thread::monotonic_ns())?.is_empty())
    }
}

impl How {
    pub fn at(placement: &FilterPlacement) -> Self {
        Self { placement: placement.clone(), bans: false }
    }
}
