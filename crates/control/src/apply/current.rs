//! What runs on an interface, compared with a declaration.

use std::collections::BTreeSet;
use std::path::Path;

use kernel::{Mode, Program as KernelProgram};
use sys::net::Link;
use sys::netns::NetNsId;

use super::change::{Action, Change};
use super::prepared::{Prepared, Request};
use crate::balance::{self, BalanceOptions};
use crate::declaration::{Kind, Program};
use crate::drop::RunningDrop;
use crate::error::Result;
use crate::filter::active::ActiveFilter;
use crate::filter::globals::Globals;
use crate::filter::ruleset::stored_text;
use crate::member::{self, Member};
use crate::record::Record;
use crate::state::{Generation, Slot, State};

/// A program on an interface.
#[derive(Debug)]
pub struct Running {
    pub mode: Mode,
    pub id: u32,
    /// Its members in the order in which they run: one for a program that was attached alone, none
    /// for that of another owner.
    pub members: Vec<RunningMember>,
}

/// A program of this project that runs, perhaps with others.
#[derive(Debug)]
pub struct RunningMember {
    pub generation: Generation,
    /// `None` for a program of an earlier version.
    pub record: Option<Record>,
    /// `None` for a program that was attached alone.
    pub place: Option<Member>,
}

impl RunningMember {
    fn read((place, generation): (Option<Member>, Generation)) -> Result<Self> {
        Ok(Self { record: Record::read(&generation)?, generation, place })
    }

    /// Name of the program.
    pub fn name(&self) -> &str {
        self.generation.name()
    }

    /// Whether it comes from this declaration.
    pub fn is_declared_by(&self, path: &Path) -> bool {
        self.declaration() == Some(path)
    }

    fn declaration(&self) -> Option<&Path> {
        self.record.as_ref()?.declaration.as_deref()
    }

    /// Whether it is the declared program, perhaps with other options.
    fn is_kind_of(&self, program: &Program) -> bool {
        // The object of a built-in program has the name of its function.
        let is_object = self.record.as_ref().is_some_and(|record| record.program.object.is_some());
        self.name() == program.name() && is_object == matches!(program.kind, Kind::Object { .. })
    }

    /// Whether it runs where the declaration puts it among others.
    fn is_placed_as(&self, program: &Program) -> bool {
        let default = || Member::new(self.name(), "");
        let known = self.place.clone().unwrap_or_else(default);
        let wanted = program.place.member(program.name(), "");
        (known.priority, known.verdicts()) == (wanted.priority, wanted.verdicts())
    }
}

impl Running {
    /// What it is called.
    pub fn name(&self) -> String {
        match self.members.as_slice() {
            [] => match KernelProgram::from_id(self.id) {
                Ok(program) => program.name().to_owned(),
                Err(_) => self.id.to_string(),
            },
            [only] => only.name().to_owned(),
            _ => "the chain".to_owned(),
        }
    }
}

/// What declarations want on an interface.
#[derive(Debug)]
pub struct Wanted<'p> {
    /// The declaration whose changes are determined.
    pub prepared: &'p Prepared,
    /// Name of the interface that it declares.
    pub own: &'p str,
    /// Name of this interface; another one than `own` if only programs for several interfaces run
    /// on it.
    pub interface: &'p str,
    /// Names of the programs that other declarations want.
    pub others: BTreeSet<String>,
}

impl Wanted<'_> {
    fn programs(&self) -> Vec<(&Program, &Request)> {
        self.prepared.on(self.own, self.interface).collect()
    }

    /// Number of programs.
    pub fn count(&self) -> usize {
        self.programs().len() + self.others.len()
    }

    /// Whether all programs are those of one declaration, and run on this interface alone.
    fn is_one_chain(&self) -> bool {
        let runs_here = |program: &Program| program.interfaces(self.own).len() == 1;
        self.interface == self.own
            && self.others.is_empty()
            && self.programs().iter().all(|(program, _)| runs_here(program))
    }

    fn wants(&self, name: &str) -> bool {
        let own = self.programs().iter().any(|(program, _)| program.name() == name);
        own || self.others.contains(name)
    }
}

/// An interface and the programs on it.
#[derive(Debug)]
pub struct Current {
    pub name: String,
    pub link: Link,
    pub slot: Slot,
    pub running: Vec<Running>,
}

impl Current {
    pub fn read(state: &State, netns: NetNsId, link: &Link) -> Result<Self> {
        let slot = state.slot(netns, link.ifindex);
        let mut running = Vec::new();
        for (mode, id) in link.xdp.programs() {
            let generations = slot.generations_of(id)?;
            // Members whose pins are not complete are reported when the chain is to be changed.
            let mut members = member::members(&generations).unwrap_or_default();
            let alone = || generations.into_iter().map(|one| (None, one)).collect::<Vec<_>>();
            let all = match members.is_empty() {
                true => alone(),
                false => members.drain(..).map(|(place, one)| (Some(place), one)).collect(),
            };
            let members = all.into_iter().map(RunningMember::read).collect::<Result<_>>()?;
            running.push(Running { mode, id, members });
        }
        Ok(Self { name: link.name.clone(), link: link.clone(), slot, running })
    }

