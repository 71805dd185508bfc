//! `apply`: makes interfaces equal to their declarations.
//!
//! ```text
//!  declaration ──▶ Prepared ──▶ Current::changes ──▶ Plan ──▶ one library call for each interface
//!   (files)        (rules and      (what runs now,      programs are attached and replaced first,
//!                   objects read)   without a lock)      then detached
//! ```
//!
//! Rule: planning writes nothing and takes no lock; an interface without changes is not touched.
//! Each interface changes in one step or not at all; an error of one does not affect others. Not
//! here: the changes themselves (`filter`, `drop`, `forward`, `attach`).

mod change;
mod current;
mod prepared;
mod save;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sys::net::{Link, Netlink};
use sys::netns::NetNs;

pub use change::{Action, Change};
use current::Current;
use prepared::{Prepared, Request};
pub use save::{SaveOptions, Saved, save};
pub use wait::wait;

use crate::Control;
use crate::attach;
use crate::declaration::{DeclarationError, Declarations, OnStop, Reason};
use crate::detection::AutoOptions;
use crate::drop;
use crate::error::{Result, full};
use crate::filter::{temporary, update::Update};
use crate::forward;
use crate::lockout::Lockout;
use crate::state::State;

/// How declarations are applied.
#[derive(Clone, Debug, Default)]
pub struct ApplyOptions {
    /// Interfaces to change; all if none is named.
    pub interfaces: Vec<String>,
    /// What ran before runs again after this time, unless the changes are confirmed.
    pub confirm: Option<Duration>,
    /// Whether a change may end the SSH session of this process.
    pub lockout: Lockout,
}

/// What applying declarations changes, or has changed.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// One for each declared interface, and for each that is no longer declared.
    pub interfaces: Vec<InterfacePlan>,
    /// Files that are not valid. Their interfaces are not changed.
    pub errors: Vec<FileError>,
}

/// An interface and its changes.
#[derive(Debug, Serialize)]
pub struct InterfacePlan {
    /// Name of the interface; as declared, if it does not exist.
    pub name: String,
    /// Path of the declaration; `null` if it was removed.
    pub file: Option<PathBuf>,
    /// The interface exists.
    pub present: bool,
    /// Changes in the order in which they are shown; they take effect in one step.
    pub changes: Vec<Change>,
    /// The changes were made; `false` in a plan, and after an error.
    pub applied: bool,
    /// Why the interface was not changed; `null` without an error.
    pub error: Option<String>,
    /// The declaration; `None` if the program is to be detached.
    #[serde(skip)]
    prepared: Option<Box<Prepared>>,
    /// The interface and those that change with it.
    #[serde(skip)]
    members: Vec<String>,
    /// All programs on it were attached by this project.
    #[serde(skip)]
    is_ours: bool,
    /// A program on it comes from the declaration.
    #[serde(skip)]
    is_declared: bool,
}

/// A file that is not valid.
#[derive(Clone, Debug, Serialize)]
pub struct FileError {
    /// Path of the file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub error: String,
}

impl FileError {
    fn new(error: &DeclarationError) -> Self {
        Self { file: error.path.clone(), error: full(error) }
    }
}

/// Checks declarations with the rules and objects that they name, without inspecting interfaces.
pub fn check(declarations: Declarations) -> Vec<FileError> {
    let mut errors = Vec::new();
    for one in declarations.files {
        if let Err(error) = one.and_then(Prepared::new).and_then(|prepared| prepared.check()) {
            errors.push(FileError::new(&error));
        }
    }
    errors
}

/// Compares declarations with the interfaces of this namespace.
///
/// # Errors
/// The interfaces or the state directory cannot be read.
pub fn plan(control: &Control, declarations: Declarations, only: &[String]) -> Result<Plan> {
    let links = Netlink::open()?.links()?;
    let dir = declarations.dir.clone();
    let (mut prepared, mut errors) = (Vec::new(), Vec::new());
    for one in declarations.files {
        match one.and_then(Prepared::new).and_then(|one| resolve(one, &links)) {
            Ok(one) => prepared.push(one),
            Err(error) => errors.push(error),
        }
    }
    refuse_duplicates(&mut prepared, &mut errors);
    let state = State::read(control)?;
    let netns = NetNs::current()?.id()?;
    let mut current = BTreeMap::new();
    for link in links.iter().filter(|link| !link.xdp.is_empty() || is_declared(&prepared, link)) {
        current.insert(link.name.clone(), Current::read(&state, netns, link)?);
    }
    let broken: BTreeSet<_> = errors.iter().map(|error| error.path.clone()).collect();
    let covered: BTreeSet<_> =
        prepared.iter().flat_map(|(names, _)| names.iter().cloned()).collect();
    let mut interfaces = Vec::new();
    for (names, one) in prepared {
        interfaces.push(planned(names, one, &current));
    }
    for (name, one) in &current {
        let declared = one.declared_in(&dir).filter(|path| !broken.contains(*path));
        if declared.is_some() && !covered.contains(name) {
            interfaces.push(no_longer_declared(name, one));
        }
    }
    interfaces.retain(|one| only.is_empty() || one.members.iter().any(|name| only.contains(name)));
    let errors = errors.iter().map(FileError::new).collect();
    Ok(Plan { interfaces, errors })
}

