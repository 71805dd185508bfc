//! Composition of the programs of an interface: the members, changed under the writers' lock.
//!
//! ```text
//!  generations of the running program ─▶ links ─▶ changed list ─▶ compose ─▶ load ─▶ one swap
//!   (maps, record, place of each)        (code,                   (spec)     (shares   (a new
//!                                         read again)                         all maps) generation
//!                                                                                       for each)
//! ```
//!
//! Rule: a change takes effect in one step and keeps the maps of all members that remain, so no
//! packet is undecided, and none is lost from a count. A chain is found by its pins alone: any
//! process can continue it, and one that is killed leaves the old chain or the new one. Not here:
//! how programs become one (`spec::compose`), and the code of filters (`chain`).

mod counting;
mod forms;
pub mod link;
pub mod report;
mod tail_calls;

use std::time::Duration;

use functions::{capture, stats};
use kernel::{Attach, Map, Mode, Object, Replace};
use spec::asm::{self, Assembler};
use spec::compose::{
    self, Composed, Counters, DECISIONS_MAP, Form, Link, LinkCounter, MAX_LINKS, MapNames,
    VERDICTS_MAP, compose, decisions_map, store_decisions, value_size,
};
use spec::{ProgramKind, Spec, Verdict};

use crate::counters::{VERDICT_SLOTS, totals};
use crate::detach::detach_all;
use crate::error::{ChainError, Error, Result};
use crate::map_names::{DEADLINE, DISPATCHER, FALLBACK, MEMBER};
use crate::member::{self, ChainForm, Member, NAME_LIMIT, is_name};
use crate::notice::Notice;
use crate::object::called;
use crate::state::{Companions, Generation, Pins, Transaction, Trial, pin_name};
use crate::target::{self, Loading, Placement, Target};
use crate::text_map::{create, create_empty, create_text_map};
pub use counting::CountedMember;
use counting::is_of_counting;
use link::{ChainLink, Code};
use tail_calls::CALL_MAP;

/// The members of an interface.
#[derive(Debug)]
pub struct Chain<'t> {
    target: &'t Target,
    mode: Mode,
    /// Whether a program runs.
    runs: bool,
    /// Which programs the chain may replace.
    replace: Replace,
    links: Vec<ChainLink>,
    /// The form of the members that run, and their names, unless they are inlined.
    earlier: (ChainForm, Vec<String>),
    /// Slots of the members that run, in the verdict map.
    running_slots: Vec<u32>,
    /// What ran before runs again after this time, unless the change is confirmed.
    confirm: Option<Duration>,
    /// Whether other code of a member is composed if the verifier refuses all forms.
    tentative: bool,
    /// A capture around the members.
    probe: Option<Probe>,
}

/// The object of a capture, and the map in which members store their decisions for it.
#[derive(Debug)]
struct Probe {
    spec: Box<Spec>,
    decisions: Map,
}

/// A composed program that is loaded and not attached yet.
#[derive(Debug)]
pub struct LoadedChain<'t> {
    chain: Chain<'t>,
    loaded: Loaded,
    main: String,
}

/// The objects of a chain.
#[derive(Debug)]
struct Loaded {
    /// Has the program that is attached.
    object: target::Loaded,
    /// The objects of members that are called by tail calls.
    members: Vec<Option<Object>>,
    /// For each member: names of its maps in its own object and in `object`.
    maps: Vec<MapNames>,
    /// Names of the maps of the probe.
    probe_maps: MapNames,
}

impl<'t> Chain<'t> {
    /// Opens the members of what runs. `code` reads the code of a member again.
    ///
    /// # Errors
    /// Another owner's program runs, one that cannot be part of a chain, or an unconfirmed change.
    pub fn open(target: &'t Target, code: impl Fn(&Generation) -> Result<Code>) -> Result<Self> {
        target.require_confirmed()?;
        let running = target.running_mode()?;
        let mode = running.map_or(Mode::Native, |(mode, _)| mode);
        let mut chain = Self::empty(target, mode, running.is_some(), Replace::Yes);
        let Some((mode, id)) = running else { return Ok(chain) };
        let generations = target.slot.generations_of(id)?;
        if generations.is_empty() {
            let (interface, name) = (target.interface.clone(), String::new());
            return Err(Error::ForeignProgram { interface, id, name, mode: mode.name() });
        }
        let members = member::members(&generations)?;
        let links = match members.is_empty() {
            true => generations.into_iter().map(|one| (None, one)).collect::<Vec<_>>(),
            false => members.into_iter().map(|(member, one)| (Some(member), one)).collect(),
        };
        for (member, generation) in links {
            if generation.name() == CAPTURE {
                // It stands for no program, and ends with the capture.
                continue;
            }
            let code = code(&generation)?;
            chain.links.push(ChainLink::running(member, &generation, code));
        }
        let slots = chain.links.iter().filter_map(|link| link.member.slot);
        chain.running_slots = slots.collect();
        let earlier = chain.links.iter().find(|link| link.member.form != ChainForm::Inlined);
        if let Some(form) = earlier.map(|link| link.member.form) {
            let of_form = chain.links.iter().filter(|link| link.member.form == form);
            chain.earlier = (form, of_form.map(|link| link.member.name.clone()).collect());
        }
        Ok(chain)
    }