    /// Whether all programs on it were attached by this project.
    pub fn is_ours(&self) -> bool {
        self.running.iter().all(|one| !one.members.is_empty())
    }

    /// Whether it runs several programs as one.
    pub fn has_chain(&self) -> bool {
        self.running.iter().any(|one| one.members.len() > 1)
    }

    /// The declaration in this directory that a program on it comes from.
    pub fn declared_in(&self, dir: &Path) -> Option<&Path> {
        let declarations = self.members().filter_map(RunningMember::declaration);
        declarations.into_iter().find(|path| path.parent() == Some(dir))
    }

    /// The programs of this project.
    pub fn members(&self) -> impl Iterator<Item = &RunningMember> {
        self.running.iter().flat_map(|one| &one.members)
    }

    fn change(&self, action: Action, program: &str, text: impl Into<String>) -> Change {
        Change::new(&self.name, action, program, text)
    }

    /// The changes that detach everything, with a reason.
    pub fn detached(&self, why: &str) -> Vec<Change> {
        let names = self.running.iter().map(Running::name);
        names
            .map(|name| self.change(Action::Detach, &name, format!("detach {name}{why}")))
            .collect()
    }

    /// Everything that is to be changed so that the interface is as declared.
    pub fn changes(&self, wanted: &Wanted<'_>) -> Result<Vec<Change>> {
        if wanted.count() == 0 {
            return Ok(self.detached(""));
        }
        let mode = wanted.prepared.declaration.mode;
        let attach = |program: &Program| {
            let name = program.name();
            self.change(Action::Attach, name, format!("attach {name} in {} mode", mode.name()))
        };
        let programs = wanted.programs();
        let [running] = self.running.as_slice() else {
            return Ok(programs.iter().map(|(program, _)| attach(program)).collect());
        };
        let mut changes = Vec::new();
        let is_alone = wanted.count() == 1 && running.members.len() == 1;
        let switches = running.mode != mode && !is_alone;
        if running.members.is_empty() || (switches && !wanted.is_one_chain()) {
            // All members are attached again, the first one in the place of what runs.
            changes.extend(programs.iter().map(|(program, _)| attach(program)));
            if let Some(first) = changes.first_mut() {
                *first = self.restart(running, &first.program, mode);
            }
            return Ok(changes);
        }
        if switches && let Some((first, _)) = programs.first() {
            changes.push(self.switch(running, first.name(), mode));
        }
        for (program, request) in &programs {
            let name = program.name();
            let known = running.members.iter().find(|one| one.is_kind_of(program));
            match known {
                Some(member) => {
                    if running.mode != mode && is_alone {
                        changes.push(self.switch(running, name, mode));
                    }
                    changes.extend(self.changed(member, (program, request), wanted)?);
                }
                None if is_alone || running.members.iter().any(|one| one.name() == name) => {
                    let old = running.members.iter().find(|one| is_alone || one.name() == name);
                    let old = old.map_or(name, RunningMember::name);
                    let text = format!("replace {old} by {name} in {} mode", mode.name());
                    changes.push(self.change(Action::Replace, name, text));
                }
                None => {
                    let text = format!("add {name} to the programs that run");
                    changes.push(self.change(Action::Attach, name, text));
                }
            }
        }
        let removed = running.members.iter().filter(|one| !is_alone && !wanted.wants(one.name()));
        changes.extend(removed.map(|one| {
            let text = format!("remove {} from the programs that run", one.name());
            self.change(Action::Detach, one.name(), text)
        }));
        Ok(changes)
    }

    /// The change that ends what runs, because it is in another mode or has another owner.
    fn restart(&self, running: &Running, program: &str, mode: Mode) -> Change {
        let (action, text) = match running.members.is_empty() {
            true => {
                let old = running.name();
                let text = format!("replace {old} by {program} in {} mode", mode.name());
                (Action::Replace, text)
            }
            false => return Change { restarts: true, ..self.switch(running, program, mode) },
        };
        Change { restarts: true, ..self.change(action, program, text) }
    }

    /// The change to another mode.
    fn switch(&self, running: &Running, program: &str, mode: Mode) -> Change {
        let (old, new) = (running.mode.name(), mode.name());
        self.change(Action::Mode, program, format!("change from {old} to {new} mode"))
    }