impl Plan {
    /// Whether something would change.
    pub fn has_changes(&self) -> bool {
        self.interfaces.iter().any(|one| !one.changes.is_empty())
    }

    /// Whether a file is not valid or an interface was not changed.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty() || self.interfaces.iter().any(|one| one.error.is_some())
    }

    /// Makes the changes. Programs are attached and replaced before others are detached, so that
    /// no packet passes unprotected that was filtered before and is filtered after. Each interface
    /// reports its own error.
    pub fn apply(&mut self, control: &Control, options: &ApplyOptions) {
        let detaches =
            |one: &InterfacePlan| one.changes.iter().all(|change| change.action == Action::Detach);
        let mut order: Vec<_> = self.interfaces.iter_mut().collect();
        order.sort_by_key(|one| detaches(one));
        for one in order {
            if one.changes.is_empty() || one.error.is_some() {
                continue;
            }
            match one.apply(control, options) {
                Ok(()) => one.applied = true,
                Err(error) => one.error = Some(full(&error)),
            }
        }
    }
}

/// Detaches the programs of declarations with `on-stop = "detach"`. Returns a plan that was
/// applied.
///
/// # Errors
/// The interfaces or the state directory cannot be read.
pub fn stop(control: &Control, declarations: Declarations, only: &[String]) -> Result<Plan> {
    let mut plan = plan(control, declarations, only)?;
    let is_detached = |one: &InterfacePlan| {
        let prepared = one.prepared.as_ref();
        prepared.is_some_and(|one| one.declaration.on_stop == OnStop::Detach)
    };
    plan.interfaces.retain(|one| is_detached(one) && one.present);
    for one in &mut plan.interfaces {
        // A program that a command or another tool attached meanwhile remains.
        one.prepared = None;
        one.changes.clear();
        one.error = None;
        if one.is_ours && one.is_declared {
            let text = "detach, because the service stops";
            one.changes.push(Change::new(Action::Detach, "all", text));
        }
    }
    plan.apply(control, &ApplyOptions::default());
    Ok(plan)
}

/// A declaration with the name of its interface, and of those that change with it.
type Resolved = (Vec<String>, Prepared);

/// Finds the declared interface. One that does not exist keeps the declared name.
fn resolve(prepared: Prepared, links: &[Link]) -> Result<Resolved, DeclarationError> {
    let selector = &prepared.declaration.interface;
    let found: Vec<_> = links.iter().filter(|link| selector.matches(link)).collect();
    let name = match found.as_slice() {
        [] => selector.to_string(),
        [link] => link.name.clone(),
        several => {
            let interfaces = several.iter().map(|link| link.name.clone()).collect();
            let (path, address) = (prepared.declaration.path, selector.to_string());
            return Err(DeclarationError {
                path,
                reason: Reason::Ambiguous { address, interfaces },
            });
        }
    };
    let program = prepared.declaration.program.as_ref();
    let members = program.map_or_else(|| vec![name.clone()], |program| program.interfaces(&name));
    Ok((members, prepared))
}

/// Refuses declarations that have an interface in common: none of them is applied.
fn refuse_duplicates(prepared: &mut Vec<Resolved>, errors: &mut Vec<DeclarationError>) {
    let path = |one: &Resolved| one.1.declaration.path.clone();
    let mut found = Vec::new();
    for (number, one) in prepared.iter().enumerate() {
        let others = prepared.iter().enumerate().filter(|(other, _)| *other != number);
        let shared = others.filter_map(|(_, other)| {
            let interface = one.0.iter().find(|name| other.0.contains(name))?;
            Some((interface.clone(), path(other)))
        });
        found.extend(shared.take(1).map(|(interface, other)| (path(one), interface, other)));
    }
    for (path, interface, other) in found {
        prepared.retain(|(_, one)| one.declaration.path != path);
        errors.push(DeclarationError { path, reason: Reason::Duplicate { interface, other } });
    }
}

fn is_declared(prepared: &[Resolved], link: &Link) -> bool {
    prepared.iter().any(|(names, _)| names.contains(&link.name))
}

