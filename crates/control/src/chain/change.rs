//! `Chain`: the members of an interface while they are changed, under the writers' lock.

use kernel::{Attach, Map, Mode, Object, Replace};
use spec::compose::{Composed, Counters, ENTRIES, MAX_LINKS, VERDICTS_MAP, compose};
use spec::{Expect, Map as _, Spec};

use super::link::{ChainLink, OWN, is_counted};
use super::report::{self, ChainReport};
use super::{MemberChange, MemberOptions, default_priority};
use crate::Control;
use crate::attach::{called, detach_all};
use crate::counters::{VERDICT_SLOTS, labels_map};
use crate::error::{ChainError, Context as _, Error, Result};
use crate::lockout;
use crate::map_names::{LABELS, MEMBER, RECORD};
use crate::member::{self, Member};
use crate::object::Opened;
use crate::record::Record;
use crate::state::Pins;
use crate::target::{Placement, Target};
use crate::text_map::{create, create_text_map};

/// The members of an interface.
#[derive(Debug)]
pub struct Chain {
    control: Control,
    target: Target,
    mode: Mode,
    /// Whether a program runs.
    runs: bool,
    links: Vec<ChainLink>,
}

impl Chain {
    /// Takes the writers' lock, and opens the members of what runs.
    ///
    /// # Errors
    /// Another owner's program runs, or one that cannot be part of a chain.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let target = Target::open(control, interface)?;
        target.require_confirmed()?;
        let running = target.running_mode()?;
        let mut chain = Self {
            control: control.clone(),
            mode: running.map_or(Mode::Native, |(mode, _)| mode),
            runs: running.is_some(),
            target,
            links: Vec::new(),
        };
        let Some((mode, id)) = running else { return Ok(chain) };
        let generations = chain.target.slot.generations_of(id)?;
        if generations.is_empty() {
            let (interface, name) = (interface.to_owned(), String::new());
            return Err(Error::ForeignProgram { interface, id, name, mode: mode.name() });
        }
        let members = member::members(&generations)?;
        chain.links = match members.is_empty() {
            true => {
                generations.iter().map(|one| ChainLink::open(None, one)).collect::<Result<_>>()?
            }
            false => members
                .into_iter()
                .map(|(member, generation)| ChainLink::open(Some(member), &generation))
                .collect::<Result<_>>()?,
        };
        Ok(chain)
    }

    pub fn add(&mut self, opened: &Opened, options: &MemberOptions) -> Result<()> {
        let name = options.name.clone().unwrap_or_else(|| opened.name.clone());
        if !is_name(&name) {
            return Err(ChainError::Name { name, limit: NAME_LIMIT }.into());
        }
        if self.links.iter().any(|one| one.member.name == name) {
            return Err(ChainError::NameTaken { name }.into());
        }
        if self.links.len() == MAX_LINKS {
            return Err(ChainError::TooMany { limit: MAX_LINKS }.into());
        }
        let mode = options.mode.unwrap_or(self.mode);
        if self.runs && mode != self.mode {
            let (running, asked) = (self.mode.name(), mode.name());
            return Err(ChainError::Mode { running, asked }.into());
        }
        self.mode = mode;
        let mut opened = opened.clone();
        opened.set(&options.set)?;
        let program = opened.choose(options.program.as_deref())?.name.clone();
        let placement = Placement { set: options.set.clone(), ..Placement::default() };
        let record =
            Record::of_object(&opened.source, options.program.as_deref(), true, &placement);
        lockout::check_program(
            &self.control,
            (&opened.spec, &program),
            self.target.place(),
            options.lockout,
            |_| {},
        )?;
        let counter = is_counted(&opened.spec, &program, &record).then(|| self.free_counter());
        let priority = options.priority.unwrap_or_else(|| default_priority(&opened.name));
        let continue_on = member::names(options.continue_on);
        let member = Member { name, program, priority, continue_on, counter, members: 0 };
        let place = self.links.partition_point(|one| one.member.priority <= priority);
        self.links.insert(place, ChainLink { member, record, opened, generation: None });
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> Result<()> {
        let number = self.number(name)?;
        self.links.remove(number);
        Ok(())
    }

    pub fn change(&mut self, name: &str, change: MemberChange) -> Result<()> {
        let mut link = {
            let number = self.number(name)?;
            self.links.remove(number)
        };
        let member = &mut link.member;
        member.priority = change.priority.unwrap_or(member.priority);
        if let Some(verdicts) = change.continue_on {
            member.continue_on = member::names(verdicts);
        }
        let priority = member.priority;
        let place = self.links.partition_point(|one| one.member.priority <= priority);
        self.links.insert(place, link);
        Ok(())
    }

    fn number(&self, name: &str) -> Result<usize> {
        let found = self.links.iter().position(|one| one.member.name == name);
        let known = || self.links.iter().map(|one| one.member.name.clone()).collect();
        Ok(found.ok_or_else(|| ChainError::NoMember { name: name.to_owned(), known: known() })?)
    }

    /// The lowest counter that no member has.
    fn free_counter(&self) -> u32 {
        let is_used = |slot: &u32| self.links.iter().any(|one| one.member.counter == Some(*slot));
        (0..VERDICT_SLOTS).find(|slot| !is_used(slot)).unwrap_or(0)
    }

    /// Replaces the running chain by these members.
    pub fn apply(mut self) -> Result<ChainReport> {
        let interface = self.target.interface.clone();
        if self.links.is_empty() {
            detach_all(&self.target, false)?;
            drop(self.target);
            return report::read(&self.control, &interface);
        }
        let members = self.links.len();
        self.links.iter_mut().for_each(|one| one.member.members = members);
        let composed = self.compose()?;
        let main =
            composed.spec.programs.iter().find(|one| one.name == self.links[0].member.program);
        let main = main.map(|one| one.name.clone()).unwrap_or_default();
        let object = self.load(&composed, &main)?;
        self.clear_new_counters(&object)?;
        let kept = self.kept(&composed)?;
        let pins = self.pins(&composed, &object, &kept);
        let attach = Attach {
            ifindex: self.target.ifindex,
            program: object.program(&main)?,
            mode: self.mode,
            replace: Replace::Yes,
        };
        self.target.slot.change_chain(pins, &attach)?.commit()?;
        drop(self.target);
        report::read(&self.control, &interface)
    }

    fn compose(&self) -> Result<Composed> {
        let of_link = self.links.iter().map(|one| one.member.counter).collect();
        let counters = Counters { of_link, slots: VERDICT_SLOTS };
        let parts: Vec<_> = self.links.iter().map(ChainLink::part).collect();
        Ok(compose(&parts, &counters)?)
    }

    /// Loads the composed program with the maps of the members that run.
    fn load(&self, composed: &Composed, main: &str) -> Result<Object> {
        let programs = [&[main.to_owned()][..], &called(&composed.spec, main)].concat();
        let loaded =
            self.target.load_sharing(&composed.spec, programs, self.mode, self.reuse(composed)?);
        loaded.or_else(|error| match error.kernel() {
            Some(kernel::Error::Verifier { .. }) if self.links.len() > 1 => {
                // The program that is refused alone as well is the one to report.
                self.links.iter().try_for_each(|link| self.load_alone(link))?;
                Err(error)
                    .with_context(|| ChainError::Together { members: self.links.len() }.to_string())
            }
            _ => Err(error),
        })
    }

    fn load_alone(&self, link: &ChainLink) -> Result<()> {
        let (spec, program) = (&link.opened.spec, &link.member.program);
        let programs = [&[program.clone()][..], &called(spec, program)].concat();
        let loaded = self.target.load_sharing(spec, programs, self.mode, Vec::new());
        loaded.map(drop).with_context(|| format!("`{}` was not added", link.member.name))
    }

    /// Maps of the members that run, by their names in the composed object.
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
        for link in self.links.iter().filter(|link| link.member.counter.is_some()) {
            let generation = link.generation.as_ref();
            let map = generation.map_or(Ok(None), |one| one.map_if_kept(VERDICTS_MAP))?;
            if let Some(map) = map.filter(|map| map.max_entries() == ENTRIES * VERDICT_SLOTS) {
                all.push((VERDICTS_MAP.to_owned(), map));
                break;
            }
        }
        Ok(all)
    }

    /// Sets the counters of added members to zero: a removed member may have used them.
    fn clear_new_counters(&self, object: &Object) -> Result<()> {
        let added = self.links.iter().filter(|link| link.generation.is_none());
        let slots: Vec<_> = added.filter_map(|link| link.member.counter).collect();
        if slots.is_empty() {
            return Ok(());
        }
        // The program with the removed member has ended on all processors.
        sys::thread::wait_for_running_programs();
        let map = object.map(VERDICTS_MAP)?;
        let zeros = vec![0; map.value_size()];
        for entry in slots.into_iter().flat_map(|slot| ENTRIES * slot..ENTRIES * (slot + 1)) {
            map.update(&entry.to_ne_bytes(), &zeros, Expect::Any)?;
        }
        Ok(())
    }

    /// For each member: maps that are pinned beside those of the object.
    fn kept(&self, composed: &Composed) -> Result<Vec<Vec<(String, Map)>>> {
        let mut all = Vec::new();
        for (link, maps) in self.links.iter().zip(&composed.maps) {
            let mut kept = vec![(MEMBER.to_owned(), create_text_map(MEMBER, &link.member.text())?)];
            match &link.generation {
                Some(generation) => {
                    let of_object = |name: &String| {
                        maps.iter().any(|(own, _)| crate::state::pin_name(own) == *name)
                    };
                    for name in generation.map_names() {
                        if !of_object(&name) && !OWN.contains(&name.as_str()) {
                            kept.push((name.clone(), generation.map(&name)?));
                        }
                    }
                }
                None => kept.extend(added(link)?),
            }
            all.push(kept);
        }
        Ok(all)
    }

    fn pins<'a>(
        &self,
        composed: &Composed,
        object: &'a Object,
        kept: &'a [Vec<(String, Map)>],
    ) -> Vec<Pins<'a>> {
        let all = self.links.iter().zip(&composed.maps).zip(kept);
        all.map(|((link, maps), kept)| {
            let of_object =
                maps.iter().filter_map(|(own, name)| Some((own.clone(), object.map(name).ok()?)));
            let counter = link.member.counter.and_then(|_| object.map(VERDICTS_MAP).ok());
            let counter = counter.map(|map| (VERDICTS_MAP.to_owned(), map));
            let kept = kept.iter().map(|(name, map)| (name.clone(), map));
            let maps = of_object.chain(counter).chain(kept).collect();
            Pins { name: link.member.name.clone(), maps }
        })
        .collect()
    }
}

/// Maps that are made for a member when it is added: its record, object and labels.
fn added(link: &ChainLink) -> Result<Vec<(String, Map)>> {
    let mut maps = vec![(RECORD.to_owned(), create_text_map(RECORD, &link.record.text())?)];
    let labels = link.opened.spec.btf.as_ref().and_then(functions::stats::labels);
    if let Some(labels) = labels.filter(|_| has_stats(&link.opened.spec)) {
        maps.push((LABELS.to_owned(), create(&labels_map(&labels))?));
    }
    if let Some(object) = link.opened.kept_map() {
        maps.push((object.name.clone(), create(&object)?));
    }
    Ok(maps)
}

fn has_stats(spec: &Spec) -> bool {
    spec.map(functions::stats::MAP).is_some() && spec.map(LABELS).is_none()
}

/// Whether it is a name of a generation that can be found again.
fn is_name(name: &str) -> bool {
    let is_usable = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
    !name.is_empty() && name.len() <= NAME_LIMIT && name.chars().all(is_usable)
}

/// Characters of a member's name.
const NAME_LIMIT: usize = 64;