    /// A chain without members, to replace the program with this id, which another owner attached,
    /// and no other program.
    pub fn in_place_of(target: &'t Target, mode: Mode, program: u32) -> Self {
        Self::empty(target, mode, true, Replace::Only(program))
    }

    fn empty(target: &'t Target, mode: Mode, runs: bool, replace: Replace) -> Self {
        Self {
            target,
            mode,
            runs,
            replace,
            links: Vec::new(),
            earlier: Default::default(),
            running_slots: Vec::new(),
            confirm: None,
            tentative: false,
            probe: None,
        }
    }

    /// The mode of the program that runs or, without one, the mode that was set.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Sets the mode for a first member.
    ///
    /// # Errors
    /// A program runs in another mode.
    pub fn set_mode(&mut self, mode: Mode) -> Result<()> {
        if self.runs && mode != self.mode {
            let (running, asked) = (self.mode.name(), mode.name());
            return Err(ChainError::Mode { running, asked }.into());
        }
        self.mode = mode;
        Ok(())
    }

    /// Moves the chain to another mode. The code of all members must be for that mode.
    pub fn switch_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Lets what runs now run again after this time, unless the change is confirmed.
    pub fn set_confirm(&mut self, confirm: Option<Duration>) {
        self.confirm = confirm;
    }

    /// Does not explain refusals by the verifier, because other code is composed after them.
    pub fn set_tentative(&mut self, tentative: bool) {
        self.tentative = tentative;
    }

    /// Names of the members, in order.
    pub fn names(&self) -> Vec<String> {
        self.links.iter().map(|link| link.member.name.clone()).collect()
    }

    /// For each member: names of the reasons for its decisions; empty if it stores none.
    pub fn reasons(&self) -> Vec<Vec<String>> {
        let reasons = |link: &ChainLink| {
            let btf = link.spec.btf.as_ref().filter(|_| link.spec.map(DECISIONS_MAP).is_some());
            btf.and_then(stats::labels).unwrap_or_default()
        };
        self.links.iter().map(reasons).collect()
    }

    /// Puts a probe around the members for the duration of a trial. Without members, a program that
    /// passes all packets is the only one. Members store their decisions for it, if they can.
    ///
    /// # Errors
    /// The program cannot be made, or the map of decisions.
    pub fn set_probe(&mut self, probe: Spec) -> Result<()> {
        let decisions = create_empty(&decisions_map())?;
        self.probe = Some(Probe { spec: Box::new(probe), decisions });
        for link in &mut self.links {
            if let Some(spec) = store_decisions(&link.spec, &link.member.program)? {
                link.spec = spec;
            }
        }
        if self.links.is_empty() {
            let mut object = asm::Object::new(CAPTURE, "Dual MIT/GPL");
            let mut code = Assembler::new(CAPTURE, ProgramKind::XDP_FRAGS);
            code.verdict(Verdict::Pass);
            object.program(code);
            let spec = object.finish().map_err(compose::Error::from)?;
            self.links.push(ChainLink::new(Member::new(CAPTURE, CAPTURE), spec));
        }
        Ok(())
    }

    /// Adds a member after all others of its priority.
    ///
    /// # Errors
    /// Its name is not valid or taken, or there are too many members.
    pub fn insert(&mut self, link: ChainLink) -> Result<()> {
        let name = link.member.name.clone();
        if !is_name(&name) {
            return Err(ChainError::Name { name, limit: NAME_LIMIT }.into());
        }
        if self.links.iter().any(|one| one.member.name == name) {
            return Err(ChainError::NameTaken { name }.into());
        }
        if self.links.len() == MAX_LINKS {
            return Err(ChainError::TooMany { limit: MAX_LINKS }.into());
        }
        let priority = link.member.priority;
        let place = self.links.partition_point(|one| one.member.priority <= priority);
        self.links.insert(place, link);
        Ok(())
    }

