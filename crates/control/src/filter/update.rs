//! `Update`: loads rules on an interface, replacing the active ones in one step.
//!
//! Rule: the new program is prepared beside the active one and takes effect with one update of the
//! link. A failure before that leaves the old rules active; a process that is killed after it
//! leaves the new ones.

use std::fs;

use filter::maps::BANS;
use filter::runtime::bans::Bans;
use filter::{Carried, Compiled, File, Form, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::{Map, Mode, Object};
use sys::netns::NetNs;

use super::active::{ActiveFilter, NAME, file_map};
use super::chained::{self, Replacement};
use super::clock::Clock;
use super::globals::Globals;
use super::handover::Handover;
use super::load::{ApplyOptions, FilterPlacement, LoadReport, LoadTimings};
use super::memory::{self, Memory};
use super::ruleset::{self, Attempt};
use crate::Control;
use crate::composition::{self, Chain, LoadedChain};
use crate::counters;
use crate::detach::Detached;
use crate::detach::detach_all;
use crate::error::{Context as _, Error, Holder, Result};
use crate::lockout;
use crate::record::Record;
use crate::state::{self, State};
use crate::tags::Tagging;
use crate::target::{Loading, Placement, Target, by_frame_size};

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
    /// There is no such interface, another process holds the lock for too long, this process lacks
    /// rights, or the dispatcher of libxdp runs.
    pub fn begin(control: &Control, interface: &str) -> Result<Self> {
        let target = Target::open(control, interface)?;
        // Before rules are compiled, which may take seconds.
        target.require_no_dispatcher()?;
        let active = ActiveFilter::find(&target.slot, target.ifindex)?;
        Ok(Self { target, active })
    }

    /// Name of the interface.
    pub fn interface(&self) -> &str {
        &self.target.interface
    }

    /// The interface, under the writers' lock.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Other interfaces that change together with this one, see [`Target::with_others`].
    pub(crate) fn with_others(&mut self, interfaces: &[String]) -> Result<Vec<Target>> {
        self.target.with_others(interfaces)
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

    /// The loaded rules as the start of a change, see [`ActiveFilter::editable`]; `None` if no
    /// filter runs.
    pub fn rules(&self) -> Result<Option<File>> {
        self.active.as_ref().map(ActiveFilter::editable).transpose()
    }

    /// Loads a rule set, atomically replacing the active one. Counters, bans and the state of
    /// limits of persisting rules are kept.
    ///
    /// # Errors
    /// The rules cannot be compiled, their maps do not fit, they end the session of this process,
    /// or the kernel refuses the program; then the active rules remain.
    pub fn apply(&self, file: &File, options: &ApplyOptions) -> Result<LoadReport> {
        let lockout = self.placement(&options.placement).lockout();
        let place = self.target.place();
        lockout::check_rules(self.target.slot.control(), &file.ruleset, place, lockout)?;
        let (mode, memory, timings) =
            ruleset::by_form(|attempt| self.apply_as(file, options, attempt))?;
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

    /// Prepares the filter for manual bans: a program that does not look up bans is replaced with
    /// one that does.
    ///
    /// # Errors
    /// No filter runs, or the kernel refuses the program.
    pub fn allow_bans(&mut self) -> Result<()> {
        let active = self.required()?;
        if !active.may_ban()? {
            let options = ApplyOptions { bans: true, ..ApplyOptions::default() };
            self.apply(&active.editable()?, &options)?;
            self.active = ActiveFilter::find(&self.target.slot, self.target.ifindex)?;
        }
        Ok(())
    }

    /// Detaches the filter.
    ///
    /// # Errors
    /// Another owner's program runs on the interface.
    pub fn unload(&self) -> Result<Detached> {
        if self.is_chained()? {
            let mut chain = chained::open(&self.target)?;
            chain.take(NAME)?;
            chain.apply()?;
            let (interface, programs) = (self.target.interface.clone(), vec![NAME.to_owned()]);
            return Ok(Detached { interface, programs, also: Vec::new() });
        }
        let programs = detach_all(&self.target, false)?;
        Ok(Detached { interface: self.target.interface.clone(), programs, also: Vec::new() })
    }

    fn apply_as(
        &self,
        file: &File,
        options: &ApplyOptions,
        attempt: Attempt,
    ) -> Result<(Mode, Memory, LoadTimings)> {
        let new = self.prepare(file, options, attempt)?;
        let alone = options.placement.replace && options.placement.place.is_none();
        let timings =
            by_frame_size(self.target.has_large_frames(), [PROGRAM, PROGRAM_FRAGS], |program| {
                self.install(&new, program, alone)
            })?;
        let NewFilter { placement, tagging, memory, timings: before, .. } = new;
        tagging.keep();
        let (compile_s, carry_s) = (before.compile_s, timings.carry_s + before.carry_s);
        Ok((placement.mode, memory, LoadTimings { compile_s, carry_s, ..timings }))
    }

    /// Compiles rules, and finds what they take over from the active ones.
    ///
    /// # Errors
    /// The rules cannot be compiled, their maps do not fit, or tags cannot be seen.
    pub fn prepare(
        &self,
        file: &File,
        options: &ApplyOptions,
        Attempt { form, tentative }: Attempt,
    ) -> Result<NewFilter<'_>> {
        let (rules, mut clock) = (&file.ruleset, Clock::start());
        let bans = options.bans || self.has_bans()?;
        let mut made = ruleset::compiled(rules, bans, &self.target, form)
            .context("the rules were not loaded")?;
        let globals = self.globals(options)?;
        globals.set(&mut made.spec)?;
        made.spec.maps.push(globals.map());
        made.spec.maps.push(file_map(&ruleset::stored_text(file)));
        made.spec.maps.extend(counters::missing_labels(&made.spec));
        made.spec.maps.push(self.carried(rules)?.map());
        let placement = self.placement(&options.placement);
        self.record(options, rules)?.add_to(&mut made.spec, placement.mode);
        let compile_s = clock.lap();
        let tagging =
            self.tagging(&[rules], placement.mode, options.placement.ignore_stripped_tags)?;
        tagging.apply(&mut made.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        let handover = self.active.as_ref();
        let handover = handover.map(|active| Handover::new(active, &made, rules, options.reset));
        let handover = handover.transpose()?;
        let shared = handover.as_ref().map_or(Ok(Vec::new()), |one| one.shared(&made.spec))?;
        let memory = memory(&made, &shared, options.placement.memory)
            .context("the rules were not loaded")?;
        let timings = LoadTimings { compile_s, carry_s: clock.lap(), ..LoadTimings::default() };
        Ok(NewFilter { made, placement, tentative, tagging, handover, shared, memory, timings })
    }

    /// Prepares the interface so that a program with these rules sees VLAN tags that are not in the
    /// frame. If the active rules depend on tags already, the operator accepted that they may be
    /// hidden, and the new rules are not refused.
    pub fn tagging(&self, rules: &[&Ruleset], mode: Mode, ignore: bool) -> Result<Tagging> {
        let depends = |rules: &Ruleset| rules.depends_on_tags(mode == Mode::Native);
        if !rules.iter().any(|rules| depends(rules)) {
            return Ok(Tagging::default());
        }
        let known = self.active.as_ref().and_then(|active| active.rules().ok());
        let known = known.is_some_and(|rules| depends(&rules));
        Tagging::prepare(&self.target, mode, ignore || known).context("the rules were not loaded")
    }

    /// The placement with defaults filled in: the mode of the active filter, which may always be
    /// replaced.
    pub fn placement(&self, asked: &FilterPlacement) -> Placement {
        let runs = self.active.as_ref().map(|active| active.mode);
        Placement {
            mode: asked.mode.or(runs).unwrap_or(Mode::Native),
            replace: asked.replace || runs.is_some() || self.is_watched(),
            set: Vec::new(),
            confirm: asked.confirm,
            lockout: asked.lockout,
            declaration: asked.declaration.clone(),
            place: asked.place.clone(),
        }
    }

    /// Compiles the active rules, or none, to a program that decides like the active one.
    pub fn compile_active(&self, form: Form) -> Result<Compiled> {
        match &self.active {
            Some(active) => active.compiled(&self.target, form),
            None => ruleset::compiled(&Ruleset::default(), false, &self.target, form),
        }
    }

    /// Global variables of the active filter, with those of the options.
    pub fn globals(&self, options: &ApplyOptions) -> Result<Globals> {
        let active = self.active.as_ref().filter(|_| !options.reset);
        let known = active.map_or(Ok(Globals::default()), ActiveFilter::globals)?;
        Ok(known.with(&options.placement.set))
    }

    /// The record of a changed filter: that of the active one, unless the options reset it.
    fn record(&self, options: &ApplyOptions, rules: &Ruleset) -> Result<Record> {
        let mut record = match self.active.as_ref().filter(|_| !options.reset) {
            Some(active) => active.record()?,
            None => Record::of_filter(options.placement.declaration.as_deref()),
        };
        record.temporary.extend_from_slice(&options.temporary);
        record.temporary.retain(|name| rules.number(name).is_some());
        Ok(record)
    }

    /// Claims the interface for a trial; only one runs at a time. The claim is held while the file
    /// is open.
    ///
    /// # Errors
    /// Another process holds the claim.
    pub fn claim(&self, control: &Control) -> Result<fs::File> {
        self.claim_for(control, TRIAL)?.map_err(Error::TrialRuns)
    }

    /// Claims the interface for another purpose. Returns the holder if another process has the
    /// claim.
    pub fn claim_for(
        &self,
        control: &Control,
        what: &str,
    ) -> Result<std::result::Result<fs::File, Holder>> {
        State::claim(control, NetNs::current()?.id()?, self.target.ifindex, what)
    }

    /// Temporarily replaces the active filter, if there is one, with a program that decides by the
    /// same rules.
    pub fn try_out(&self, what: (&Object, &str), placement: &Placement) -> Result<state::Trial> {
        let before = self.active.as_ref().map(ActiveFilter::program).transpose()?;
        let name = if before.is_some() { NAME } else { WATCHER };
        self.target.try_out(name, what, placement, before.as_ref())
    }

    /// Whether a sampler runs without a filter; a filter may replace it.
    fn is_watched(&self) -> bool {
        let slot = &self.target.slot;
        let is_watcher = |mode| {
            let program = self.target.running(mode).ok().flatten();
            let generation = program.and_then(|id| slot.generation_of(id).ok().flatten());
            generation.is_some_and(|one| one.name() == WATCHER)
        };
        [Mode::Native, Mode::Generic].into_iter().any(is_watcher)
    }

    fn install(&self, new: &NewFilter<'_>, program: &str, alone: bool) -> Result<LoadTimings> {
        if self.is_composed(&new.placement, alone)? {
            return self.install_in_chain(new, program);
        }
        let (mut timings, mut clock) = (LoadTimings::default(), Clock::start());
        let (placement, shared) = (&new.placement, new.shared()?);
        timings.carry_s = clock.lap();
        let loading = Loading { mode: placement.mode, tentative: new.tentative };
        let (programs, waits) = (vec![program.to_owned()], placement.confirm.is_some());
        let object = self.target.load_twice(&new.made.spec, programs, (loading, waits), shared)?;
        new.made.actions.fill(|name| object.map(name))?;
        timings.load_s = clock.lap();
        new.carry(|name| object.map(name))?;
        timings.carry_s += clock.lap();
        self.target.install(NAME, &object, program, placement)?.commit()?;
        timings.swap_s = clock.lap();
        Ok(timings)
    }

    /// Composes the filter with the other members of the chain, and replaces the chain.
    fn install_in_chain(&self, new: &NewFilter<'_>, program: &str) -> Result<LoadTimings> {
        let (mut timings, mut clock) = (LoadTimings::default(), Clock::start());
        let mut chain = chained::open(&self.target)?;
        new.put(&mut chain, program)?;
        let loaded = chain.load()?;
        new.made.actions.fill(|name| loaded.map(NAME, name))?;
        timings.load_s = clock.lap();
        new.carry(|name| loaded.map(NAME, name))?;
        timings.carry_s = clock.lap();
        loaded.commit()?;
        timings.swap_s = clock.lap();
        Ok(timings)
    }

    /// Whether the filter is composed with other programs: with those of its chain or, if it is the
    /// first one, with those that run. `alone` is whether it is to replace all others.
    fn is_composed(&self, placement: &Placement, alone: bool) -> Result<bool> {
        if alone {
            return Ok(false);
        }
        // With a place of its own, a filter that runs alone becomes the first member of a chain.
        let may_join = self.active.is_none() || placement.place.is_some();
        let joins = may_join && composition::joins(&self.target, placement)?;
        Ok(joins || self.is_chained()?)
    }

    /// Whether the filter is a member of a chain with others.
    pub(super) fn is_chained(&self) -> Result<bool> {
        self.active.as_ref().map_or(Ok(false), ActiveFilter::is_chained)
    }

    /// Which active rules persist and so continue to count.
    fn carried(&self, rules: &Ruleset) -> Result<Carried> {
        let new = ruleset::identities(rules);
        let Some(active) = &self.active else { return Ok(Carried::nothing(new.len())) };
        Ok(Carried::after(active.program_id, &ruleset::identities(&active.rules()?), &new))
    }

    /// Whether there are manual bans, which must persist under other rules.
    fn has_bans(&self) -> Result<bool> {
        let Some(active) = &self.active else { return Ok(false) };
        Ok(!Bans::new(&active.map(BANS)?).list(sys::thread::monotonic_ns())?.is_empty())
    }
}

/// Compiled rules that are not loaded yet, with what they take over from the active ones.
#[derive(Debug)]
pub struct NewFilter<'u> {
    made: Compiled,
    placement: Placement,
    tentative: bool,
    tagging: Tagging,
    handover: Option<Handover<'u>>,
    /// Maps of the active filter that they continue to use.
    shared: Vec<(String, Map)>,
    memory: Memory,
    /// Seconds that the preparation took.
    timings: LoadTimings,
}

impl NewFilter<'_> {
    /// Puts the filter into a chain, in the place of the one that is there.
    ///
    /// # Errors
    /// The chain runs in another mode.
    pub fn put(&self, chain: &mut Chain<'_>, program: &str) -> Result<()> {
        let (spec, shared) = (self.made.spec.clone(), self.shared()?);
        let replacement = Replacement { spec, program: program.to_owned(), shared };
        chain.set_tentative(self.tentative);
        chained::put(chain, &self.placement, replacement)
    }

    /// Fills the maps of the loaded program, which does not run yet.
    pub fn fill(&self, chain: &LoadedChain<'_>) -> Result<()> {
        self.made.actions.fill(|name| chain.map(NAME, name))?;
        self.carry(|name| chain.map(NAME, name))
    }

    /// Completes the change, after the program was attached.
    pub fn keep(self) {
        self.tagging.keep();
    }

    fn carry<'m>(&self, map: impl Fn(&str) -> kernel::Result<&'m Map>) -> Result<()> {
        self.handover.as_ref().map_or(Ok(()), |handover| handover.copy(map))
    }

    fn shared(&self) -> Result<Vec<(String, Map)>> {
        let again = |(name, map): &(String, Map)| Ok((name.clone(), map.duplicate()?));
        self.shared.iter().map(again).collect()
    }
}

/// Memory of the rules' maps.
///
/// # Errors
/// It is over the limit, or more than is free.
fn memory(made: &Compiled, shared: &[(String, Map)], limit: Option<u64>) -> Result<Memory> {
    let memory = memory::of(&made.spec, shared.iter().map(|(name, _)| name.as_str()))?;
    memory::check(&memory, &made.spec, limit)?;
    Ok(memory)
}

/// Purpose of a trial's claim.
pub const TRIAL: &str = "trial";
/// Name of the generation of a sampler on an interface without a filter.
const WATCHER: &str = "detect";
