//! `Update`: rules put in force, in one step, on an interface that may run others.
//!
//! Rule: everything is made beside what runs and becomes real with one update of the link. What
//! fails before leaves the old rules deciding; who is killed after it leaves the new ones.

use std::fs;

use filter::ban::{BANS, Bans};
use filter::{Carried, Compiled, File, Form, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::{Map, Mode, Object};
use sys::netns::NetNs;

use super::active::{ActiveFilter, NAME, keeping};
use super::clock::Clock;
use super::globals::Globals;
use super::handover::Handover;
use super::load::{ApplyOptions, FilterPlacement, LoadReport, LoadTimings};
use super::memory::{self, Memory};
use super::ruleset;
use crate::Control;
use crate::attach::{Detached, detach_all};
use crate::counters;
use crate::error::{Context as _, Error, Result};
use crate::state::{self, Holder, State};
use crate::tags::Tagging;
use crate::target::{Placement, Target, by_frame_size};

/// An interface whose rules are to be changed. It holds the writers' lock: no other process changes
/// what runs until it is dropped.
#[derive(Debug)]
pub struct Update {
    pub(super) target: Target,
    pub(super) active: Option<ActiveFilter>,
}

impl Update {
    /// Takes the lock, and finds the filter that runs on the interface.
    ///
    /// # Errors
    /// There is no such interface, another process holds the lock for too long, or this process
    /// lacks rights.
    pub fn begin(control: &Control, interface: &str) -> Result<Self> {
        let target = Target::open(control, interface)?;
        let active = ActiveFilter::find(&target.slot, target.ifindex)?;
        Ok(Self { target, active })
    }

    /// Name of the interface.
    pub fn interface(&self) -> &str {
        &self.target.interface
    }

    /// The filter that runs; `None` if none does.
    pub fn active(&self) -> Option<&ActiveFilter> {
        self.active.as_ref()
    }

    /// The filter that runs.
    ///
    /// # Errors
    /// None does.
    pub fn required(&self) -> Result<&ActiveFilter> {
        let interface = || self.target.interface.clone();
        self.active.as_ref().ok_or_else(|| Error::NoFilter { interface: interface() })
    }

    /// The loaded rules, without those that have expired, as the start of a change; `None` if no
    /// filter runs.
    pub fn rules(&self) -> Result<Option<File>> {
        self.active.as_ref().map(ActiveFilter::standing).transpose()
    }

    /// Loads a rule set, atomically replacing the active one. Counters, bans and the state of
    /// limits of rules that stay are kept.
    ///
    /// # Errors
    /// The rules cannot be compiled, their maps do not fit, or the kernel refuses the program; then
    /// the active rules stay.
    pub fn apply(&self, file: &File, options: &ApplyOptions) -> Result<LoadReport> {
        let (mode, memory, timings) = ruleset::by_form(|form| self.apply_as(file, options, form))?;
        Ok(LoadReport {
            interface: self.target.interface.clone(),
            mode: mode.name(),
            updated: self.active.is_some(),
            default: file.ruleset.default.verdict().name(),
            rules: file.ruleset.rules.iter().map(|rule| rule.name.clone()).collect(),
            memory,
            timings,
        })
    }

    /// Lets sources be banned by hand: a program that does not look for bans is replaced by one
    /// that does.
    ///
    /// # Errors
    /// No filter runs, or the kernel refuses the program.
    pub fn allow_bans(&mut self) -> Result<()> {
        let active = self.required()?;
        if !active.may_ban()? {
            let options = ApplyOptions { bans: true, ..ApplyOptions::default() };
            self.apply(&active.standing()?, &options)?;
            self.active = ActiveFilter::find(&self.target.slot, self.target.ifindex)?;
        }
        Ok(())
    }

    /// Detaches the filter.
    ///
    /// # Errors
    /// Another owner's program runs on the interface.
    pub fn unload(&self) -> Result<Detached> {
        let programs = detach_all(&self.target, false)?;
        Ok(Detached { interface: self.target.interface.clone(), programs })
    }

    fn apply_as(
        &self,
        file: &File,
        options: &ApplyOptions,
        form: Form,
    ) -> Result<(Mode, Memory, LoadTimings)> {
        let (rules, mut clock) = (&file.ruleset, Clock::start());
        let bans = options.bans || self.has_bans()?;
        let mut made = ruleset::compiled(rules, bans, &self.target, form)
            .context("the rules were not put in force")?;
        let globals = self.globals(options)?;
        globals.set(&mut made.spec)?;
        made.spec.maps.push(globals.keeping());
        made.spec.maps.push(keeping(&ruleset::to_keep(file)));
        made.spec.maps.extend(counters::missing_labels(&made.spec));
        made.spec.maps.push(self.carried(rules)?.map());
        let (placement, compile_s) = (self.placement(&options.placement), clock.lap());
        let tagging =
            self.tagging(&[rules], placement.mode, options.placement.ignore_stripped_tags)?;
        tagging.apply(&mut made.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        let before =
            self.active.as_ref().map(|active| Handover::of(active, &made, rules)).transpose()?;
        let shared = before.as_ref().map_or(Ok(Vec::new()), |before| before.shared(&made.spec))?;
        let memory = memory(&made, &shared, options.placement.memory)
            .context("the rules were not put in force")?;
        let before_s = clock.lap();
        let took =
            by_frame_size(self.target.has_large_frames(), [PROGRAM, PROGRAM_FRAGS], |program| {
                self.install(&made, (before.as_ref(), &shared), program, &placement)
            })?;
        tagging.keep();
        let took = LoadTimings { compile_s, carry_s: took.carry_s + before_s, ..took };
        Ok((placement.mode, memory, took))
    }

    /// How a program with these rules comes to see VLAN tags that are not in the frame. Rules in
    /// force that depend on tags are there for a reason: those that follow are not refused.
    pub fn tagging(&self, rules: &[&Ruleset], mode: Mode, ignore: bool) -> Result<Tagging> {
        let depends = |rules: &Ruleset| rules.depends_on_tags(mode == Mode::Native);
        if !rules.iter().any(|rules| depends(rules)) {
            return Ok(Tagging::default());
        }
        let known = self.active.as_ref().and_then(|active| active.rules().ok());
        let known = known.is_some_and(|rules| depends(&rules));
        Tagging::prepare(&self.target, mode, ignore || known)
            .context("the rules were not put in force")
    }

    /// A filter makes room for the next one unasked, and stays where it is.
    pub fn placement(&self, asked: &FilterPlacement) -> Placement {
        let runs = self.active.as_ref().map(|active| active.mode);
        Placement {
            mode: asked.mode.or(runs).unwrap_or(Mode::Native),
            replace: asked.replace || runs.is_some() || self.is_watched(),
            set: Vec::new(),
        }
    }

    /// The rules in force, or none, as a program that does the same.
    pub fn in_force(&self, form: Form) -> Result<Compiled> {
        let active = self.active.as_ref();
        let rules = active.map_or(Ok(Ruleset::default()), ActiveFilter::rules)?;
        let bans = active.map_or(Ok(false), ActiveFilter::may_ban)?;
        let mut made = ruleset::compiled(&rules, bans, &self.target, form)?;
        self.globals(&ApplyOptions::default())?.set(&mut made.spec)?;
        Ok(made)
    }

    /// Those in force, and what is given now.
    pub fn globals(&self, options: &ApplyOptions) -> Result<Globals> {
        let active = self.active.as_ref().filter(|_| !options.reset_globals);
        let known = active.map_or(Ok(Globals::default()), Globals::of)?;
        Ok(known.with(&options.placement.set))
    }

    /// The right to try something here, for as long as the file is open: one trial at a time.
    ///
    /// # Errors
    /// Somebody else has it.
    pub fn claim(&self, control: &Control) -> Result<fs::File> {
        self.claim_for(control, TRIAL)?.map_err(Error::TrialRuns)
    }

    /// The same for something of its own; or who has it.
    pub fn claim_for(
        &self,
        control: &Control,
        what: &str,
    ) -> Result<std::result::Result<fs::File, Holder>> {
        State::claim(control, NetNs::current()?.id()?, self.target.ifindex, what)
    }

    /// Puts a program that decides by the rules in force in their place for a time, or where there
    /// are none.
    pub fn try_out(&self, what: (&Object, &str), placement: &Placement) -> Result<state::Trial> {
        let before = self.active.as_ref().map(|active| &active.program);
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
        (before, shared): (Option<&Handover<'_>>, &[(String, Map)]),
        program: &str,
        placement: &Placement,
    ) -> Result<LoadTimings> {
        let (mut took, mut clock) = (LoadTimings::default(), Clock::start());
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
        let new = ruleset::identities(rules);
        let Some(active) = &self.active else { return Ok(Carried::nothing(new.len())) };
        Ok(Carried::after(active.program.id(), &ruleset::identities(&active.rules()?), &new))
    }

    /// Whether somebody banned by hand, and that shall hold under other rules.
    fn has_bans(&self) -> Result<bool> {
        let Some(active) = &self.active else { return Ok(false) };
        Ok(!Bans::new(&active.map(BANS)?).list(sys::thread::monotonic_ns())?.is_empty())
    }
}

/// What the rules' maps take, which must be there.
fn memory(made: &Compiled, shared: &[(String, Map)], limit: Option<u64>) -> Result<Memory> {
    let memory = memory::of(&made.spec, shared.iter().map(|(name, _)| name.as_str()))?;
    memory::check(&memory, &made.spec, limit)?;
    Ok(memory)
}

/// What is claimed by who tries something.
pub const TRIAL: &str = "trial";
/// How a program is kept that stands where no filter runs: not as a filter.
const WATCHER: &str = "detect";