    /// Adds a member as it is placed: perhaps instead of the one that has its name.
    ///
    /// # Errors
    /// As [`insert`](Self::insert) and [`set_mode`](Self::set_mode).
    pub fn place(&mut self, placement: &Placement, link: ChainLink) -> Result<()> {
        self.set_mode(placement.mode)?;
        self.set_confirm(placement.confirm);
        if placement.renews() {
            self.remove(&link.member.name);
        }
        self.insert(link)
    }

    /// Removes a member, if there is one of this name.
    pub fn remove(&mut self, name: &str) {
        self.links.retain(|link| link.member.name != name);
    }

    /// Takes a member out.
    ///
    /// # Errors
    /// No member has the name.
    pub fn take(&mut self, name: &str) -> Result<ChainLink> {
        let number = self.number(name)?;
        Ok(self.links.remove(number))
    }

    /// A member, whose code may be replaced.
    ///
    /// # Errors
    /// No member has the name.
    pub fn link(&mut self, name: &str) -> Result<&mut ChainLink> {
        let number = self.number(name)?;
        Ok(&mut self.links[number])
    }

    fn number(&self, name: &str) -> Result<usize> {
        let number = self.links.iter().position(|one| one.member.name == name);
        number.ok_or_else(|| {
            let name = name.to_owned();
            ChainError::NoMember { name, known: self.names() }.into()
        })
    }

    /// Gives a slot of the verdict map to each member that has none.
    fn assign_slots(&mut self) -> Result<()> {
        if self.verdicts()?.is_none() {
            self.links.iter_mut().for_each(|one| one.member.before.clear());
        }
        let used: Vec<u32> = self.links.iter().filter_map(|one| one.member.slot).collect();
        let free = (0..VERDICT_SLOTS).filter(|slot| !used.contains(slot));
        // Members that end with this change count in their slots until the swap, and after it if
        // they return. Only if all slots are taken, new members use these.
        let (ending, unused): (Vec<_>, Vec<_>) =
            free.partition(|slot| self.running_slots.contains(slot));
        let mut free = unused.into_iter().chain(ending);
        for link in self.links.iter_mut().filter(|one| one.member.slot.is_none()) {
            link.member.slot = free.next();
        }
        Ok(())
    }

    /// Replaces what runs by these members.
    ///
    /// # Errors
    /// They cannot be composed, or the kernel refuses them. Then nothing has changed.
    pub fn apply(self) -> Result<()> {
        if self.links.is_empty() && self.confirm.is_some() {
            return Err(ChainError::ConfirmLast.into());
        }
        if self.links.is_empty() {
            return detach_all(self.target, false).map(drop);
        }
        self.load()?.commit().map(drop)
    }

    /// Composes the members in a form and loads the result.
    fn load_as(&self, form: ChainForm, tentative: bool) -> Result<Loaded> {
        let form = match form {
            ChainForm::Inlined => Form::Inline,
            ChainForm::Functions => Form::Call,
            ChainForm::TailCalls => return tail_calls::load(self, tentative),
        };
        let parts: Vec<_> = self.links.iter().map(ChainLink::part).collect();
        let Composed { spec, maps, probe_maps } = self.compose(&parts, form)?;
        let programs = [&[self.main().to_owned()][..], &called(&spec, self.main())].concat();
        let reuse = self.reuse(&maps)?;
        let object = self.load_main(&spec, programs, (reuse, tentative))?;
        Ok(Loaded { object, members: Vec::new(), maps, probe_maps })
    }

    /// Loads main, the first of the programs, with what it calls.
    fn load_main(
        &self,
        spec: &Spec,
        programs: Vec<String>,
        (reuse, tentative): (Vec<(String, Map)>, bool),
    ) -> Result<target::Loaded> {
        let loading = Loading { mode: self.mode, tentative };
        self.target.load_twice(spec, programs, (loading, self.confirm.is_some()), reuse)
    }

    /// Composes links, one for each member, with the probe.
    fn compose(&self, links: &[Link<'_>], form: Form) -> Result<Composed> {
        let probe = self.probe.as_ref().map(|probe| capture::probe(&probe.spec));
        Ok(compose(links, &self.counters(), form, probe)?)
    }

    /// What main counts.
    fn counters(&self) -> Counters {
        let counter = |one: &ChainLink| LinkCounter {
            slot: one.member.slot.unwrap_or_default(),
            counts: one.member.counted,
        };
        let of_link = self.links.iter().map(counter).collect();
        Counters { of_link, slots: VERDICT_SLOTS, timed: self.links.len() > 1 }
    }

    fn loaded(
        mut self,
        loaded: Loaded,
        form: ChainForm,
        refused: Option<&Error>,
    ) -> LoadedChain<'t> {
        let reason = match form {
            ChainForm::TailCalls => {
                refused.map(tail_calls::reason).or_else(|| self.earlier_reason())
            }
            _ => None,
        };
        if let Some(reason) = &reason {
            let interface = self.target.interface.clone();
            self.target.slot.notify(&Notice::TailCalls { interface, reason: reason.clone() });
        }
        for link in &mut self.links {
            (link.member.form, link.member.reason) = (form, reason.clone());
        }
        let main = self.main().to_owned();
        LoadedChain { chain: self, loaded, main }
    }

