//! `Change`: rules put in force, in one step, on an interface that may run others.
//!
//! Rule: everything is made beside what runs and becomes real with one update of the link. What
//! fails before leaves the old rules deciding; who is killed after it leaves the new ones.

use std::fs;

use anyhow::{Context as _, Result, bail};
use filter::maps::BANS;
use filter::runtime::bans::Bans;
use filter::{Carried, Compiled, File, Form, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::{Map, Mode, Object};
use sys::netns::NetNs;

use super::before::Before;
use super::clock::Clock;
use super::globals::Globals;
use super::live::{Live, NAME, keeping};
use super::{file, memory};
use crate::args::{FilterPlacement, ModeArg, Placement};
use crate::cmd::Context;
use crate::cmd::attach::{Target, by_size, mode};
use crate::cmd::tags::Tagging;
use crate::counters;
use crate::state::{self, Holder, State};
use crate::view::filter::load::Took;
use crate::view::filter::memory::Memory;

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
    /// Globals are those of the placement alone.
    pub anew: bool,
}

impl Change {
    pub fn begin(context: &Context, interface: &str) -> Result<Self> {
        let target = Target::open(context, interface)?;
        let live = Live::find(&target.slot, target.ifindex)?;
        Ok(Self { target, live })
    }

    /// Puts the rules of a file in force. Answers the mode, what their maps take, and how long the
    /// parts of the change took.
    pub fn apply(&self, file: &File, how: &How) -> Result<(Mode, Memory, Took)> {
        file::by_form(|form| self.apply_as(file, how, form))
    }

    fn apply_as(&self, file: &File, how: &How, form: Form) -> Result<(Mode, Memory, Took)> {
        let (rules, mut clock) = (&file.ruleset, Clock::start());
        let bans = how.bans || self.has_bans()?;
        let mut made = file::compiled(rules, bans, &self.target, form)
            .context("the rules were not put in force")?;
        let globals = self.globals(how)?;
        globals.set(&mut made.spec)?;
        made.spec.maps.push(globals.keeping());
        made.spec.maps.push(keeping(&file::to_keep(file)));
        made.spec.maps.extend(counters::missing_labels(&made.spec));
        made.spec.maps.push(self.carried(rules)?.map());
        let (placement, compile_s) = (self.placement(&how.placement), clock.lap());
        let tagging = self.tagging(&[rules], placement.mode, how.placement.ignore_stripped_tags)?;
        tagging.apply(&mut made.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        let before = self.live.as_ref().map(|live| Before::of(live, &made, rules)).transpose()?;
        let shared = before.as_ref().map_or(Ok(Vec::new()), |before| before.shared(&made.spec))?;
        let memory = memory(&made, &shared, how.placement.memory)
            .context("the rules were not put in force")?;
        let before_s = clock.lap();
        let took = by_size(self.target.has_large_frames(), [PROGRAM, PROGRAM_FRAGS], |program| {
            self.install(&made, (before.as_ref(), &shared), program, &placement)
        })?;
        tagging.keep();
        let took = Took { compile_s, carry_s: took.carry_s + before_s, ..took };
        Ok((mode(placement.mode), memory, took))
    }

    /// How a program with these rules comes to see VLAN tags that are not in the frame. Rules in
    /// force that depend on tags are there for a reason: those that follow are not refused.
    pub fn tagging(&self, rules: &[&Ruleset], mode: ModeArg, ignore: bool) -> Result<Tagging> {
        let depends = |rules: &Ruleset| rules.depends_on_tags(mode == ModeArg::Native);
        if !rules.iter().any(|rules| depends(rules)) {
            return Ok(Tagging::default());
        }
        let known = self.live.as_ref().and_then(|live| live.rules().ok());
        let known = known.is_some_and(|rules| depends(&rules));
        Tagging::prepare(&self.target, mode, ignore || known)
            .context("the rules were not put in force")
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
            replace: asked.replace || runs.is_some() || self.is_watched(),
            set: Vec::new(),
        }
    }

