//! What runs on an interface, compared with a declaration.

use std::collections::BTreeSet;
use std::path::Path;

use kernel::{Mode, Program as KernelProgram};
use sys::errno::{ENOENT, EPERM};
use sys::net::Link;
use sys::netns::NetNsId;

use super::change::{Action, Change};
use super::prepared::{Prepared, Request};
use crate::declaration::{Kind, Program};
use crate::drop::RunningDrop;
use crate::error::Result;
use crate::filter::active::ActiveFilter;
use crate::filter::globals::Globals;
use crate::filter::ruleset::stored_text;
use crate::record::Record;
use crate::state::{Generation, Slot, State};

/// A program on an interface.
#[derive(Debug)]
pub struct Running {
    pub mode: Mode,
    pub id: u32,
    /// `None` for a program of another owner.
    pub generation: Option<Generation>,
    /// `None` for a program of another owner, or of an earlier version.
    pub record: Option<Record>,
    /// Whether it is a member of a chain with others.
    pub is_chain: bool,
}

impl Running {
    /// Whether it is the declared program, perhaps with other options.
    fn is_kind_of(&self, program: &Program) -> bool {
        if self.is_chain {
            return false;
        }
        let has_name = self.generation.as_ref().is_some_and(|one| one.name() == program.name());
        // The object of a built-in program has the name of its function.
        let is_object = self.record.as_ref().is_some_and(|record| record.program.object.is_some());
        has_name && is_object == matches!(program.kind, Kind::Object { .. })
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
            let is_chain = generations.len() > 1;
            let generation = generations.into_iter().next();
            let record = generation.as_ref().map_or(Ok(None), Record::read)?;
            running.push(Running { mode, id, generation, record, is_chain });
        }
        Ok(Self { name: link.name.clone(), link: link.clone(), slot, running })
    }

    /// Whether all programs on it were attached by this project.
    pub fn is_ours(&self) -> bool {
        self.running.iter().all(|one| one.generation.is_some())
    }

    /// The declaration in this directory that a program on it comes from.
    pub fn declared_in(&self, dir: &Path) -> Option<&Path> {
        self.declarations().find(|path| path.parent() == Some(dir))
    }

    /// Whether a program on it comes from this declaration.
    pub fn is_declared_by(&self, path: &Path) -> bool {
        self.declarations().any(|one| one == path)
    }

    fn declarations(&self) -> impl Iterator<Item = &Path> {
        let records = self.running.iter().filter_map(|one| one.record.as_ref());
        records.filter_map(|record| record.declaration.as_deref())
    }

    /// What a program is called.
    pub fn name_of(running: &Running) -> String {
        if running.is_chain {
            return "the chain".to_owned();
        }
        if let Some(generation) = &running.generation {
            return generation.name().to_owned();
        }
        match KernelProgram::from_id(running.id) {
            Ok(program) => program.name().to_owned(),
            Err(error) if matches!(error.errno(), Some(EPERM | ENOENT)) => running.id.to_string(),
            Err(_) => running.id.to_string(),
        }
    }

    /// Everything that is to be changed so that the interface is as declared.
    pub fn changes(&self, prepared: &Prepared) -> Result<Vec<Change>> {
        let Some(program) = &prepared.declaration.program else {
            let detach = |one: &Running| {
                let name = Self::name_of(one);
                Change::new(Action::Detach, &name, format!("detach {name}"))
            };
            return Ok(self.running.iter().map(detach).collect());
        };
        let (name, mode) = (program.name(), prepared.declaration.mode);
        let [running] = self.running.as_slice() else {
            let text = format!("attach {name} in {} mode", mode.name());
            return Ok(vec![Change::new(Action::Attach, name, text)]);
        };
        if !running.is_kind_of(program) {
            let old = Self::name_of(running);
            let text = format!("replace {old} by {name} in {} mode", mode.name());
            return Ok(vec![Change::new(Action::Replace, name, text)]);
        }
        let mut changes = Vec::new();
        if running.mode != mode {
            let text = format!("change from {} to {} mode", running.mode.name(), mode.name());
            changes.push(Change::new(Action::Mode, name, text));
        }
        changes.extend(self.differences(running, prepared, program)?);
        let declaration = running.record.as_ref().and_then(|one| one.declaration.as_ref());
        if changes.is_empty() && declaration != Some(&prepared.declaration.path) {
            let text = format!("record {name} as declared; it continues to run");
            changes.push(Change::new(Action::Adopt, name, text));
        }
        Ok(changes)
    }

    /// Differences of a program with the declared one of the same name.
    fn differences(
        &self,
        running: &Running,
        prepared: &Prepared,
        program: &Program,
    ) -> Result<Vec<Change>> {
        let name = program.name();
        let table = running.record.as_ref().map(|record| &record.program);
        let options = || Change::new(Action::Options, name, "change the options");
        let mut changes = Vec::new();
        match &prepared.request {
            Some(Request::Filter(file, apply)) => {
                let active = ActiveFilter::find(&self.slot, self.link.ifindex)?;
                let Some(active) = active else { return Ok(changes) };
                let (old, new) = (active.permanent_text()?, stored_text(file));
                if old != new {
                    let change = Change::new(Action::Rules, name, "change the rules");
                    changes.push(change.with_diff(&old, &new));
                }
                let globals = Globals::default().with(&apply.placement.set);
                let old = active.globals()?;
                if !old.is_same(&globals) {
                    changes.push(options().with_diff(&old.lines(), &globals.lines()));
                }
            }
            Some(Request::Drop(wanted)) => {
                let drop = RunningDrop::find(&self.slot, self.link.ifindex)?;
                let Some(drop) = drop else { return Ok(changes) };
                let texts = |rules: Vec<_>| -> BTreeSet<String> {
                    rules.iter().map(functions::drop::Rule::to_string).collect()
                };
                let (old, new) =
                    (texts(drop.rules()?), texts(wanted.set.clone().unwrap_or_default()));
                if old != new {
                    changes.push(Change::of_sets(name, &old, &new));
                }
                let wanted = Record::of_drop(&wanted.placement);
                if table.is_some_and(|table| table.set != wanted.program.set) {
                    changes.push(options());
                }
            }
            Some(Request::Forward(wanted)) => {
                let interfaces = program.interfaces(&self.name);
                let (config, ignore) = (&wanted.config, wanted.ignore_stripped_tags);
                let wanted = Record::of_forward(config, &interfaces, ignore, &wanted.placement);
                changes.extend(changed(name, running.record.as_ref(), &wanted));
            }
            Some(Request::Object(opened, wanted)) => {
                let wanted = wanted.record(&opened.source);
                changes.extend(changed(name, running.record.as_ref(), &wanted));
            }
            None => {}
        }
        Ok(changes)
    }
}

/// The difference of two records, without the declarations that they name.
fn changed(name: &str, old: Option<&Record>, new: &Record) -> Option<Change> {
    let Some(old) = old else {
        let text = "attach it again: the running program has no record of its options";
        return Some(Change::new(Action::Replace, name, text));
    };
    let plain = |record: &Record| Record { declaration: None, ..record.clone() };
    let (old, new) = (plain(old), plain(new));
    if old == new {
        return None;
    }
    if old.program == new.program {
        return Some(Change::new(Action::Replace, name, "load the changed object file"));
    }
    let change = Change::new(Action::Options, name, "change the options");
    Some(change.with_diff(&old.program.lines(), &new.program.lines()))
}