    fn earlier_reason(&self) -> Option<String> {
        self.links.iter().find_map(|link| link.member.reason.clone())
    }

    /// Name of the composed program: that of the first member.
    fn main(&self) -> &str {
        &self.links[0].member.program
    }

    /// Maps that exist, by their names in the composed object.
    fn reuse(&self, names: &[MapNames]) -> Result<Vec<(String, Map)>> {
        let mut all: Vec<(String, Map)> = Vec::new();
        for (link, maps) in self.links.iter().zip(names) {
            for (own, name) in maps {
                if all.iter().all(|(known, _)| known != name)
                    && let Some(map) = link.map(own)?
                {
                    all.push((name.clone(), map));
                }
            }
        }
        all.extend(self.of_chain()?);
        Ok(all)
    }

    /// Maps that exist and belong to no member.
    fn of_chain(&self) -> Result<Vec<(String, Map)>> {
        let verdicts = self.verdicts()?.map(|map| (VERDICTS_MAP.to_owned(), map));
        Ok(verdicts.into_iter().chain(self.decisions()?).collect())
    }

    /// The map of decisions, if there is a probe.
    fn decisions(&self) -> Result<Option<(String, Map)>> {
        let Some(probe) = &self.probe else { return Ok(None) };
        Ok(Some((DECISIONS_MAP.to_owned(), probe.decisions.duplicate()?)))
    }

    /// The verdict map of the members that run.
    fn verdicts(&self) -> Result<Option<Map>> {
        for generation in self.links.iter().filter_map(|link| link.generation.as_ref()) {
            let map = generation.map_if_kept(VERDICTS_MAP)?;
            let is_ours = |map: &Map| map.info().value_size as usize == value_size(VERDICT_SLOTS);
            if let Some(map) = map.filter(is_ours) {
                return Ok(Some(map));
            }
        }
        Ok(None)
    }

    /// For each member: maps that are pinned beside those of its object.
    fn beside(&self, names: &[MapNames]) -> Result<Vec<Vec<(String, Map)>>> {
        let mut all = Vec::new();
        for (link, maps) in self.links.iter().zip(names) {
            let mut beside =
                vec![(MEMBER.to_owned(), create_text_map(MEMBER, &link.member.text())?)];
            for def in &link.beside {
                beside.push((def.name.clone(), create(def)?));
            }
            let is_of_object =
                |name: &str| maps.iter().any(|(own, _)| pin_name(own).as_str() == name);
            for name in link.generation.iter().flat_map(Generation::map_names) {
                let is_new = beside.iter().any(|(known, _)| *known == name);
                let is_other = !OF_CHAIN.contains(&name.as_str()) && !is_of_counting(&name);
                if !is_new && !is_of_object(&name) && is_other {
                    let map = link.generation.as_ref().map(|one| one.map(&name)).transpose()?;
                    beside.extend(map.map(|map| (name, map)));
                }
            }
            all.push(beside);
        }
        Ok(all)
    }
}