    /// The changes of a program that runs.
    fn changed(
        &self,
        member: &RunningMember,
        (program, request): (&Program, &Request),
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Change>> {
        let declaration = &wanted.prepared.declaration;
        let name = program.name();
        let mut changes = self.differences(member, (program, request), wanted.own)?;
        if !member.is_placed_as(program) {
            let text = format!("move {name} to priority {}", program.priority());
            changes.push(self.change(Action::Move, name, text));
        }
        if changes.is_empty() && !member.is_declared_by(&declaration.path) {
            let text = format!("record {name} as declared; it continues to run");
            changes.push(self.change(Action::Adopt, name, text));
        }
        Ok(changes)
    }

    /// Differences of a program with the declared one of the same name.
    fn differences(
        &self,
        running: &RunningMember,
        (program, request): (&Program, &Request),
        own: &str,
    ) -> Result<Vec<Change>> {
        let name = program.name();
        let table = running.record.as_ref().map(|record| &record.program);
        let options = || self.change(Action::Options, name, "change the options");
        let rules = || self.change(Action::Rules, name, "change the rules");
        let mut changes = Vec::new();
        match request {
            Request::Filter(file, apply) => {
                let active = ActiveFilter::find(&self.slot, self.link.ifindex)?;
                let Some(active) = active else { return Ok(changes) };
                let (old, new) = (active.permanent_text()?, stored_text(file));
                if old != new {
                    changes.push(rules().with_diff(&old, &new));
                }
                let globals = Globals::default().with(&apply.placement.set);
                let old = active.globals()?;
                if !old.is_same(&globals) {
                    changes.push(options().with_diff(&old.lines(), &globals.lines()));
                }
            }
            Request::Drop(wanted) => {
                let drop = RunningDrop::find(&self.slot, self.link.ifindex)?;
                let Some(drop) = drop else { return Ok(changes) };
                let texts = |rules: Vec<_>| -> BTreeSet<String> {
                    rules.iter().map(functions::drop::Rule::to_string).collect()
                };
                let (old, new) =
                    (texts(drop.rules()?), texts(wanted.set.clone().unwrap_or_default()));
                if old != new {
                    changes.push(rules().with_sets(&old, &new));
                }
                let wanted = Record::of_drop(&wanted.placement);
                if table.is_some_and(|table| table.set != wanted.program.set) {
                    changes.push(options());
                }
            }
            Request::Balance(wanted) => {
                changes.extend(self.changed_services(name, running.record.as_ref(), wanted));
            }
            Request::Forward(wanted) => {
                let interfaces = program.interfaces(own);
                let (config, ignore) = (&wanted.config, wanted.ignore_stripped_tags);
                let wanted = Record::of_forward(config, &interfaces, ignore, &wanted.placement);
                changes.extend(self.changed_record(name, running.record.as_ref(), &wanted));
            }
            Request::Object(opened, wanted) => {
                let wanted = wanted.record(&opened.source);
                changes.extend(self.changed_record(name, running.record.as_ref(), &wanted));
            }
        }
        Ok(changes)
    }

    /// The differences of a balancer. Services change in place, and so do the interfaces that
    /// packets may leave by.
    fn changed_services(
        &self,
        name: &str,
        old: Option<&Record>,
        wanted: &BalanceOptions,
    ) -> Vec<Change> {
        let old = old.cloned().unwrap_or_default();
        let known = old.balance.unwrap_or_default();
        let config = balance::completed(&wanted.config, &known);
        let new = Record::of_balancer(&config, &wanted.out, &wanted.placement);
        let mut changes = Vec::new();
        // A program that translates runs on all of these interfaces.
        let spans = config.translates() || known.translates();
        if known != config {
            let action = match balance::has_same_constants(&known, &config) {
                true => Action::Rules,
                false => Action::Options,
            };
            let change = self.change(action, name, "change the services");
            let [old, new] = balance::texts_without_key(&known, &config);
            changes.push(change.with_diff(&old, &new));
        }
        if old.program.out != new.program.out {
            let text = "change the interfaces that packets may leave by";
            let action = if spans { Action::Options } else { Action::Rules };
            let change = self.change(action, name, text);
            let set = |names: &[String]| names.iter().cloned().collect();
            changes.push(change.with_sets(&set(&old.program.out), &set(&new.program.out)));
        }
        if old.program.set != new.program.set {
            changes.push(self.change(Action::Options, name, "change the options"));
        }
        changes
    }

    /// The difference of two records, without the declarations that they name.
    fn changed_record(&self, name: &str, old: Option<&Record>, new: &Record) -> Option<Change> {
        let Some(old) = old else {
            let text = "attach it again: the running program has no record of its options";
            return Some(self.change(Action::Replace, name, text));
        };
        let plain = |record: &Record| Record { declaration: None, ..record.clone() };
        let (old, new) = (plain(old), plain(new));
        if old == new {
            return None;
        }
        if old.program == new.program {
            return Some(self.change(Action::Replace, name, "load the changed object file"));
        }
        let change = self.change(Action::Options, name, "change the options");
        Some(change.with_diff(&old.program.lines(), &new.program.lines()))
    }
}
