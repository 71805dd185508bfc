//! `apply`: makes interfaces equal to their declarations.
//!
//! ```text
//!  declaration ──▶ Prepared ──▶ Current::changes ──▶ Plan ──▶ one library call for each interface
//!   (files)        (rules and      (what runs now,      programs are attached and replaced first,
//!                   objects read)   without a lock)      then detached
//! ```
//!
//! Rule: planning writes nothing and takes no lock; an interface without changes is not touched.
//! All programs of a chain change in one step or not at all (`together`), except where that takes
//! several steps: for a router on several interfaces, and for another mode. Those are changed in
//! the order in which they run, then others are removed. An error of one interface does not affect
//! others. Not here: the changes themselves (`filter`, `drop`, `forward`, `attach`, `chain`).

mod change;
mod current;
mod prepared;
mod save;
mod together;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sys::net::{Link, Netlink};
use sys::netns::NetNs;

pub use change::{Action, Change};
use current::{Current, Wanted};
use prepared::{ApplyPlacement, Prepared, Request};
pub use save::{SaveOptions, Saved, save};
use together::{Part, Together};
pub use wait::wait;

use crate::Control;
use crate::attach;
use crate::balance::{self, announce};
use crate::chain::{self, MemberChange};
use crate::declaration::{DeclarationError, Declarations, OnStop, Program, Reason};
use crate::detection::AutoOptions;
use crate::error::{ChainError, Result, full};
use crate::lockout::Lockout;
use crate::record::Record;
use crate::state::{Generation, State};
use crate::target::{Place, Placement, Target};

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
    /// Changes in the order in which they are made.
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
    /// Programs that come from the declaration: names of interface and program.
    #[serde(skip)]
    declared: Vec<(String, String)>,
    /// Programs run, or are to run, beside others, or have a place in a chain.
    #[serde(skip)]
    is_chain: bool,
    /// A program runs on the interface.
    #[serde(skip)]
    runs: bool,
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
    let wishes: Vec<_> = prepared.iter().map(|one| wishes(one, &prepared)).collect();
    let mut interfaces = Vec::new();
    for ((names, one), others) in prepared.into_iter().zip(wishes) {
        interfaces.push(planned(names, one, others, &current));
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
        // A program for several interfaces joins what is declared on each of them.
        order.sort_by_key(|one| (detaches(one), one.members.len()));
        for one in order {
            if one.changes.is_empty() || one.error.is_some() {
                continue;
            }
            match one.apply(control, options) {
                Ok(()) => one.applied = true,
                Err(error) => one.error = Some(full(&error)),
            }
        }
        let mut changes = self.interfaces.iter().flat_map(|one| &one.changes);
        if changes.any(|change| change.program == balance::NAME) {
            announce::follow(control);
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
        let detach = |(interface, program): &(String, String)| {
            let text = format!("detach {program}, because the service stops");
            Change::new(interface, Action::Detach, program, text)
        };
        one.error = None;
        one.changes =
            if one.is_ours { one.declared.iter().map(detach).collect() } else { Vec::new() };
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
    let members = prepared.declaration.interfaces(&name);
    Ok((members, prepared))
}

/// Refuses declarations that cannot be made true together: none of them is applied.
fn refuse_duplicates(prepared: &mut Vec<Resolved>, errors: &mut Vec<DeclarationError>) {
    let path = |one: &Resolved| one.1.declaration.path.clone();
    let mut found = Vec::new();
    for (number, one) in prepared.iter().enumerate() {
        let others = prepared.iter().enumerate().filter(|(other, _)| *other != number);
        let conflicts = others.filter_map(|(_, other)| conflict(one, other));
        found.extend(conflicts.take(1).map(|reason| (path(one), reason)));
    }
    for (path, reason) in found {
        prepared.retain(|(_, one)| one.declaration.path != path);
        errors.push(DeclarationError { path, reason });
    }
}

/// Why two declarations cannot both be made true. The program of one may run on the interface of
/// another as well, where it joins those that are declared there.
fn conflict(one: &Resolved, other: &Resolved) -> Option<Reason> {
    let ((names, own), (others, second)) = (one, other);
    let interface = names.iter().find(|name| others.contains(name))?;
    let path = || second.declaration.path.clone();
    let are_same = names[0] == others[0];
    let spans = |one: &Prepared| one.declaration.programs.iter().any(Program::spans);
    let is_empty = |one: &Prepared| one.declaration.programs.is_empty();
    let both_span = spans(own) && spans(second);
    if are_same || both_span || is_empty(own) || is_empty(second) {
        return Some(Reason::Duplicate { interface: interface.clone(), other: path() });
    }
    for name in names.iter().filter(|name| others.contains(name)) {
        let mut both = own.on(&names[0], name).filter(|(program, _)| {
            second.on(&others[0], name).any(|(other, _)| other.name() == program.name())
        });
        if let Some((program, _)) = both.next() {
            let (interface, program) = (name.clone(), program.name().to_owned());
            return Some(Reason::Twice { interface, program, other: path() });
        }
    }
    (own.declaration.mode != second.declaration.mode)
        .then(|| Reason::OtherMode { interface: interface.clone(), other: path() })
}

/// Names of the programs that other declarations want on the interfaces of one.
type Wishes = BTreeMap<String, BTreeSet<String>>;

fn wishes((names, one): &Resolved, all: &[Resolved]) -> Wishes {
    let mut wishes = Wishes::new();
    let path = |prepared: &Prepared| prepared.declaration.path.clone();
    for (others, other) in all.iter().filter(|(_, other)| path(other) != path(one)) {
        for name in names.iter().filter(|name| others.contains(name)) {
            let programs = other.on(&others[0], name);
            let programs = programs.map(|(program, _)| program.name().to_owned());
            wishes.entry(name.clone()).or_default().extend(programs);
        }
    }
    wishes
}

fn is_declared(prepared: &[Resolved], link: &Link) -> bool {
    prepared.iter().any(|(names, _)| names.contains(&link.name))
}

fn planned(
    members: Vec<String>,
    prepared: Prepared,
    mut others: Wishes,
    current: &BTreeMap<String, Current>,
) -> InterfacePlan {
    let name = members[0].clone();
    let present = members.iter().all(|name| current.contains_key(name));
    let running: Vec<_> = members.iter().filter_map(|name| current.get(name)).collect();
    let mut wanted = Vec::new();
    for one in &running {
        let others = others.remove(&one.name).unwrap_or_default();
        let (own, interface) = (name.as_str(), one.name.as_str());
        wanted.push((*one, Wanted { prepared: &prepared, own, interface, others }));
    }
    let has_place = |(program, _): (&Program, _)| program.place != Place::default();
    let is_chain = prepared.all().any(has_place)
        || wanted.iter().any(|(one, wanted)| one.has_chain() || wanted.count() > 1);
    let changes = match present {
        true => changes(&wanted),
        false => Ok(Vec::new()),
    };
    let (changes, error) = match changes {
        Ok(changes) => (changes, None),
        Err(error) => (Vec::new(), Some(full(&error))),
    };
    let path = &prepared.declaration.path;
    let declared = running.iter().flat_map(|one| {
        let members = one.members().filter(|member| member.is_declared_by(path));
        members.map(|member| (one.name.clone(), member.name().to_owned()))
    });
    InterfacePlan {
        file: Some(path.clone()),
        present,
        changes,
        applied: false,
        error,
        is_ours: running.iter().all(|one| one.is_ours()),
        runs: running.iter().any(|one| one.name == name && !one.running.is_empty()),
        declared: declared.collect(),
        is_chain,
        name,
        members,
        prepared: Some(Box::new(prepared)),
    }
}

/// Changes of the interface and of those that change with it. A change that concerns a program on
/// all of them is listed once.
fn changes(wanted: &[(&Current, Wanted<'_>)]) -> Result<Vec<Change>> {
    let mut all: Vec<Change> = Vec::new();
    for (current, wanted) in wanted {
        let mut changes = current.changes(wanted)?;
        let is_of = |known: &Change, change: &Change| {
            known.program == change.program && known.interface != change.interface
        };
        changes.retain(|change| {
            change.action == Action::Detach || !all.iter().any(|known| is_of(known, change))
        });
        all.extend(changes);
    }
    // What is removed protects until the others run.
    all.sort_by_key(|change| change.action == Action::Detach);
    Ok(all)
}

fn no_longer_declared(name: &str, current: &Current) -> InterfacePlan {
    InterfacePlan {
        name: name.to_owned(),
        file: None,
        present: true,
        changes: current.detached(", which is no longer declared"),
        applied: false,
        error: None,
        prepared: None,
        members: vec![name.to_owned()],
        is_ours: current.is_ours(),
        declared: Vec::new(),
        is_chain: false,
        runs: true,
    }
}

impl InterfacePlan {
    /// How floods are detected on the interface; `None` if they are not.
    pub fn detection(&self) -> Option<&AutoOptions> {
        self.prepared.as_ref()?.detection()
    }

    fn apply(&self, control: &Control, options: &ApplyOptions) -> Result<()> {
        let prepared = self.prepared.as_ref().filter(|one| !one.requests.is_empty());
        let Some(prepared) = prepared else {
            let mut members = self.members.iter();
            return members.try_for_each(|name| attach::detach(control, name, false).map(|_| ()));
        };
        let together = self.together(prepared, options);
        if let Some(together) = &together {
            let applied = together.apply(control, &self.members);
            // Where nothing runs, the programs before one that fails protect.
            if applied.is_ok() || self.runs || options.confirm.is_some() {
                applied?;
                return self.adopt(control, prepared);
            }
        }
        if self.is_chain && options.confirm.is_some() {
            return Err(ChainError::Confirm.into());
        }
        for (program, request) in prepared.all() {
            let changes = self.changes_of(program);
            self.change(control, (program, request), &changes, options)?;
        }
        let removed = self.changes.iter().filter(|change| change.action == Action::Detach);
        for change in removed {
            remove(control, change)?;
        }
        Ok(())
    }

    /// The changes of a chain as one, if there are several, or one that must wait. `None` if
    /// they take several steps.
    fn together<'p>(
        &'p self,
        prepared: &'p Prepared,
        options: &ApplyOptions,
    ) -> Option<Together<'p>> {
        let is_own = |change: &Change| {
            change.interface == self.name || prepared.spans(&change.program, change.action)
        };
        let restarts = |change: &Change| change.restarts;
        let is_possible =
            self.is_chain && self.changes.iter().all(is_own) && !self.changes.iter().any(restarts);
        if !is_possible {
            return None;
        }
        // Two programs for several interfaces change in two steps.
        let spanning = prepared.all().filter(|(program, _)| program.further.is_empty());
        if prepared.requests.len() - spanning.count() > 1 {
            return None;
        }
        let switches = self.changes.iter().any(|change| change.action == Action::Mode);
        let ApplyOptions { confirm, lockout, .. } = *options;
        let (mut parts, mut removed) = (Vec::new(), Vec::new());
        for (program, request) in prepared.all() {
            let mut changes = self.changes_of(program);
            changes.retain(|change| change.action != Action::Mode);
            let are_all = |action| changes.iter().all(|change| change.action == action);
            // Code that sees VLAN tags does so differently in another mode.
            let is_remade = switches && request.depends_on_mode();
            if are_all(Action::Adopt) && !is_remade {
                continue;
            }
            let (place, replace) = (self.place(program, &changes), false);
            let placed = ApplyPlacement { confirm, lockout, replace, place };
            let request = request.clone().placed(&placed);
            parts.push(Part { program, request, only_moves: are_all(Action::Move) && !is_remade });
        }
        for change in self.changes.iter().filter(|change| change.action == Action::Detach) {
            removed.push(change.program.as_str());
        }
        let switches = switches && prepared.requests.len() > 1;
        let are_several = parts.len() + removed.len() > 1 || confirm.is_some() || switches;
        // Another program that runs alone is replaced, and not joined.
        let is_alone = prepared.requests.len() == 1 && removed.is_empty();
        let replaces = self.changes.iter().any(|change| change.action == Action::Replace);
        let mode = prepared.declaration.mode;
        let placement = Placement { mode, confirm, ..Placement::default() };
        let is_possible = are_several && (!parts.is_empty() || switches) && !(is_alone && replaces);
        is_possible.then_some(Together { parts, removed, placement })
    }

    /// The changes of a declared program.
    fn changes_of(&self, program: &Program) -> Vec<&Change> {
        let of_program =
            |change: &&Change| change.program == program.name() && change.action != Action::Detach;
        self.changes.iter().filter(of_program).collect()
    }

    /// Records the declaration of programs that run as declared.
    fn adopt(&self, control: &Control, prepared: &Prepared) -> Result<()> {
        let Some(path) = self.file.as_deref() else { return Ok(()) };
        for (program, _) in prepared.all() {
            let changes = self.changes_of(program);
            let is_adopted = |change: &&Change| change.action == Action::Adopt;
            if !changes.is_empty() && changes.iter().all(is_adopted) {
                let interfaces = self.interfaces_of(program);
                interfaces.iter().try_for_each(|one| adopt(control, one, program.name(), path))?;
            }
        }
        Ok(())
    }

    /// Changes one program.
    fn change(
        &self,
        control: &Control,
        (program, request): (&Program, &Request),
        changes: &[&Change],
        options: &ApplyOptions,
    ) -> Result<()> {
        let all = |action| changes.iter().all(|change| change.action == action);
        if changes.is_empty() {
            return Ok(());
        }
        if all(Action::Adopt) {
            let Some(path) = self.file.as_deref() else { return Ok(()) };
            let interfaces = self.interfaces_of(program);
            return interfaces.iter().try_for_each(|one| adopt(control, one, program.name(), path));
        }
        if all(Action::Move) {
            return self.put_in_place(control, program);
        }
        let restarts =
            changes.iter().any(|change| change.restarts || change.action == Action::Mode);
        let place = self.place(program, changes).filter(|_| !restarts);
        let has_place = place.is_some();
        let declared = self.prepared.as_ref().is_some_and(|one| one.declaration.replace);
        let replace = match (&request, has_place) {
            (_, true) => declared,
            (Request::Drop(_) | Request::Forward(_) | Request::Balance(_), false) => {
                self.replaces(declared, changes)
            }
            (_, false) => declared || self.is_ours,
        };
        let ApplyOptions { confirm, lockout, .. } = *options;
        let placement = ApplyPlacement { confirm, lockout, replace, place };
        request.clone().placed(&placement).make(control, &self.interfaces_of(program))?;
        let is_placed = has_place || program.place == Place::default();
        if is_placed { Ok(()) } else { self.put_in_place(control, program) }
    }

    /// Where the program runs among others; `None` if it runs alone.
    fn place(&self, program: &Program, changes: &[&Change]) -> Option<Place> {
        // Rules are changed in place. A program for several interfaces may run on one of them.
        let renew = changes.iter().any(|change| change.action != Action::Rules);
        self.is_chain.then(|| Place { renew, ..program.place.clone() })
    }

    /// Whether another program is to be replaced. If rules alone change, the program continues to
    /// run, with its counters.
    fn replaces(&self, asked: bool, changes: &[&Change]) -> bool {
        let in_place = changes.iter().all(|change| change.action == Action::Rules);
        !in_place && (asked || self.is_ours)
    }

    /// Moves a program to its priority.
    fn put_in_place(&self, control: &Control, program: &Program) -> Result<()> {
        let Place { continue_on, .. } = program.place.clone();
        let continue_on = Some(continue_on.unwrap_or_default());
        let change =
            MemberChange { priority: Some(program.priority()), continue_on, confirm: None };
        for interface in self.interfaces_of(program) {
            chain::change(control, &interface, program.name(), change)?;
        }
        Ok(())
    }

    /// The interfaces that the program runs on.
    fn interfaces_of(&self, program: &Program) -> Vec<String> {
        program.interfaces(&self.name)
    }
}

/// Removes a program; others continue to run.
fn remove(control: &Control, change: &Change) -> Result<()> {
    let Change { interface, program, .. } = change;
    let members = members(&Target::open(control, interface)?)?;
    let is_there = members.iter().any(|one| one.name() == program);
    match members.len() {
        // It ended with the same program on another interface.
        0 => Ok(()),
        1 if !is_there => Ok(()),
        1 => attach::detach(control, interface, false).map(|_| ()),
        _ => attach::remove_member(control, interface, program, None).map(|_| ()),
    }
}

/// The programs of this project that run on an interface.
fn members(target: &Target) -> Result<Vec<Generation>> {
    let mut all = Vec::new();
    for (_, program) in Netlink::open()?.link_by_index(target.ifindex)?.xdp.programs() {
        all.extend(target.slot.generations_of(program)?);
    }
    Ok(all)
}

/// Records the declaration of a program that runs as declared.
fn adopt(control: &Control, interface: &str, program: &str, declaration: &Path) -> Result<()> {
    let target = Target::open(control, interface)?;
    for generation in members(&target)? {
        if generation.name() == program {
            let record = Record::read(&generation)?.unwrap_or_default();
            record.declared_by(declaration).replace(&generation)?;
        }
    }
    Ok(())
}