    /// The rules in force, or none, as a program that does the same.
    pub fn in_force(&self, form: Form) -> Result<Compiled> {
        let live = self.live.as_ref();
        let rules = live.map_or(Ok(Ruleset::default()), Live::rules)?;
        let bans = live.map_or(Ok(false), Live::may_ban)?;
        let mut made = file::compiled(&rules, bans, &self.target, form)?;
        self.globals(&How::default())?.set(&mut made.spec)?;
        Ok(made)
    }

    /// Those in force, and what is given now.
    pub fn globals(&self, how: &How) -> Result<Globals> {
        let live = self.live.as_ref().filter(|_| !how.anew);
        let known = live.map_or(Ok(Globals::default()), Globals::of)?;
        Ok(known.with(&how.placement.set))
    }

    /// The right to try something here, for as long as the file is open: one trial at a time.
    ///
    /// # Errors
    /// Somebody else has it.
    pub fn claim(&self, context: &Context) -> Result<fs::File> {
        self.claim_for(context, TRIAL)?.or_else(|holder| {
            bail!(
                "another trial runs on this interface, or packets are looked at, by {holder}: wait \
                 for its end, or interrupt it"
            )
        })
    }

    /// The same for something of its own; or who has it.
    pub fn claim_for(
        &self,
        context: &Context,
        what: &str,
    ) -> Result<std::result::Result<fs::File, Holder>> {
        State::claim(&context.state, NetNs::current()?.id()?, self.target.ifindex, what)
    }

    /// Puts a program that decides by the rules in force in their place for a time, or where there
    /// are none.
    pub fn try_out(&self, what: (&Object, &str), placement: &Placement) -> Result<state::Trial> {
        let before = self.live.as_ref().map(|live| &live.program);
        let name = if before.is_some() { NAME } else { WATCHER };
        self.target.try_out(name, what, placement, before)
    }

    /// Whether packets are looked at where no filter runs: that gives way, too.
    fn is_watched(&self) -> bool {
        let slot = &self.target.slot;
        let is_watcher = |mode| {
            let program = self.target.running(mode).ok().flatten();
            let generation = program.and_then(|id| slot.generation_of(id).ok().flatten());
            generation.is_some_and(|one| one.name() == WATCHER)
        };
        [Mode::Native, Mode::Generic].into_iter().any(is_watcher)
    }

    fn install(
        &self,
        made: &Compiled,
        (before, shared): (Option<&Before<'_>>, &[(String, Map)]),
        program: &str,
        placement: &Placement,
    ) -> Result<Took> {
        let (mut took, mut clock) = (Took::default(), Clock::start());
        let programs = vec![program.to_owned()];
        let again = |(name, map): &(String, Map)| Ok((name.clone(), map.duplicate()?));
        let shared = shared.iter().map(again).collect::<Result<_>>()?;
        took.carry_s = clock.lap();
        let object = self.target.load_sharing(&made.spec, programs, placement.mode, shared)?;
        made.acts.fill(|name| object.map(name))?;
        took.load_s = clock.lap();
        if let Some(before) = before {
            before.hand_over(&object)?;
        }
        took.carry_s += clock.lap();
        self.target.install(NAME, &object, program, placement)?.commit()?;
        took.swap_s = clock.lap();
        Ok(took)
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

/// What the rules' maps take, which must be there.
fn memory(made: &Compiled, shared: &[(String, Map)], limit: Option<u64>) -> Result<Memory> {
    let memory = memory::of(&made.spec, shared.iter().map(|(name, _)| name.as_str()))?;
    memory::check(&memory, &made.spec, limit)?;
    Ok(memory)
}

impl How {
    pub fn at(placement: &FilterPlacement) -> Self {
        Self { placement: placement.clone(), ..Self::default() }
    }
}

/// What is claimed by who tries something.
pub const TRIAL: &str = "trial";
/// How a program is kept that stands where no filter runs: not as a filter.
const WATCHER: &str = "detect";