fn planned(
    members: Vec<String>,
    prepared: Prepared,
    current: &BTreeMap<String, Current>,
) -> InterfacePlan {
    let name = members[0].clone();
    let present = members.iter().all(|name| current.contains_key(name));
    let running: Vec<_> = members.iter().filter_map(|name| current.get(name)).collect();
    let changes = match present {
        true => changes(&running, &prepared),
        false => Ok(Vec::new()),
    };
    let (changes, error) = match changes {
        Ok(changes) => (changes, None),
        Err(error) => (Vec::new(), Some(full(&error))),
    };
    InterfacePlan {
        name,
        file: Some(prepared.declaration.path.clone()),
        present,
        changes,
        applied: false,
        error,
        is_ours: running.iter().all(|one| one.is_ours()),
        is_declared: running.iter().any(|one| one.is_declared_by(&prepared.declaration.path)),
        members,
        prepared: Some(Box::new(prepared)),
    }
}

/// Changes of the interface, else of those that change with it.
fn changes(running: &[&Current], prepared: &Prepared) -> Result<Vec<Change>> {
    for one in running {
        let changes = one.changes(prepared)?;
        if !changes.is_empty() {
            return Ok(changes);
        }
    }
    Ok(Vec::new())
}

fn no_longer_declared(name: &str, current: &Current) -> InterfacePlan {
    let detach = |one| {
        let program = Current::name_of(one);
        let text = format!("detach {program}, which is no longer declared");
        Change::new(Action::Detach, &program, text)
    };
    InterfacePlan {
        name: name.to_owned(),
        file: None,
        present: true,
        changes: current.running.iter().map(detach).collect(),
        applied: false,
        error: None,
        prepared: None,
        members: vec![name.to_owned()],
        is_ours: current.is_ours(),
        is_declared: true,
    }
}

impl InterfacePlan {
    /// How floods are detected on the interface; `None` if they are not.
    pub fn detection(&self) -> Option<&AutoOptions> {
        self.prepared.as_ref()?.detection()
    }

    fn apply(&self, control: &Control, options: &ApplyOptions) -> Result<()> {
        let request = self.prepared.as_ref().and_then(|prepared| prepared.request.as_ref());
        let Some(request) = request else {
            let mut members = self.members.iter();
            return members.try_for_each(|name| attach::detach(control, name, false).map(|_| ()));
        };
        if self.changes.iter().all(|change| change.action == Action::Adopt) {
            return self.adopt(control);
        }
        self.make(control, request, options)
    }

    /// Makes the call of the library that the declaration amounts to.
    fn make(&self, control: &Control, request: &Request, options: &ApplyOptions) -> Result<()> {
        let ApplyOptions { confirm, lockout, .. } = *options;
        let is_replaced = |replace: bool| replace || self.is_ours;
        match request.clone() {
            Request::Filter(file, mut asked) => {
                let placement = &mut asked.placement;
                (placement.confirm, placement.lockout) = (confirm, lockout);
                placement.replace = is_replaced(placement.replace);
                let update = Update::begin(control, &self.name)?;
                let mut file = file;
                asked.temporary = temporary::keep(update.active(), &mut file)?;
                update.apply(&file, &asked)?;
            }
            Request::Drop(mut asked) => {
                let placement = &mut asked.placement;
                (placement.confirm, placement.lockout) = (confirm, lockout);
                placement.replace = self.replaces(placement.replace);
                drop::configure(control, &self.name, &asked)?;
            }
            Request::Forward(mut asked) => {
                let placement = &mut asked.placement;
                (placement.confirm, placement.lockout) = (confirm, lockout);
                placement.replace = self.replaces(placement.replace);
                forward::configure(control, &self.members, &asked)?;
            }
            Request::Object(mut opened, mut asked) => {
                let placement = &mut asked.placement;
                (placement.confirm, placement.lockout) = (confirm, lockout);
                placement.replace = is_replaced(placement.replace);
                attach::attach(control, &self.name, &mut opened, &asked)?;
            }
        }
        Ok(())
    }

    /// Whether another program is to be replaced. If rules alone change, the program continues to
    /// run, with its counters.
    fn replaces(&self, asked: bool) -> bool {
        let in_place = self.changes.iter().all(|change| change.action == Action::Rules);
        !in_place && (asked || self.is_ours)
    }

    /// Records the declaration of programs that run as declared.
    fn adopt(&self, control: &Control) -> Result<()> {
        let Some(path) = self.file.as_deref() else { return Ok(()) };
        self.members.iter().try_for_each(|name| adopt(control, name, path))
    }
}

fn adopt(control: &Control, interface: &str, declaration: &Path) -> Result<()> {
    let target = crate::target::Target::open(control, interface)?;
    for (_, program) in Netlink::open()?.link_by_index(target.ifindex)?.xdp.programs() {
        if let Some(generation) = target.slot.generation_of(program)? {
            let record = crate::record::Record::read(&generation)?.unwrap_or_default();
            record.declared_by(declaration).replace(&generation)?;
        }
    }
    Ok(())
}
