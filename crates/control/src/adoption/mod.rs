//! Adoption: the members of libxdp's dispatcher become a chain.
//!
//! Rule: the chain replaces the dispatcher in one step, and only that dispatcher; before that step
//! nothing has changed, after it all members run with the maps that they had, and pins that remain
//! of libxdp are removed by the next change (`dispatcher::replaced`). The kernel does not
//! return the instructions that were loaded, so the code of each member is that of an object whose
//! program has the same name and tag. Not here: how members are found (`dispatcher`).

mod identify;

use kernel::{Mode, Program};
use spec::Verdict;

use crate::Control;
use crate::composition::Chain;
use crate::composition::link::ChainLink;
use crate::composition::report::{self, ChainReport};
use crate::dispatcher::{self, Dispatcher, replaced};
use crate::error::{DispatcherError, Error, Result};
use crate::filter::active::NAME as FILTER;
use crate::member::{Member, names};
use crate::object::Opened;
use crate::record::Record;
use crate::target::{Placement, Target};
use identify::{Identified, identify};
use spec::compose::counts_itself;

/// Moves the members of libxdp's dispatcher to a chain, with their order, priorities, verdicts to
/// continue on and maps. `objects` are the files that they were loaded from. Then libxdp's pins are
/// removed.
///
/// # Errors
/// No dispatcher runs, the code of a member is in no object, or the kernel refuses the chain. Then
/// nothing has changed.
pub fn adopt(control: &Control, interface: &str, objects: &[Opened]) -> Result<ChainReport> {
    let target = Target::open(control, interface)?;
    let found = find(&target)?;
    let _lock = found.1.folder.as_ref().map(dispatcher::Folder::lock).transpose()?;
    // It may have changed before it was locked.
    let (mode, dispatcher) = find(&target)?;
    check_last(&dispatcher)?;
    let members = identify(&target, mode, &dispatcher, objects)?;
    let mut chain = Chain::in_place_of(&target, mode, dispatcher.id);
    for member in members {
        let name = free_name(&member.program, &chain.names());
        let mut link = link(name, member);
        link.beside.push(replaced::record(dispatcher.id));
        chain.insert(link)?;
    }
    chain.apply()?;
    if let Some(folder) = &dispatcher.folder {
        replaced::remove(&target.slot, folder);
    }
    report::read(control, interface)
}

/// The dispatcher that runs.
fn find(target: &Target) -> Result<(Mode, Dispatcher)> {
    let interface = || target.interface.clone();
    let none = || Error::from(DispatcherError::NotADispatcher { interface: interface() });
    let (mode, id) = target.running_mode()?.ok_or_else(none)?;
    if !target.slot.generations_of(id)?.is_empty() {
        return Err(none());
    }
    let found = dispatcher::read(target.ifindex, &Program::from_id(id)?)?.ok_or_else(none)?;
    if found.config.slots.is_none() {
        let (interface, version) = (interface(), found.config.version);
        return Err(DispatcherError::UnknownVersion { interface, version }.into());
    }
    if found.members.iter().all(|one| one.program.is_none()) {
        return Err(DispatcherError::NoMembers { interface: interface() }.into());
    }
    Ok((mode, found))
}

/// # Errors
/// The dispatcher passes a packet on which the last program decided otherwise.
fn check_last(dispatcher: &Dispatcher) -> Result<()> {
    let mut attached = dispatcher.members.iter().filter(|one| one.program.is_some());
    let Some(last) = attached.next_back().filter(|one| !one.is_final()) else { return Ok(()) };
    let others = last.slot.continue_on.iter().filter(|verdict| *verdict != Verdict::Pass);
    let verdicts: Vec<_> = others.map(|verdict| verdict.name().to_owned()).collect();
    match verdicts.is_empty() {
        true => Ok(()),
        false => {
            let name = last.name().to_owned();
            Err(DispatcherError::LastContinues { name, verdicts }.into())
        }
    }
}

/// A member of the chain, whose maps are those of the running program.
fn link(name: String, member: Identified) -> ChainLink {
    let Identified { opened, program, slot, shared } = member;
    let record = Record::of_object(&opened.source, Some(&program), true, &Placement::default());
    let member = Member {
        priority: slot.priority,
        continue_on: names(slot.continue_on),
        counted: !counts_itself(&opened.spec, &program),
        ..Member::new(&name, &program)
    };
    ChainLink { shared, ..ChainLink::added(member, opened, &record) }
}

/// The name of a program, with a number if another member has it, or if it means a filter of rules.
fn free_name(program: &str, taken: &[String]) -> String {
    let is_free = |name: &String| name != FILTER && !taken.contains(name);
    let numbered = (2..).map(|number| format!("{program}-{number}"));
    let mut names = std::iter::once(program.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_programs_unless_they_are_taken() {
        let taken = ["a".to_owned(), "b".to_owned(), "b-2".to_owned()];
        for (program, name) in [("c", "c"), ("a", "a-2"), ("b", "b-3"), ("filter", "filter-2")] {
            assert_eq!(free_name(program, &taken), name);
        }
    }
}
