//! Chains: several programs on one interface, by name and priority.
//!
//! Rule: a change takes effect in one step or not at all, and keeps the maps of all members that
//! remain. Not here: how members are found, composed and swapped (`composition`).

use std::time::Duration;

use kernel::Mode;
use spec::compose::VerdictSet;

pub use crate::adoption::adopt;
pub use crate::composition::report::{ChainReport, MemberReport, OwnProgram};
pub use crate::member::default_priority;

use crate::Control;
use crate::composition::Chain;
use crate::composition::link::{self, ChainLink, Code};
use crate::composition::report;
use crate::error::{ChainError, Result};
use crate::filter::active::NAME as FILTER;
use crate::filter::chained;
use crate::lockout::{self, Lockout};
use crate::member;
use crate::object::Opened;
use crate::record::Record;
use crate::state::Generation;
use crate::target::{Place, Placement, Target};

/// How a member is added.
#[derive(Clone, Debug, Default)]
pub struct MemberOptions {
    /// Name of the member; `None`: that of its object.
    pub name: Option<String>,
    /// Program of the object; `None` for the only one that an interface can run.
    pub program: Option<String>,
    /// `None`: the default of its kind, see [`default_priority`].
    pub priority: Option<u32>,
    /// Verdicts after which the next member runs.
    pub continue_on: VerdictSet,
    /// Values of global variables, by name, as text.
    pub set: Vec<(String, String)>,
    /// Mode of the chain if this is its first member; `None`: native.
    pub mode: Option<Mode>,
    /// The previous chain runs again after this time, unless the change is confirmed.
    pub confirm: Option<Duration>,
    /// Whether the program may end the SSH session of this process.
    pub lockout: Lockout,
}

/// What to change of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberChange {
    pub priority: Option<u32>,
    pub continue_on: Option<VerdictSet>,
    /// The previous chain runs again after this time, unless the change is confirmed.
    pub confirm: Option<Duration>,
}

/// Adds a program. What runs on the interface becomes, or is, a chain.
///
/// # Errors
/// Another owner's program runs, or one that cannot be part of a chain; the name is taken; the
/// programs cannot be composed; the kernel refuses them. Then nothing has changed.
pub fn add(
    control: &Control,
    interface: &str,
    mut opened: Opened,
    options: &MemberOptions,
) -> Result<ChainReport> {
    opened.set(&options.set)?;
    let program = opened.choose(options.program.as_deref())?.name.clone();
    let target = Target::open(control, interface)?;
    let running = target.running_mode()?.map_or(Mode::Native, |(mode, _)| mode);
    let placement = options.placement(running);
    let (object, place) = ((&opened.spec, program.as_str()), target.place());
    lockout::check_program(control, object, place, placement.lockout(), |_| {})?;
    let record = Record::of_object(&opened.source, options.program.as_deref(), true, &placement);
    join(&target, (&opened, &program), &record, &placement)?;
    report::read(control, interface)
}

/// Adds a program of an object to the chain, where it is placed. Returns the id of the new chain.
pub(crate) fn join(
    target: &Target,
    (opened, program): (&Opened, &str),
    record: &Record,
    placement: &Placement,
) -> Result<u32> {
    let mut chain = open(target)?;
    let member = placement.member(&opened.name, program);
    chain.place(placement, ChainLink::added(member, opened.clone(), record))?;
    chain.load()?.commit()
}

impl MemberOptions {
    /// How the member is placed where programs run in this mode, or where none does.
    fn placement(&self, running: Mode) -> Placement {
        let Self { name, priority, continue_on, .. } = self.clone();
        let place = Place { name, priority, continue_on: Some(continue_on), renew: false };
        Placement {
            mode: self.mode.unwrap_or(running),
            set: self.set.clone(),
            confirm: self.confirm,
            lockout: self.lockout,
            place: Some(place),
            ..Placement::default()
        }
    }
}

/// Removes a member. Without any, nothing runs on the interface. With `confirm`, the previous chain
/// runs again after this time, unless the change is confirmed.
///
/// # Errors
/// There is no such member, or the rest cannot be composed. Then nothing has changed.
pub fn remove(
    control: &Control,
    interface: &str,
    name: &str,
    confirm: Option<Duration>,
) -> Result<ChainReport> {
    let target = Target::open(control, interface)?;
    let mut chain = open(&target)?;
    chain.set_confirm(confirm);
    chain.take(name)?;
    chain.apply()?;
    report::read(control, interface)
}

/// Moves a member to another priority, or changes the verdicts after which the next one runs.
///
/// # Errors
/// There is no such member, or the members cannot be composed in this way. Then nothing has
/// changed.
pub fn change(
    control: &Control,
    interface: &str,
    name: &str,
    change: MemberChange,
) -> Result<ChainReport> {
    let target = Target::open(control, interface)?;
    let mut chain = open(&target)?;
    chain.set_confirm(change.confirm);
    let mut link = chain.take(name)?;
    let member = &mut link.member;
    member.priority = change.priority.unwrap_or(member.priority);
    if let Some(verdicts) = change.continue_on {
        member.continue_on = member::names(verdicts);
    }
    chain.insert(link)?;
    chain.apply()?;
    report::read(control, interface)
}

/// The members of what runs: objects, and a filter.
pub(crate) fn open(target: &Target) -> Result<Chain<'_>> {
    Chain::open(target, |generation| code(target, generation))
}

fn code(target: &Target, generation: &Generation) -> Result<Code> {
    match generation.name() {
        FILTER => chained::code(target, generation),
        _ => link::code(target, generation),
    }
}

/// The members of an interface with their counters.
///
/// # Errors
/// There is no such interface, or its programs may not be read.
pub fn show(control: &Control, interface: &str) -> Result<ChainReport> {
    report::read(control, interface)
}

/// Parses verdicts after which the next member runs, such as `pass,tx`.
///
/// # Errors
/// A word is not the name of a verdict.
pub fn verdicts(text: &str) -> Result<VerdictSet, ChainError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(str::parse).collect::<Result<_, _>>()?)
}