impl LoadedChain<'_> {
    /// A map of a member, by its name in the member's object.
    pub fn map(&self, member: &str, own: &str) -> kernel::Result<&Map> {
        let number = self.chain.links.iter().position(|link| link.member.name == member);
        self.loaded.map(number.unwrap_or_default(), own)
    }

    /// Attaches the program in place of what runs, and keeps it. Returns its id.
    ///
    /// # Errors
    /// The kernel refuses it; then nothing has changed.
    pub fn commit(self) -> Result<u32> {
        let id = self.loaded.object.program(&self.main)?.id();
        self.install()?.commit()?;
        Ok(id)
    }

    /// Attaches the program in place of what runs.
    ///
    /// # Errors
    /// The kernel refuses it; then nothing has changed.
    pub fn install(mut self) -> Result<Transaction> {
        self.keep_earlier_counts()?;
        let target = self.chain.target;
        let beside = self.chain.beside(&self.loaded.maps)?;
        let object = &self.loaded.object;
        let before = target.limit(object, self.chain.mode, self.chain.confirm)?;
        let confirmed = object.confirmed(&self.main)?;
        let companions = Companions { before: before.as_ref(), confirmed };
        let scope = (companions, target.scope);
        target.slot.change_chain(self.pins(&beside), &self.attachment()?, scope)
    }

    /// Attaches the program for the duration of a trial, above what runs.
    ///
    /// # Errors
    /// The kernel refuses it; then nothing has changed.
    pub fn try_out(&self) -> Result<Trial> {
        let target = self.chain.target;
        let beside = self.chain.beside(&self.loaded.maps)?;
        let before = target.running_mode()?.map(|(_, id)| target.slot.open(id)).transpose()?;
        target.slot.try_out_chain(self.pins(&beside), &self.attachment()?, before.as_ref())
    }

    /// A map of the probe, by its name in the probe's object.
    pub fn probe_map(&self, own: &str) -> kernel::Result<&Map> {
        let name = self.loaded.probe_maps.iter().find(|(known, _)| known == own);
        self.loaded.object.map(name.map_or(own, |(_, name)| name))
    }

    fn attachment(&self) -> Result<Attach<'_>> {
        Ok(Attach {
            ifindex: self.chain.target.ifindex,
            program: self.loaded.object.program(&self.main)?,
            mode: self.chain.mode,
            replace: self.chain.replace,
        })
    }

    /// Stores with added members what their slots have: a removed member may have used them. The
    /// value cannot be cleared, because other members count in it.
    fn keep_earlier_counts(&mut self) -> Result<()> {
        let Ok(map) = self.loaded.object.map(VERDICTS_MAP) else { return Ok(()) };
        let mut added = self.chain.links.iter_mut().filter(|one| one.generation.is_none());
        let Some(first) = added.next() else { return Ok(()) };
        // The program with the removed member has ended on all processors.
        sys::thread::wait_for_running_programs();
        for link in std::iter::once(first).chain(added) {
            let before = totals(map, link.member.slot.unwrap_or_default())?.words();
            let is_used = before.iter().any(|word| *word > 0);
            link.member.before = if is_used { before.to_vec() } else { Vec::new() };
        }
        Ok(())
    }

    fn pins<'a>(&'a self, beside: &'a [Vec<(String, Map)>]) -> Vec<Pins<'a>> {
        let all = self.chain.links.iter().zip(beside).enumerate();
        all.map(|(number, (link, beside))| {
            let of_chain = [VERDICTS_MAP, DEADLINE, FALLBACK].into_iter();
            let of_chain =
                of_chain.filter_map(|name| Some((name, self.loaded.object.map(name).ok()?)));
            let of_chain = of_chain.map(|(name, map)| (name.to_owned(), map));
            let beside = beside.iter().map(|(name, map)| (name.clone(), map));
            let own = self.loaded.maps_of(number);
            let maps = counting::pinned(link, own).chain(of_chain).chain(beside).collect();
            Pins { name: link.member.name.clone(), maps }
        })
        .collect()
    }
}

impl Loaded {
    /// The maps of a member that are pinned with it, by the names in its own object.
    fn maps_of(&self, number: usize) -> impl Iterator<Item = (String, &Map)> {
        let names = self.maps.get(number).into_iter().flatten();
        names.filter_map(move |(own, _)| Some((own.clone(), self.map(number, own).ok()?)))
    }

    /// A map of a member, by its name in the member's object.
    fn map(&self, number: usize, own: &str) -> kernel::Result<&Map> {
        if let Some(Some(object)) = self.members.get(number).filter(|_| own != CALL_MAP) {
            return object.map(own);
        }
        let names = self.maps.get(number).into_iter().flatten();
        let name = names.clone().find(|(known, _)| known == own);
        self.object.map(name.map_or(own, |(_, name)| name))
    }
}

/// Whether a program that is placed so joins those that run, programs of this project that it does
/// not replace, or is the first of those that will.
pub fn joins(target: &Target, placement: &Placement) -> Result<bool> {
    let has_place = placement.place.is_some();
    if placement.replace && !has_place {
        return Ok(false);
    }
    Ok(match target.running_mode()? {
        Some((mode, id)) => mode != Mode::Offload && !target.slot.generations_of(id)?.is_empty(),
        None => has_place,
    })
}

/// Maps that a chain makes anew for a member, or that a change ends.
const OF_CHAIN: [&str; 6] = [MEMBER, VERDICTS_MAP, CALL_MAP, DEADLINE, FALLBACK, DISPATCHER];
/// Name of a member that stands for no program, while packets of an interface without programs are
/// captured.
const CAPTURE: &str = "capture";
