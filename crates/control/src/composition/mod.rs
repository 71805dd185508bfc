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

pub mod link;
pub mod report;

use kernel::{Attach, Map, Mode, Object, Replace};
use spec::compose::{
    Composed, Counters, Form, LinkCounter, MAX_LINKS, VERDICTS_MAP, compose, counts_itself,
    value_size,
};

use crate::counters::{VERDICT_SLOTS, totals};
use crate::detach::detach_all;
use crate::error::{ChainError, Context as _, Error, Result};
use crate::map_names::MEMBER;
use crate::member::{self, Member};
use crate::object::{Opened, called};
use crate::record::Record;
use crate::state::{Generation, Pins, pin_name};
use crate::target::{Placement, Target};
use crate::text_map::{create, create_text_map};
use link::{ChainLink, Code};

/// The members of an interface.
#[derive(Debug)]
pub struct Chain<'t> {
    target: &'t Target,
    mode: Mode,
    /// Whether a program runs.
    runs: bool,
    links: Vec<ChainLink>,
    /// Names of the members that run, in order, if they are composed as functions.
    functions: Vec<String>,
}

/// A composed program that is loaded and not attached yet.
#[derive(Debug)]
pub struct LoadedChain<'t> {
    chain: Chain<'t>,
    composed: Composed,
    object: Object,
    main: String,
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
        let mut chain = Self {
            target,
            mode,
            runs: running.is_some(),
            links: Vec::new(),
            functions: Vec::new(),
        };
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
            let code = code(&generation)?;
            chain.links.push(ChainLink::running(member, &generation, code));
        }
        let functions = chain.links.iter().filter(|link| link.member.functions);
        chain.functions = functions.map(|link| link.member.name.clone()).collect();
        Ok(chain)
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

    /// Adds a program of an object, which the chain counts if the program does not count itself and
    /// the record does not forbid it.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_object(&mut self, member: Member, opened: Opened, record: &Record) -> Result<()> {
        let may_count = record.program.count != Some(false);
        let counted = may_count && !counts_itself(&opened.spec, &member.program);
        self.insert(ChainLink::added(Member { counted, ..member }, opened, record))
    }

    /// Takes a member out.
    ///
    /// # Errors
    /// No member has the name.
    pub fn take(&mut self, name: &str) -> Result<ChainLink> {
        match self.links.iter().position(|one| one.member.name == name) {
            Some(number) => Ok(self.links.remove(number)),
            None => {
                let known = self.links.iter().map(|one| one.member.name.clone()).collect();
                Err(ChainError::NoMember { name: name.to_owned(), known }.into())
            }
        }
    }

    /// Gives a slot of the verdict map to each member that has none.
    fn assign_slots(&mut self) -> Result<()> {
        if self.verdicts()?.is_none() {
            self.links.iter_mut().for_each(|one| one.member.before.clear());
        }
        let used: Vec<u32> = self.links.iter().filter_map(|one| one.member.slot).collect();
        let mut free = (0..VERDICT_SLOTS).filter(|slot| !used.contains(slot));
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
        if self.links.is_empty() {
            return detach_all(self.target, false).map(drop);
        }
        self.load()?.commit().map(drop)
    }

    /// Composes and loads the members.
    ///
    /// # Errors
    /// They cannot be composed, or the kernel refuses them.
    pub fn load(mut self) -> Result<LoadedChain<'t>> {
        let members = self.links.len();
        self.links.iter_mut().for_each(|one| one.member.members = members);
        self.assign_slots()?;
        let functions_first = self.needs_functions();
        if functions_first && let Ok((composed, object)) = self.load_as(Form::Call) {
            return Ok(self.loaded(composed, object, Form::Call));
        }
        let refused = match self.load_as(Form::Inline) {
            Ok((composed, object)) => return Ok(self.loaded(composed, object, Form::Inline)),
            Err(error) => error,
        };
        if !matches!(refused.kernel(), Some(kernel::Error::Verifier { .. })) || members == 1 {
            return Err(refused);
        }
        // As functions, the programs are verified one by one, and not each path of one with each
        // path of the next.
        let second = if functions_first { None } else { self.load_as(Form::Call).ok() };
        match second {
            Some((composed, object)) => Ok(self.loaded(composed, object, Form::Call)),
            None => {
                // The program that is refused alone as well is the one to report.
                self.links.iter().try_for_each(|link| self.load_alone(link))?;
                Err(refused).with_context(|| ChainError::Together { members }.to_string())
            }
        }
    }

    /// Whether the verifier refused the running members inlined, and all of them remain in the same
    /// order, perhaps with others between them. To refuse them again would take it seconds.
    fn needs_functions(&self) -> bool {
        let names = self.links.iter().map(|link| &link.member.name);
        !self.functions.is_empty()
            && names.filter(|name| self.functions.contains(name)).eq(&self.functions)
    }

    /// Composes the members in a form and loads the result.
    fn load_as(&self, form: Form) -> Result<(Composed, Object)> {
        let counter = |one: &ChainLink| LinkCounter {
            slot: one.member.slot.unwrap_or_default(),
            counts: one.member.counted,
        };
        let of_link = self.links.iter().map(counter).collect();
        let timed = self.links.len() > 1;
        let counters = Counters { of_link, slots: VERDICT_SLOTS, timed };
        let parts: Vec<_> = self.links.iter().map(ChainLink::part).collect();
        let composed = compose(&parts, &counters, form)?;
        let object = self.load_composed(&composed, self.main())?;
        Ok((composed, object))
    }

    fn loaded(mut self, composed: Composed, object: Object, form: Form) -> LoadedChain<'t> {
        self.links.iter_mut().for_each(|one| one.member.functions = form == Form::Call);
        let main = self.main().to_owned();
        LoadedChain { chain: self, composed, object, main }
    }

    /// Name of the composed program: that of the first member.
    fn main(&self) -> &str {
        &self.links[0].member.program
    }

    /// Loads the composed program with the maps of the members that run.
    fn load_composed(&self, composed: &Composed, main: &str) -> Result<Object> {
        let programs = [&[main.to_owned()][..], &called(&composed.spec, main)].concat();
        self.target.load_sharing(&composed.spec, programs, self.mode, self.reuse(composed)?)
    }

    fn load_alone(&self, link: &ChainLink) -> Result<()> {
        let program = &link.member.program;
        let programs = [&[program.clone()][..], &called(&link.spec, program)].concat();
        let loaded = self.target.load_sharing(&link.spec, programs, self.mode, Vec::new());
        loaded.map(drop).with_context(|| format!("`{}` was not added", link.member.name))
    }

    /// Maps that exist, by their names in the composed object.
    fn reuse(&self, composed: &Composed) -> Result<Vec<(String, Map)>> {
        let mut all: Vec<(String, Map)> = Vec::new();
        for (link, maps) in self.links.iter().zip(&composed.maps) {
            for (own, name) in maps {
                if all.iter().all(|(known, _)| known != name)
                    && let Some(map) = link.map(own)?
                {
                    all.push((name.clone(), map));
                }
            }
        }
        all.extend(self.verdicts()?.map(|map| (VERDICTS_MAP.to_owned(), map)));
        Ok(all)
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
    fn beside(&self, composed: &Composed) -> Result<Vec<Vec<(String, Map)>>> {
        let mut all = Vec::new();
        for (link, maps) in self.links.iter().zip(&composed.maps) {
            let mut beside =
                vec![(MEMBER.to_owned(), create_text_map(MEMBER, &link.member.text())?)];
            for def in &link.beside {
                beside.push((def.name.clone(), create(def)?));
            }
            let is_of_object =
                |name: &str| maps.iter().any(|(own, _)| pin_name(own).as_str() == name);
            for name in link.generation.iter().flat_map(Generation::map_names) {
                if !is_of_object(&name) && ![MEMBER, VERDICTS_MAP].contains(&name.as_str()) {
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
        let maps = number.and_then(|number| self.composed.maps.get(number));
        let name = maps.and_then(|maps| maps.iter().find(|(known, _)| known == own));
        self.object.map(name.map_or(own, |(_, name)| name))
    }

    /// Attaches the program in place of what runs, and keeps it. Returns its id.
    ///
    /// # Errors
    /// The kernel refuses it; then nothing has changed.
    pub fn commit(mut self) -> Result<u32> {
        self.keep_earlier_counts()?;
        let Self { chain, composed, object, main } = &self;
        let beside = chain.beside(composed)?;
        let attach = Attach {
            ifindex: chain.target.ifindex,
            program: object.program(main)?,
            mode: chain.mode,
            replace: Replace::Yes,
        };
        chain.target.slot.change_chain(self.pins(&beside), &attach)?.commit()?;
        Ok(attach.program.id())
    }

    /// Stores with added members what their slots have: a removed member may have used them. The
    /// value cannot be cleared, because other members count in it.
    fn keep_earlier_counts(&mut self) -> Result<()> {
        let Ok(map) = self.object.map(VERDICTS_MAP) else { return Ok(()) };
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
        let object = &self.object;
        let all = self.chain.links.iter().zip(&self.composed.maps).zip(beside);
        all.map(|((link, maps), beside)| {
            let of_object = maps.iter();
            let of_object =
                of_object.filter_map(|(own, name)| Some((own.clone(), object.map(name).ok()?)));
            let counter = object.map(VERDICTS_MAP).ok().map(|map| (VERDICTS_MAP.to_owned(), map));
            let beside = beside.iter().map(|(name, map)| (name.clone(), map));
            let maps = of_object.chain(counter).chain(beside).collect();
            Pins { name: link.member.name.clone(), maps }
        })
        .collect()
    }
}

/// Whether a program that is placed so joins those that run: programs of this project that it does
/// not replace.
pub fn joins(target: &Target, placement: &Placement) -> Result<bool> {
    if placement.replace {
        return Ok(false);
    }
    let Some((mode, id)) = target.running_mode()? else { return Ok(false) };
    let joins = mode != Mode::Offload && !target.slot.generations_of(id)?.is_empty();
    match joins && placement.confirm.is_some() {
        true => Err(ChainError::Confirm.into()),
        false => Ok(joins),
    }
}

/// Whether it is a name of a generation that can be found again.
fn is_name(name: &str) -> bool {
    let is_usable = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
    !name.is_empty() && name.len() <= NAME_LIMIT && name.chars().all(is_usable)
}

/// Characters of a member's name.
const NAME_LIMIT: usize = 64;
